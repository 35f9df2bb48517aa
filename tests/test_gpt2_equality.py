"""The real GPT-2 vocabulary: ids equal to those of tiktoken and of transformers."""

import base64

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from transformers import GPT2Tokenizer

from hf_bpe import BPETokenizer
from hf_bpe.patterns import PATTERNS

DOCUMENT_CHARS = 1500


@pytest.fixture(scope="module")
def ours(test_data):
    return BPETokenizer.from_pretrained(test_data / "gpt2")


@pytest.fixture(scope="module")
def theirs(test_data):
    return GPT2Tokenizer.from_pretrained(test_data / "gpt2")


@pytest.fixture(scope="module")
def r50k(test_data):
    lines = (test_data / "tiktoken" / "r50k_base.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    specials = {"<|endoftext|>": 50256}
    return tiktoken.Encoding("r50k", pat_str=PATTERNS["gpt2"], mergeable_ranks=ranks, special_tokens=specials)


def test_the_known_example(ours):
    assert ours.encode("The quick brown fox") == [464, 2068, 7586, 21831]
    assert ours.encode("<|endoftext|>") == [50256] == [ours.eos_token_id]


@pytest.mark.parametrize("name", ["english", "code", "multilingual", "nonlatin", "docs"])
def test_ids_on_a_sample_of_each_text(test_data, ours, theirs, r50k, name):
    with (test_data / "text" / f"{name}.txt").open("rb") as file:
        text = file.read(3_000_000).decode("utf-8", "ignore")
    documents = [part for document in text.split("<|endoftext|>")[::3] if (part := document[:DOCUMENT_CHARS])]
    assert len(documents) > 15
    for document in documents:
        ids = ours.encode(document)
        assert ids == r50k.encode_ordinary(document)
        assert ids == theirs.encode(document)
        assert ours.decode(ids) == document


@given(text=st.text())
def test_ids_of_any_text(ours, theirs, r50k, text):
    ids = ours.encode(text)
    assert ids == r50k.encode_ordinary(text)
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert ids == theirs.encode(repaired)
    assert ours.decode(ids) == repaired


@given(ids=st.lists(st.integers(0, 50256)))
def test_texts_of_any_ids(ours, theirs, ids):
    assert ours.decode(ids) == theirs.decode(ids)
    assert ours.decode(ids, skip_special_tokens=True) == theirs.decode(ids, skip_special_tokens=True)
