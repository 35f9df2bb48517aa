"""The contracts about imports in pyproject.toml hold for the package as it is installed."""

import os
import re
import shutil
import subprocess
import sys

import pytest

from support.project import ROOT

LINT = """
import sys
# An editable install would be found before the copy in this folder.
sys.meta_path = [finder for finder in sys.meta_path if "editable" not in type(finder).__module__]
sys.path.insert(0, "")
from importlinter.cli import lint_imports
sys.exit(lint_imports(config_filename="pyproject.toml", no_cache=True, show_timings=False))
"""


@pytest.fixture
def package(tmp_path):
    """Return a folder with hf_bpe as it is installed, and with the contracts."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.md")
    shutil.copytree(ROOT / "hf_bpe", tmp_path / "hf_bpe", ignore=ignored)
    shutil.copytree(ROOT / "conversion", tmp_path / "hf_bpe" / "conversion", ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def lint(folder):
    pytest.importorskip("importlinter", reason="only developers lint imports here")
    done = subprocess.run(
        [sys.executable, "-c", LINT],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "300"},
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_imports_point_down_and_have_no_cycles(package):
    code, said = lint(package)
    assert code == 0, said
    assert "2 kept, 0 broken" in said


def test_below_the_tokenizer_nobody_imports_transformers(package):
    above = ("cli", "distributed", "fast", "tokenizer")
    below = [path for path in package.glob("hf_bpe/*/**/*.py") if path.relative_to(package).parts[1] not in above]
    imports = re.compile(r"^\s*(from|import) (transformers|huggingface_hub)\b", re.MULTILINE)
    assert [path for path in below if imports.search(path.read_text("utf-8"))] == []
    assert len(below) > 150


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("reference/_encoder.py", "    from hf_bpe.encoding import Session", "Each stage imports"),
        ("conversion/_formats.py", "    from hf_bpe.analysis import show", "Each stage imports"),
        ("training/_learning.py", "    from hf_bpe.training import _train", "No cycles between the modules"),
    ],
)
def test_late_import_upwards_is_found(package, module, line, broken):
    path = package / "hf_bpe" / module
    path.write_text(path.read_text(encoding="utf-8") + f"\n\ndef _late():\n{line}\n", encoding="utf-8")
    code, said = lint(package)
    assert code == 1, said
    assert broken in said.split("Broken contracts")[1]
