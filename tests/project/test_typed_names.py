"""Names as editors and type checkers see them: every public name, and every misspelt one."""

import importlib.util
import inspect
import subprocess
import sys
from typing import get_args, get_type_hints

import pytest
from transformers.tokenization_python import PreTrainedTokenizer

import hf_bpe
import hf_bpe.encoding
import hf_bpe.tokenizer
from hf_bpe import BPETokenizer
from hf_bpe.conversion import _formats
from hf_bpe.token_files import _formats as token_formats
from hf_bpe.token_files._formats import FormatName
from hf_bpe.tokenizer import _transformers_types as types
from support.project import ROOT

SCRIPT = """
import hf_bpe
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

# What people who come from other libraries, or have read the pages in a hurry, write.
text: str = tokenizer.encode("low")  # mistake: encode returns ids
tokenizer.encode("low").ids  # mistake: as in tokenizers
tokenizer.encode(["low"], paddin=True)  # mistake
tokenizer.encode("low", padding="longst")  # mistake
tokenizer("low", return_tensors="numpy")  # mistake
tokenizer("low", truncation="first")  # mistake
tokenizer.decode("low")  # mistake: text instead of ids
ids: list[int] = tokenizer.decode([1, 2])  # mistake
tokenizer.padding_side = "centre"  # mistake
tokenizer.convert_to("x.gguf", format="guff")  # mistake
tokenizer.encode_files("corpus", "out", format="megatorn")  # mistake
longer: BPETokenizer = tokenizer.extend(["low"], 5)  # mistake: it returns the remap, too
tokenizer.prune(["low"], vocabsize=300)  # mistake
tokenizer.encode_batch(["low"])  # mistake: as in tokenizers
BPETokenizer.train(["low"], vocab_size="32k")  # mistake
train(["low"], vocab_size=300, tie_break="hf")  # mistake
train(5, vocab_size=300)  # mistake
count(["low"], num_workers="all")  # mistake
Source("folder", weight="2x", column=3)  # mistake
hf_bpe.editing.truncate(tokenizer, 300)  # mistake: the model is expected
hf_bpe.get_encoding("cl100k_base")  # mistake: as in tiktoken
tokenizer.convert_tokens_to_ids("low") + "x"  # mistake
hf_bpe.accelerate(tokenizer).encod("low")  # mistake
number: list[int] = tokenizer.count_tokens("low")  # mistake: one text has one number

# All of this is right.
rows: list[str] = tokenizer.decode([[1, 2], [3]])
one: str = tokenizer.decode(tokenizer.encode("low", dropout=0.1, seed=0), skip_special_tokens=True)
array = tokenizer.encode("low", return_tensors="np").shape
total: int = tokenizer.count_tokens("low") + sum(tokenizer.count_tokens(["low"], num_workers=2))
print(tokenizer.encode_to_numpy("low").size, tokenizer.encode_to_numpy(["low"])[1].size)
tokenizer(["low"], padding="max_length", truncation=True, max_length=8, padding_side="left", return_tensors="pt")
smaller, remap = tokenizer.truncate(300)
smaller, remap = tokenizer.prune(["low"], vocab_size=300, num_workers=2)
print(remap.ids(tokenizer.encode("low")), tokenizer.encode("low", allowed_special={"<|x|>"}, disallowed_special=()))
print(tokenizer.convert_tokens_to_ids(["a"]), hf_bpe.analysis.show(tokenizer, "low"), tokenizer.pad_token_id)
tokenizer.decode(tokenizer("low", return_tensors="np")["input_ids"][0])
"""


@pytest.mark.parametrize("module", [hf_bpe, hf_bpe.tokenizer, hf_bpe.encoding])
def test_dir_lists_every_public_name(module):
    assert {*module.__all__} <= {*dir(module)}


def test_dir_lists_no_internal_name():
    listed = [name for name in dir(hf_bpe) if not name.startswith("__")]
    assert [name for name in listed if name.startswith("_")] == []
    assert {*listed} - {*hf_bpe.__all__} == {*hf_bpe._PACKAGES}
    folders = {path.name for path in (ROOT / "hf_bpe").iterdir() if (path / "__init__.py").exists()}
    assert {*hf_bpe._PACKAGES} == {name for name in folders | {"conversion"} if not name.startswith("_")} - {"cli"}


def test_signature_of_train_names_its_options():
    names = inspect.signature(BPETokenizer.train).parameters
    assert {"pattern", "tie_break", "min_frequency", "work_dir", "vocab_size"} <= {*names}


def test_types_list_every_public_name_of_the_base_class():
    ours = [BPETokenizer, *BPETokenizer.__bases__[:-2]]  # the last but one wraps what type checkers do not see
    annotated = types.PreTrainedTokenizer.__annotations__ | types.OwnSettings.__annotations__
    typed = {*vars(types.PreTrainedTokenizer), *annotated}.union(*map(vars, ours))
    tokenizer = BPETokenizer.train(["low"], vocab_size=256)
    names = {name for name in {*dir(PreTrainedTokenizer), *vars(tokenizer)} if not name.startswith("_")}
    assert names - typed == set()


@pytest.mark.thorough
def test_mypy_catches_mistakes_of_a_script(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    lines = SCRIPT.splitlines()
    script = tmp_path / "script.py"
    script.write_text("\n".join(lines), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--cache-dir", tmp_path / "cache", "--ignore-missing-imports", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=tmp_path)
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error: " in line}
    expected = {number for number, line in enumerate(lines, 1) if "# typo" in line or "# mistake" in line}
    assert len(expected) >= 36
    assert found == expected, done.stdout + done.stderr


def test_literals_name_what_the_tables_have():
    assert {*get_args(FormatName)} == {*token_formats.FORMATS}
    written, read = (
        [*map(get_args, get_args(get_type_hints(method, localns={"Self": object})["format"]))]
        for method in (BPETokenizer.convert_to, BPETokenizer.convert_from)
    )
    assert {*sum(written, ())} == {*_formats.FORMATS}
    assert {*sum(read, ())} == {*_formats.FORMATS, *_formats.READ_ONLY}
