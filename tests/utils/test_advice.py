"""transformers is imported without its advice to install PyTorch."""

import os
import subprocess
import sys

from hf_bpe._utils.advice import no_advice
from support.patience import PATIENCE

WITHOUT_TORCH = """
import importlib.util, sys
find_spec = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == "torch" else find_spec(name, package)
"""
ADVICE = "PyTorch was not found"


def said(code, *arguments):
    command = [sys.executable, "-c", WITHOUT_TORCH + code, *map(str, arguments)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return ran.stdout + ran.stderr


def test_command_does_not_say_that_there_is_no_torch(folder):
    assert ADVICE not in said("from hf_bpe.cli import main; main()", "inspect", folder)  # which asks AutoTokenizer, too


def test_the_library_does_not_say_that_there_is_no_torch():
    assert ADVICE in said("import transformers")  # what is kept silent
    assert said("from hf_bpe import BPETokenizer, accelerate; from transformers import AutoTokenizer") == ""


def test_the_environment_is_as_it_was(monkeypatch):
    for before in (None, "0"):
        monkeypatch.delenv("TRANSFORMERS_NO_ADVISORY_WARNINGS", raising=False)
        if before is not None:
            monkeypatch.setenv("TRANSFORMERS_NO_ADVISORY_WARNINGS", before)
        with no_advice():
            assert os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] == "1"
        assert os.environ.get("TRANSFORMERS_NO_ADVISORY_WARNINGS") == before
