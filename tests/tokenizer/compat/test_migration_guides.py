"""Both sides of the tables of methods in the guides for users of `tokenizers` and tiktoken give the same results."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import tiktoken
from tiktoken.load import load_tiktoken_bpe
from tokenizers import Tokenizer

from hf_bpe import BPETokenizer, train
from support.cases import case
from support.project import ROOT

GUIDES = ROOT / "docs" / "how-to"
END = "<|endoftext|>"
TEXT = f"lower, the newest café 你好{END}low"


def rows_of(page, header):
    """Return both sides of each row of a table, as the code in their cells."""
    text = (GUIDES / page).read_text(encoding="utf-8")
    rows = re.search(rf"^\| {re.escape(header)} \|.*\n\|[-|]*\|\n((?:\|.*\n)+)", text, re.MULTILINE)[1]
    sides = [re.match(r"\| `(.*?)` \| `(.*?)` \|", row) for row in rows.splitlines()]
    assert None not in sides
    return [(side[1].replace(r"\|", "|"), side[2].replace(r"\|", "|")) for side in sides]


@pytest.fixture
def model():
    return train(["low lower lowest the newest of the low"] * 2, vocab_size=270, special_tokens=[END], pattern="cl100k")


def value(code, tokenizer):
    names = {"text": TEXT, "pair": "the low", "words": ["low", "lower"], "texts": [TEXT, "", "the"]}
    found = eval(code, names | {"ids": [258, 256, 97], "tok": tokenizer, "enc": tokenizer})
    if isinstance(found, np.ndarray):
        return found.tolist()
    return sorted(found) if isinstance(found, set) else found


def test_methods_of_tokenizers_and_ours_agree(model, tmp_path):
    BPETokenizer(model=model).convert_to(tmp_path / "tokenizer.json")
    tokenizer = Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    converted = BPETokenizer.convert_from(tokenizer)
    for theirs, ours in rows_of("migrate-from-tokenizers.md", "`tokenizers`"):
        with case(theirs, ours):
            assert value(ours, converted) == value(theirs, tokenizer)


def test_methods_of_tiktoken_and_ours_agree(model, tmp_path):
    path = tmp_path / "x.tiktoken"
    BPETokenizer(model=model).convert_to(path)
    settings = json.loads(Path(f"{path}.json").read_text(encoding="utf-8"))
    encoding = tiktoken.Encoding(
        "x",
        pat_str=settings["pat_str"],
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens=settings["special_tokens"],
    )
    converted = BPETokenizer.convert_from(encoding)
    for theirs, ours in rows_of("migrate-from-tiktoken.md", "tiktoken"):
        with case(theirs, ours):
            assert outcome(ours, converted) == outcome(theirs, encoding)


def outcome(code, tokenizer):
    """Return what code evaluates to, or that it is refused."""
    try:
        return value(code, tokenizer)
    except ValueError:
        return "refused"
