"""Examples in docstrings print what they show."""

import doctest
import importlib
import importlib.util
import inspect
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


class Finder(doctest.DocTestFinder):
    """Find the examples of methods where these are written, not where a class has them by its own name."""

    def _from_module(self, module, object):
        function = inspect.unwrap(getattr(object, "__func__", object))
        if hasattr(function, "__globals__"):
            return function.__globals__ is vars(module)
        return super()._from_module(module, object)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name, tmp_path, monkeypatch):
    if name in NEEDED:
        pytest.importorskip(NEEDED[name], reason=f"the docstrings of {name} need {NEEDED[name]}")
    monkeypatch.chdir(tmp_path)  # some write files
    module, runner = importlib.import_module(name), doctest.DocTestRunner()
    for test in Finder().find(module):
        runner.run(test)
    assert runner.tries == inspect.getsource(module).count(">>> ")
    assert not runner.failures


def test_examples_are_looked_for_in_the_whole_package():
    assert {"hf_bpe.core._model", "hf_bpe.training._train", "hf_bpe.tokenizer._tokenization_bpe"} <= {*MODULES}
