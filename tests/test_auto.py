"""AutoTokenizer and hf_bpe, each in a process of its own, as what is imported first matters."""

import dataclasses
import json
import os
import subprocess
import sys

import pytest

from hf_bpe import BPETokenizer

TEXT = "low's lower<|endoftext|>low's \u4f60"
AUTO = "transformers.models.auto.tokenization_auto"


def run(code, *args):
    """Run code in a new process that reaches no network, and return what it prints as JSON."""
    command = [sys.executable, "-c", f"import json, sys\n{code}", *map(str, args)]
    ran = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def tokenizer():
    made = BPETokenizer.train([TEXT], num_merges=9, special_tokens=["<|endoftext|>"], pattern="o200k")
    gpt2 = BPETokenizer(model=dataclasses.replace(made.model, pattern="gpt2"))
    assert gpt2.encode(TEXT) != made.encode(TEXT)  # so whoever loses the pattern gives other ids
    return made


@pytest.fixture(params=[None, "gpt2"], ids=["no config.json", "config.json of gpt2"])
def folder(tokenizer, tmp_path, request):
    tokenizer.save_pretrained(tmp_path)
    if request.param:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": request.param}))
    return tmp_path


FINDERS = 'finders = lambda: sum(type(finder).__module__ == "hf_bpe.auto" for finder in sys.meta_path)'
LOAD = f"""
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
print(json.dumps([type(tokenizer).__name__, type(tokenizer).__module__, tokenizer.encode({TEXT!r})]))
"""


def test_importing_hf_bpe_imports_neither_torch_nor_transformers():
    code = "import hf_bpe\nnames = 'torch', 'transformers', 'tokenizers'"
    assert run(f"{code}\nprint(json.dumps([name for name in names if name in sys.modules]))") == []


def test_naming_the_tokenizer_imports_transformers_but_neither_torch_nor_its_auto_classes():
    code = f"import hf_bpe\nhf_bpe.BPETokenizer\nnames = 'transformers', 'torch', {AUTO!r}"
    assert run(f"{code}\nprint(json.dumps([name for name in names if name in sys.modules]))") == ["transformers"]


@pytest.mark.parametrize(
    "imports",
    [
        "import hf_bpe\nfrom transformers import AutoTokenizer",
        "from transformers import AutoTokenizer\nimport hf_bpe",
    ],
    ids=["before", "after"],
)
def test_auto_tokenizer_loads_our_class_whether_hf_bpe_is_imported_before_or_after_it(tokenizer, folder, imports):
    assert run(imports + LOAD, folder) == ["BPETokenizer", "hf_bpe.tokenization_bpe", tokenizer.encode(TEXT)]


def test_where_hf_bpe_is_not_auto_tokenizer_gives_the_same_ids(tokenizer, folder):
    blocked = 'sys.modules["hf_bpe"] = None\nfrom transformers import AutoTokenizer'
    name, module, ids = run(blocked + LOAD, folder)
    assert ids == tokenizer.encode(TEXT)
    assert name != "BPETokenizer"
    assert module.startswith("transformers.")


def test_the_finder_waits_once_and_takes_itself_out():
    code = f"""
import importlib
{FINDERS}
import hf_bpe
counts = [finders()]
importlib.reload(hf_bpe)
counts.append(finders())
import transformers
counts.append(finders())
module = importlib.import_module({AUTO!r})
counts.append(finders())
importlib.reload(hf_bpe)  # registers at once
counts.append(finders())
assert "class AutoTokenizer" in module.__loader__.get_source(module.__name__)  # as tracebacks and debuggers do
print(json.dumps(counts))
"""
    assert run(code) == [1, 1, 1, 0, 0]


def test_no_finder_is_left_where_auto_tokenizer_was_imported_first():
    assert run(f"{FINDERS}\nfrom transformers import AutoTokenizer\nimport hf_bpe\nprint(finders())") == 0


REGISTERED = f"""
from transformers import AutoTokenizer
module = sys.modules[{AUTO!r}]
print(json.dumps("BPETokenizer" in module.REGISTERED_TOKENIZER_CLASSES))
"""


def test_looking_for_the_module_before_importing_it_does_not_spend_the_finder():
    code = f"import hf_bpe, importlib.util\nassert importlib.util.find_spec({AUTO!r})"
    assert run(code + REGISTERED) is True


def test_an_import_that_failed_once_does_not_spend_the_finder():
    code = f"""
import hf_bpe
sys.modules["transformers.models.auto.auto_factory"] = None
try:
    import {AUTO}
except ImportError:
    del sys.modules["transformers.models.auto.auto_factory"]
"""
    assert run(code + REGISTERED) is True


def test_a_finder_of_the_old_kind_does_not_stop_the_import():
    code = """
import hf_bpe
class OldFinder:  # as in old versions of six; Python passes over it, or calls find_module up to 3.11
    def find_module(self, name, path=None):
        return None
sys.meta_path.insert(1, OldFinder())
"""
    assert run(code + REGISTERED) is True
