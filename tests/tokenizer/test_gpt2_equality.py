"""Real vocabularies: ids equal to those of tiktoken and of transformers."""

from itertools import accumulate, chain

import numpy as np
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken.load import load_tiktoken_bpe
from transformers import GPT2Tokenizer

from hf_bpe import BPETokenizer
from hf_bpe.pretokenizers import PATTERNS
from support.profiles import by_profile, scaled, thorough

# transformers 5.0 reads GPT-2's files in an old way of tokenizers.
pytestmark = pytest.mark.filterwarnings("ignore:Deprecated in 0.9.0:DeprecationWarning")

TEXTS = ["english", "code", "multilingual", "nonlatin", "docs"]
CHARACTERS = by_profile(quick=300_000, thorough=3_000_000)
"""The length of each text that is encoded whole."""


@pytest.fixture(scope="module")
def ours(test_data):
    return BPETokenizer.from_pretrained(test_data / "gpt2")


@pytest.fixture(scope="module")
def theirs(test_data):
    return GPT2Tokenizer.from_pretrained(test_data / "gpt2")


def encoding_of(test_data, name, pattern, **specials):
    ranks = load_tiktoken_bpe(str(test_data / "tiktoken" / f"{name}_base.tiktoken"))
    return tiktoken.Encoding(name, pat_str=PATTERNS[pattern], mergeable_ranks=ranks, special_tokens=specials)


@pytest.fixture(scope="module")
def r50k(test_data):
    return encoding_of(test_data, "r50k", "gpt2", **{"<|endoftext|>": 50256})


@given(text=st.text() | st.just("The quick brown fox<|endoftext|>"))
def test_ids_of_any_text(ours, theirs, r50k, text):
    ids = ours.encode(text)
    assert ids == r50k.encode(text, allowed_special="all")  # hypothesis finds the special token in what it tests
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert ids == theirs.encode(repaired)
    assert ours.decode(ids) == repaired


@given(ids=st.lists(st.integers(0, 50256)))
def test_texts_of_any_ids(ours, theirs, ids):
    assert ours.decode(ids) == theirs.decode(ids)
    assert ours.decode(ids, skip_special_tokens=True) == theirs.decode(ids, skip_special_tokens=True)


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
def test_ids_on_all_texts_are_those_of_tiktoken(test_data, name, pattern):
    peer = encoding_of(test_data, name, pattern)
    ours = BPETokenizer.convert_from(peer)
    for text in TEXTS:
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
