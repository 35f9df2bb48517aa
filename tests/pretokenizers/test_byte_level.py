"""The printable form of bytes is that of GPT-2, and lone surrogates are repaired."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.pre_tokenizers import ByteLevel
from transformers.convert_slow_tokenizer import bytes_to_unicode

from hf_bpe.pretokenizers import from_printable, to_printable
from hf_bpe.pretokenizers._byte_level import BYTE_TO_CHAR, CHAR_TO_BYTE, repair_surrogates
from support.strategies import SURROGATES, any_texts, texts

surrogate_texts = st.lists(st.one_of(st.sampled_from([*SURROGATES, "\ufeff", "a"]), texts), max_size=9).map("".join)


def test_table_is_that_of_transformers_and_of_tokenizers():
    assert dict(enumerate(BYTE_TO_CHAR)) == bytes_to_unicode()
    assert set(BYTE_TO_CHAR) == set(ByteLevel.alphabet())
    assert {char: byte for byte, char in bytes_to_unicode().items()} == CHAR_TO_BYTE


@given(st.binary())
def test_printable_form_has_a_character_a_byte_and_is_read_back(token):
    printable = to_printable(token)
    assert len(printable) == len(token)
    assert printable.isprintable()
    assert " " not in printable
    assert from_printable(printable) == token


@given(texts)
def test_printable_form_is_what_tokenizers_makes_of_text(text):
    pieces = ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str(text)
    assert to_printable(text.encode()) == "".join(piece for piece, _ in pieces)


@given(any_texts)
def test_from_printable_reads_only_printable_forms(text):
    token = from_printable(text)
    if token is None:
        assert set(text) - set(BYTE_TO_CHAR)
    else:
        assert to_printable(token) == text


@given(surrogate_texts)
def test_repair_joins_pairs_and_replaces_the_rest(text):
    joined = re.sub(
        "([\ud800-\udbff])([\udc00-\udfff])",
        lambda pair: chr(0x10000 + ((ord(pair[1]) & 0x3FF) << 10) + (ord(pair[2]) & 0x3FF)),
        text,
    )
    assert repair_surrogates(text) == re.sub("[\ud800-\udfff]", "\ufffd", joined)


@given(surrogate_texts)
def test_repair_is_that_of_tiktoken(bytes_only, text):
    assert bytes(bytes_only.encode_ordinary(text)) == repair_surrogates(text).encode()


@pytest.fixture(scope="module")
def bytes_only():
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([byte]): byte for byte in range(256)}
    return tiktoken.Encoding("bytes", pat_str=r"[\s\S]", mergeable_ranks=ranks, special_tokens={})
