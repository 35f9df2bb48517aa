"""What editors and type checkers see: every public name, and every misspelt one."""

import importlib.util
import inspect
import subprocess
import sys

import pytest
from transformers.tokenization_python import PreTrainedTokenizer

import hf_bpe
import hf_bpe.encoding
import hf_bpe.tokenizer
from hf_bpe import BPETokenizer
from hf_bpe.tokenizer import _transformers_types as types
from hf_bpe.tokenizer._inherited import CheckedTokenizer

TYPOS = """
from hf_bpe import BPEModel, BPETokenizer, Source, WordCounts, count, train

tokenizer = BPETokenizer.train(["low lower"], vocab_size=258)
tokenizer.encod("low")  # typo
tokenizer.encode_to_nump(["low"])  # typo
tokenizer.pad_tokn = "<pad>"  # typo
tokenizer("low", paddin=True)  # typo
tokenizer.aply_chat_template([])  # typo
BPETokenizer.train(["low"], vocab_size=258, patern="gpt2")  # typo
BPETokenizer.from_pretrained("folder", padding_sid="left")  # typo
BPETokenizer(model=tokenizer.model, eos="</s>")  # typo
train(["low"], vocab_size=258, tie_brake="huggingface")  # typo
count(["low"], special_token=["x"])  # typo
Source("folder", wieght=2)  # typo
tokenizer.model.truncat(257)  # typo
hf_bpe_counts: WordCounts = WordCounts({"low": 1}).merg()  # typo
reveal: list[int] = tokenizer.encode_bytes("low", split_special_token=True)  # typo
model: BPEModel = tokenizer.model
print(tokenizer.pad_token, tokenizer("low", padding=True, return_tensors="np"), len(tokenizer), tokenizer.decode([1]))
"""


@pytest.mark.parametrize("module", [hf_bpe, hf_bpe.tokenizer, hf_bpe.encoding])
def test_dir_lists_every_public_name(module):
    assert {*module.__all__} <= {*dir(module)}


def test_signature_of_train_names_its_options():
    names = inspect.signature(BPETokenizer.train).parameters
    assert {"pattern", "tie_break", "min_frequency", "work_dir", "vocab_size"} <= {*names}


def test_types_list_every_public_name_of_the_base_class():
    ours = BPETokenizer.__mro__[: BPETokenizer.__mro__.index(CheckedTokenizer)]
    typed = {*vars(types.PreTrainedTokenizer), *types.PreTrainedTokenizer.__annotations__}.union(*map(vars, ours))
    tokenizer = BPETokenizer.train(["low"], vocab_size=256)
    names = {name for name in {*dir(PreTrainedTokenizer), *vars(tokenizer)} if not name.startswith("_")}
    assert names - typed == set()


@pytest.mark.thorough
def test_mypy_catches_typos_of_a_script(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    script = tmp_path / "script.py"
    script.write_text(TYPOS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", "--ignore-missing-imports", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path)
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    expected = {number for number, line in enumerate(TYPOS.splitlines(), 1) if "# typo" in line}
    assert len(expected) >= 10
    assert found == expected, done.stdout + done.stderr
