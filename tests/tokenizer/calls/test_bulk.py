"""The bulk API of BPETokenizer gives the ids of its calls, and of tiktoken, in arrays, lists and files."""

import itertools
import logging
import pickle
from itertools import accumulate, chain

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from tiktoken.load import load_tiktoken_bpe

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.pretokenizers import PATTERNS
from support.cases import case
from support.profiles import by_profile, scaled, thorough
from support.strategies import any_bytes

TEXTS = ["lowest of the low<|endoftext|>", "", " ", "<|user|>newest 你好<pad>", "a\u0301 \U0001f44b\r\n\t x  y"]


@given(data=any_bytes)
def test_bulk_methods_accept_bytes(tokenizer, data):
    ids = tokenizer.encode_bytes(data)
    assert tokenizer.decode_bytes(ids) == data
    assert tokenizer.encode_to_lists([data]) == [ids]
    array, offsets = tokenizer.encode_to_numpy([data])
    assert (array.dtype, offsets.dtype, array.tolist()) == (np.uint32, np.int64, ids)
    assert [*tokenizer.encode_iterable([data[:3], data[3:]])] == ids


@pytest.mark.parametrize("text", ["lowest of the low<|endoftext|>", b"\xff", ""])
def test_single_text_has_its_ids_and_their_number(tokenizer, text):
    ids = tokenizer.encode_to_numpy(text, num_workers=1)
    assert (ids.dtype, ids.tolist()) == (np.uint32, tokenizer.encode_bytes(text))
    assert tokenizer.count_tokens(text) == len(ids)
    assert tokenizer.encode_to_numpy(text, split_special_tokens=True).tolist() == (
        tokenizer.encode_bytes(text, split_special_tokens=True)
    )


def test_padded_rows_are_those_that_transformers_gives(tokenizer):
    twin = pickle.loads(pickle.dumps(tokenizer))
    for twin.padding_side, length in itertools.product(("left", "right"), (None, 0, 3, 40)):
        with case(twin.padding_side, length):
            ids, mask = twin.encode_to_padded(TEXTS, length=length)
            assert ids.dtype == mask.dtype == np.int64
            if length in (None, 40):  # transformers cuts on the other side, or not at all
                padding = {"padding": True} if length is None else {"padding": "max_length", "max_length": length}
                expected = twin(TEXTS, add_special_tokens=False, **padding)
                assert (ids.tolist(), mask.tolist()) == (expected["input_ids"], expected["attention_mask"])
            else:
                kept = [row[keep == 1].tolist() for row, keep in zip(ids, mask, strict=True)]
                assert kept == [row[:length] for row in twin.encode_to_lists(TEXTS)]
    assert twin.encode_to_padded([])[0].shape == (0, 0)


def test_padding_needs_a_token_where_rows_differ(tokenizer):
    bare = BPETokenizer(model=tokenizer.model, pad_token=None)
    assert bare.encode_to_padded(["a", "b"])[1].tolist() == [[1], [1]]


def test_unk_token_stays_where_special_tokens_are_skipped(tokenizer, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("transformers"), "propagate", True)
    known = BPETokenizer(model=tokenizer.model, unk_token="<pad>")
    ids = [97, 10_000, known.eos_token_id, known.unk_token_id]
    assert known.decode_bytes(ids) == b"a<pad><|endoftext|><pad>"
    assert known.decode_bytes(ids, skip_special_tokens=True) == b"a<pad>"
    assert known.decode_to_texts([ids], skip_special_tokens=True) == ["a<pad>"]
    assert "10000" not in caplog.text
    assert tokenizer.decode_bytes([97, 10_000, 98]) == b"ab"
    assert "id 10000 is not in the vocabulary" in caplog.text
    for below in range(-300, 0):
        assert known.decode_bytes([97, below], skip_special_tokens=True) == b"a<pad>"
        assert known.convert_ids_to_tokens([97, below], skip_special_tokens=True) == ["a", "<pad>"]


def test_ids_beyond_16_bits_are_written_in_32(tmp_path):
    others = {256 + number: b"x%d" % number for number in range(2**16)}
    vocab = {byte: bytes([byte]) for byte in range(256)} | others | {66_000: b"<|x|>"}
    tokenizer = BPETokenizer(model=BPEModel(vocab, [], ["<|x|>"]))
    (tmp_path / "a.txt").write_text("low<|x|>", encoding="utf-8")
    ids = np.load(tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.npy").ids)
    assert ids.dtype == np.uint32
    assert ids.tolist() == tokenizer.encode("low<|x|>") == [*b"low", 66_000]


REAL_TEXTS = ["english", "code", "multilingual", "nonlatin", "docs"]
CHARACTERS = by_profile(quick=300_000, thorough=3_000_000)
"""The length of each real text that is encoded whole."""


@scaled
@pytest.mark.usefixtures("native")
@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("r50k", "gpt2"),
        pytest.param("cl100k", "cl100k", marks=thorough),
        pytest.param("o200k", "o200k", marks=thorough),
    ],
)
def test_ids_of_real_texts_are_those_of_tiktoken(test_data, name, pattern):
    ranks = load_tiktoken_bpe(str(test_data / "tiktoken" / f"{name}_base.tiktoken"))
    peer = tiktoken.Encoding(name, pat_str=PATTERNS[pattern], mergeable_ranks=ranks, special_tokens={})
    ours = BPETokenizer.convert_from(peer)
    for text in REAL_TEXTS:
        whole = (test_data / "text" / f"{text}.txt").read_text(encoding="utf-8")[:CHARACTERS]
        documents = whole.split("<|endoftext|>")
        ids, offsets = ours.encode_to_numpy(documents)
        expected = peer.encode_ordinary_batch(documents)
        assert offsets.tolist() == [0, *accumulate(map(len, expected))]
        np.testing.assert_array_equal(ids, np.fromiter(chain.from_iterable(expected), np.uint32, len(ids)))
        # As one string, in which the separator is text.
        ids, _ = ours.encode_to_numpy([whole])
        np.testing.assert_array_equal(ids, np.array(peer.encode_ordinary(whole), np.uint32))
        assert ours.decode_bytes(ids) == whole.encode()
