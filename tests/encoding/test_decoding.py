"""Ids to text: whole, in batches, and one by one as a model makes them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPETokenizer
from support.strategies import any_bytes


@pytest.fixture(scope="module")
def tokenizer():
    made = BPETokenizer.train(["low lower 你好 \U0001f44b\U0001f3fd é"] * 3, num_merges=12, special_tokens=["<|x|>"])
    made.add_tokens(["<more>", AddedToken("é!")])
    return made


def ids_of(tokenizer):
    return st.lists(st.integers(0, len(tokenizer) - 1), max_size=30)


@given(st.data(), st.booleans())
def test_rows_are_decoded_as_each_is(tokenizer, data, skip):
    rows = data.draw(st.lists(ids_of(tokenizer), min_size=1, max_size=4))
    expected = [tokenizer.decode_bytes(row, skip_special_tokens=skip).decode("utf-8", "replace") for row in rows]
    assert tokenizer.batch_decode(rows, skip_special_tokens=skip) == expected
    assert tokenizer.decode(rows, skip_special_tokens=skip) == expected
    assert [tokenizer.decode(row, skip_special_tokens=skip) for row in rows] == expected
    assert tokenizer.decode_to_texts(rows, skip_special_tokens=skip) == expected
    arrays = [np.array(row, np.int32) for row in rows]
    assert tokenizer.batch_decode(arrays, skip_special_tokens=skip) == expected
    assert tokenizer.decode_to_texts(arrays, skip_special_tokens=skip) == expected


def test_decode_accepts_ids_of_all_kinds(tokenizer):
    ids = tokenizer.encode("low你好")
    for kind in (ids, tuple(ids), np.array(ids, np.uint16), [*np.array(ids)]):
        assert tokenizer.decode(kind) == "low你好"
        assert tokenizer.decode([kind, kind]) == tokenizer.batch_decode([kind, kind]) == ["low你好"] * 2
        assert tokenizer.convert_ids_to_tokens(kind) == tokenizer.tokenize("low你好")
        assert tokenizer.decode([*kind, 10**6]) == "low你好"
    assert tokenizer.decode(np.array([ids, ids])) == ["low你好"] * 2
    assert tokenizer.decode(ids[0]) == tokenizer.decode(np.int64(ids[0])) == "low"
    assert tokenizer.decode([[], ids]) == ["", "low你好"]


@given(st.data(), st.booleans())
def test_a_stream_gives_the_text_of_all_ids(tokenizer, data, skip):
    ids = data.draw(ids_of(tokenizer))
    stream = tokenizer.decode_stream(skip_special_tokens=skip)
    pieces = [stream.step(token_id) for token_id in ids]
    assert "".join([*pieces, stream.finish()]) == tokenizer.decode(ids, skip_special_tokens=skip)
    assert stream.step(ids) + stream.finish() == tokenizer.decode(ids, skip_special_tokens=skip)


@given(data=any_bytes)
def test_a_stream_holds_back_only_what_is_no_whole_character(tokenizer, data):
    stream, fed = tokenizer.decode_stream(), b""
    given_out = ""
    for token_id in tokenizer.encode_bytes(data):
        given_out += stream.step(token_id)
        fed += tokenizer.decode_bytes(token_id)
        held_back = tokenizer.decode_bytes(tokenizer.encode_bytes(fed)).decode("utf-8", "replace")
        assert held_back.startswith(given_out)
        assert len(held_back) - len(given_out) <= 1
    assert given_out + stream.finish() == data.decode("utf-8", "replace")


def test_errors_are_handled_as_the_tokenizer_says():
    tokenizer = BPETokenizer.train([], vocab_size=256, errors="strict")
    stream = tokenizer.decode_stream()
    assert stream.step([0xC3]) == ""
    with pytest.raises(UnicodeDecodeError):
        stream.step(0x28)
    with pytest.raises(UnicodeDecodeError):
        tokenizer.decode([[0xFF]])


def test_unknown_tokens_become_unk_token(tokenizer):
    known = BPETokenizer(model=tokenizer.model, unk_token="<|x|>")
    assert known.convert_tokens_to_ids(["nowhere", "low"]) == [known.unk_token_id, known.convert_tokens_to_ids("low")]
    assert known.convert_ids_to_tokens([10**6, 97]) == ["<|x|>", "a"]
    assert known.convert_ids_to_tokens(10**6) == "<|x|>"
    assert tokenizer.convert_ids_to_tokens(10**6) is None
    assert tokenizer.convert_tokens_to_ids(["nowhere"]) == [None]


def test_tokens_that_become_special_are_skipped_from_then_on(tokenizer):
    made = BPETokenizer(model=tokenizer.model)
    ids = made.encode("low<|x|>low")
    assert made.decode(ids, skip_special_tokens=True) == "lowlow"
    made.add_tokens(["<more>"])
    ids = made.encode("low<more>low")
    assert made.decode(ids, skip_special_tokens=True) == "low<more>low"
    made.pad_token = "<more>"
    assert made.decode(ids, skip_special_tokens=True) == "lowlow"
    made.pad_token = None
    assert made.decode(ids, skip_special_tokens=True) == "low<more>low"
    made.add_special_tokens({"extra_special_tokens": ["<new>"]})
    assert made.decode(made.encode("a<new>b"), skip_special_tokens=True) == "ab"


def test_streams_say_what_they_hold():
    stream = BPETokenizer.train([], vocab_size=256).decode_stream()
    assert repr(stream) == "<DecodeStream that holds nothing>"
    stream.step([104, 195])
    assert repr(stream) == r"<DecodeStream that holds b'\xc3'>"
    stream.finish()
    assert repr(stream) == "<DecodeStream that holds nothing>"
