"""transformers is imported without its advice to install PyTorch."""

import subprocess
import sys

from support.processes import PATIENCE, WITHOUT_TORCH

ADVICE = "PyTorch was not found"


def said(code, *arguments):
    command = [sys.executable, "-c", WITHOUT_TORCH + code, *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return ran.stdout + ran.stderr


def test_commands_and_the_library_give_no_advice(folder):
    assert ADVICE in said("import transformers")  # what is kept silent
    code = """
import os
from hf_bpe.cli import app
os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = ""
app(["inspect", sys.argv[1]], standalone_mode=False)  # which asks AutoTokenizer, too
assert os.environ.pop("TRANSFORMERS_NO_ADVISORY_WARNINGS") == ""
from hf_bpe import BPETokenizer, accelerate
from transformers import AutoTokenizer
assert "TRANSFORMERS_NO_ADVISORY_WARNINGS" not in os.environ
"""
    assert ADVICE not in said(code, folder)
