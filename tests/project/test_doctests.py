import doctest
import importlib
import importlib.util
import pkgutil
from pathlib import Path

import pytest

import hf_bpe


def has_examples(name):
    path = Path(importlib.util.find_spec(name).origin)
    return path.suffix == ".py" and ">>> " in path.read_text(encoding="utf-8")


# An editable install looks for submodules in the root of the project too, and there finds the package again.
NAMES = [module.name for module in pkgutil.walk_packages(hf_bpe.__path__, "hf_bpe.")]
MODULES = sorted(name for name in NAMES if not name.startswith("hf_bpe.hf_bpe") and has_examples(name))

NEEDED = {"hf_bpe.editing.embeddings": "torch"}


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name, tmp_path, monkeypatch):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"the docstrings of {name} need {NEEDED[name]}")
    monkeypatch.chdir(tmp_path)  # some write files
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted > 0
    assert not results.failed


def test_examples_are_looked_for_in_the_whole_package():
    assert {"hf_bpe.core._model", "hf_bpe.training._train", "hf_bpe.tokenizer._tokenization_bpe"} <= {*MODULES}
