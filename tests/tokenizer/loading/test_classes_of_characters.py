"""Folders in the manner of SentencePiece: which ones transformers' own classes read with other ids than the file's.

These classes take vocabulary and merges of `tokenizer.json`, and put their own normalizer and pre-tokenizer around
them. The table has the files that each reads rightly; where the ids are others, `hf-bpe inspect` says so.
"""

import copy
import json
from functools import cache

import pytest
import transformers
from packaging.version import Version
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, accelerate
from support.cases import case
from support.commands import run
from support.models.character_files import PREPEND, REPLACE, SPACE, with_few_merges
from support.profiles import thorough

IS_IN_TABLE = Version(transformers.__version__) >= Version("5.22")

NAMES = {
    "LlamaTokenizer": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    "GemmaTokenizer": {"bos_token": "<bos>", "eos_token": "<eos>", "unk_token": "<unk>", "pad_token": "<pad>"},
}
REAL = {"LlamaTokenizer": "mistral_v0_1", "GemmaTokenizer": "gemma3"}


def metaspace(scheme, *, split=False):
    return None, {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": scheme, "split": split}


FILES = {
    "Llama 2, Mistral": ({"type": "Sequence", "normalizers": [PREPEND, REPLACE]}, None),
    "Yi, InternLM 2, Gemma": (REPLACE, None),
    "at each beginning": metaspace("always"),
    "at the beginning of the text": metaspace("first"),
    "at the beginning of the text, split": metaspace("first", split=True),
    "nowhere": metaspace("never"),
}
"""Where a `tokenizer.json` puts a space before text → its normalizer and pre-tokenizer."""

# `legacy` decides where the class of Llama puts one.
SAME = {
    ("LlamaTokenizer", True): {"at each beginning"},
    ("LlamaTokenizer", False): {"at the beginning of the text", "at the beginning of the text, split"},
    ("LlamaTokenizer", None): {"at the beginning of the text", "at the beginning of the text, split"},
    ("GemmaTokenizer", None): {"Yi, InternLM 2, Gemma", "nowhere"},
}
"""Class and `legacy` → the files with whose ids it encodes. It puts others around the vocabulary of all others."""


@cache
def small(path):
    """Return the content of a real file with few merges, and only special added tokens."""
    content = json.loads(path.read_text("utf-8"))
    content["added_tokens"] = [token for token in content["added_tokens"] if token["special"]]
    return with_few_merges(content, merges=300)


def write(folder, content, kind, legacy):
    folder.mkdir()
    folder.joinpath("tokenizer.json").write_text(json.dumps(content), "utf-8")
    given = {} if legacy is None else {"legacy": legacy}
    config = {"tokenizer_class": kind, **NAMES[kind], **given}
    folder.joinpath("tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    return folder


def inspected(folder):
    """Return the class that AutoTokenizer loads a folder as, and whether its ids are those of the file."""
    chosen = json.loads(run("inspect", folder, "--json").stdout)["auto_tokenizer"]
    return chosen["loads"], chosen["ids"]


def differs(folder):
    """Return whether AutoTokenizer and the file give other ids."""
    theirs, of_file = AutoTokenizer.from_pretrained(folder), Tokenizer.from_file(str(folder / "tokenizer.json"))
    texts = ["low", " low", "  low", "low  er", "", " ", f"{SPACE}low"]
    texts += [f"{text}{token}{text}" for text in texts for token in NAMES[type(theirs).__name__].values()]
    return any(
        theirs.encode(text, add_special_tokens=False) != of_file.encode(text, add_special_tokens=False).ids
        for text in texts
    )


@pytest.mark.parametrize(("kind", "legacy"), SAME)
def test_inspect_says_where_a_class_gives_other_ids(tmp_path, test_data, kind, legacy):
    content = copy.copy(small(test_data / "tokenizers" / REAL[kind] / "tokenizer.json"))
    for name, (content["normalizer"], content["pre_tokenizer"]) in FILES.items():
        with case(name):
            folder = write(tmp_path / name, content, kind, legacy)
            is_other = differs(folder)
            assert not IS_IN_TABLE or is_other == (name not in SAME[kind, legacy])
            assert inspected(folder) == (kind, "other" if is_other else "same")


@pytest.mark.parametrize("falls_back", [True, False])
def test_a_folder_with_nothing_but_tokenizer_json_loads(tmp_path, test_data, falls_back):
    content = copy.deepcopy(small(test_data / "tokenizers" / "mistral_v0_1" / "tokenizer.json"))
    content["model"]["byte_fallback"] = falls_back
    tmp_path.joinpath("tokenizer.json").write_text(json.dumps(content), "utf-8")
    fast, ours = PreTrainedTokenizerFast.from_pretrained(tmp_path), BPETokenizer.from_pretrained(tmp_path)
    assert ours.unk_token is fast.unk_token is None  # no other file names one
    for text in ("low  er", "a \U0001f9ff\U0001f9ff b", "<s>low"):
        assert ours.encode(text) == fast.encode(text)


def test_a_template_puts_its_tokens_as_they_are_written(tmp_path, test_data):
    content = copy.deepcopy(small(test_data / "tokenizers" / "mistral_v0_1" / "tokenizer.json"))
    for token in content["added_tokens"]:
        token["normalized"] = True  # so a text holds "▁<s>", which it does not show before the text
    tmp_path.joinpath("tokenizer.json").write_text(json.dumps(content), "utf-8")
    fast = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    for tokenizer in (BPETokenizer.from_pretrained(tmp_path), accelerate(fast)):
        for text in ("<s>low", "low <unk> e"):
            assert tokenizer(text).tokens() == fast(text).tokens()
    assert fast("<s>low").tokens()[:2] == ["<s>", "▁<s>"]


@thorough
@pytest.mark.parametrize(
    ("name", "loads", "ids"), [("mistral_v0_1", "LlamaTokenizer", "other"), ("gemma3", "GemmaTokenizer", "same")]
)
def test_inspect_says_it_of_real_folders(test_data, name, loads, ids):
    assert inspected(test_data / "tokenizers" / name) == (loads, ids)
