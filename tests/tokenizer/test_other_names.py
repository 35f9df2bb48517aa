"""Names of tokenizers, tiktoken and SentencePiece: AttributeErrors that say what to write instead."""

import abc
import re

import pytest
import tiktoken
import tokenizers

import hf_bpe
from hf_bpe import BPETokenizer
from hf_bpe.tokenizer._other_names import OTHER_NAMES, OTHER_NAMES_OF_PACKAGE
from support.cases import case

TOKENIZER = BPETokenizer.train(["low"], vocab_size=257, pad_token="<pad>")


def test_name_of_another_library_says_what_it_is_here():
    for name, advice in OTHER_NAMES.items():
        message = f"BPETokenizer has no attribute {name}; in BPETokenizer it is {advice}"
        for owner in (TOKENIZER, BPETokenizer):
            assert not hasattr(owner, name)
            with case(name), pytest.raises(AttributeError, match=f"^{re.escape(message)}$") as raised:
                getattr(owner, name)
            assert raised.value.name == name


def test_subclasses_may_have_the_other_names():
    class Loader(abc.ABC):  # noqa: B024 - its metaclass matters
        @classmethod
        def load(cls):
            return cls.__name__

        def from_file(self):
            return self.encode("low")

    class Tokenizer(BPETokenizer, Loader):
        from_str = 3

    tokenizer = Tokenizer.train(["low"], vocab_size=257)
    assert (Tokenizer.load(), tokenizer.load(), tokenizer.from_str) == ("Tokenizer", "Tokenizer", 3)
    assert tokenizer.from_file() == tokenizer.encode("low")
    tokenizer.from_tiktoken = 4
    assert tokenizer.from_tiktoken == 4


def test_advice_names_only_what_exists():
    for name, advice in OTHER_NAMES.items():
        calls = advice.replace('"tokenizer.json"', "path")
        words = {*re.findall(r"\b(?:tokenizer|BPETokenizer)\.(\w+)", calls), *re.findall(r"or (\w+)\(", calls)}
        words |= {*re.findall(r"^(\w+)(?:$|[(,. ])", calls)}
        words -= {"tokenizer", "BPETokenizer", "tokenizers", "len", "id"}
        assert [word for word in words if not hasattr(TOKENIZER, word)] == [], (name, advice)


def test_names_are_those_of_the_other_libraries():
    known = {*dir(tokenizers.Tokenizer), *dir(tokenizers.ByteLevelBPETokenizer), *dir(tiktoken.Encoding)}
    assert len(known & OTHER_NAMES.keys()) >= 30
    missing = {name for name in dir(tiktoken.Encoding) if not name.startswith("_")} - OTHER_NAMES.keys()
    assert {name for name in missing if not hasattr(TOKENIZER, name)} <= {"name"}


def test_transformers_looks_up_attributes_first():
    assert TOKENIZER.pad_token_id == 256
    with pytest.raises(AttributeError, match=r"BPETokenizer has no attribute nothing$"):
        TOKENIZER.nothing  # noqa: B018


def test_package_says_what_names_are_here():
    for name, advice in OTHER_NAMES_OF_PACKAGE.items():
        assert not hasattr(hf_bpe, name)
        with case(name), pytest.raises(AttributeError, match=re.escape(f"; in hf_bpe it is {advice}")):
            getattr(hf_bpe, name)


def test_package_names_only_what_exists():
    for advice in OTHER_NAMES_OF_PACKAGE.values():
        for path in re.findall(r"hf_bpe(?:\.\w+)+", advice):
            if path.endswith("remap_embeddings"):  # needs torch
                continue
            found = hf_bpe
            for part in path.split(".")[1:]:
                found = getattr(found, part)
