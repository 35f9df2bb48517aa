"""The reference learns, splits, encodes and decodes as the literal definitions do."""

import collections
import itertools
import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPEModel
from hf_bpe.pretokenizers import split
from hf_bpe.reference import Encoder, learn_merges, pre_tokenize
from support.oracles import oracle
from support.profiles import by_profile
from support.strategies import any_bytes, corpora, mergeable, models, of_tokens, patterns, texts, tie_breaks

max_merges = st.integers(0, 40)
min_frequencies = st.integers(0, 6)


@given(
    counts=corpora,
    max_merges=max_merges,
    min_frequency=min_frequencies,
    max_token_bytes=st.none() | st.integers(1, 9),
    length_penalty=st.sampled_from([0, 0.5, 1, 3]),
    tie_break=tie_breaks,
)
def test_merges_are_those_of_the_definition(counts, **options):
    assert learn_merges(counts, **options) == oracle.learn_merges(counts, **options)


@given(corpora, max_merges, tie_breaks, st.sampled_from([0, 1]), st.randoms())
def test_merges_do_not_depend_on_the_order_of_the_counts(counts, max_merges, tie_break, length_penalty, rng):
    options = {"max_merges": max_merges, "tie_break": tie_break, "length_penalty": length_penalty}
    shuffled = dict(rng.sample(sorted(counts.items()), len(counts)))
    assert learn_merges(shuffled, **options) == learn_merges(counts, **options)


@given(corpora, tie_breaks)
def test_fewer_merges_are_the_first_of_more_distinct_ones(counts, tie_break):
    merges = learn_merges(counts, max_merges=40, tie_break=tie_break)
    assert learn_merges(counts, max_merges=7, tie_break=tie_break) == merges[:7]
    assert len({first + second for first, second in merges}) == len(merges)


def pair_counts(counts):
    pairs = collections.Counter()
    for word, count in counts.items():
        for pair in itertools.pairwise(word):
            pairs[pair] += count
    return pairs


@given(corpora, max_merges)
def test_progress_is_called_for_each_merge(counts, max_merges):
    calls = []
    merges = learn_merges(counts, max_merges=max_merges, progress=lambda new, count: calls.append((new, count)))
    assert [new for new, _ in calls] == [[merge] for merge in merges]
    assert [count for _, count in calls] == sorted((count for _, count in calls), reverse=True)
    if merges:
        assert calls[0][1] == max(pair_counts(counts).values())


@given(any_bytes, patterns)
def test_pre_tokens_joined_are_the_bytes(data, pattern):
    pieces = pre_tokenize(data, pattern)
    assert b"".join(pieces) == data
    assert all(pieces)


@given(texts, patterns)
def test_pre_tokens_of_text_are_its_pieces(native, text, pattern):
    assert pre_tokenize(text.encode(), pattern) == [piece.encode() for piece in split(text, pattern)]


def test_invalid_bytes_are_of_no_class():
    assert pre_tokenize(b"a\xffb \xc3\xa9\xc3 1\xed\xa0\x802", "gpt2") == [
        b"a", b"\xff", b"b", b" \xc3\xa9", b"\xc3", b" 1", b"\xed\xa0\x80", b"2",
    ]  # fmt: skip


@settings(max_examples=by_profile(quick=80, thorough=200))
@given(models(), st.data())
def test_ids_are_those_of_the_definition(model, data):
    data = data.draw(mergeable | any_bytes | of_tokens(model))
    ids = {token: token_id for token_id, token in model.vocab.items()}
    words = pre_tokenize(data, model.pattern)
    expected = [ids.get(token, 5000) for token in oracle.encode(words, model)]
    encoder = pickle.loads(pickle.dumps(Encoder(model)))
    assert encoder.encode(data, unknown_id=5000) == expected


@given(models(all_bytes=True), mergeable | st.binary())
def test_ids_are_decoded_to_the_same_bytes(model, data):
    encoder = Encoder(model)
    assert encoder.decode(encoder.encode(data)) == data
    assert encoder.encode(data) == Encoder(model).encode(data)  # a second time, from the cache


@given(models(), any_bytes)
def test_a_byte_without_a_token_is_named(model, data):
    missing = [byte for byte in data if bytes([byte]) not in model.vocab.values()]
    encoder = Encoder(model)
    if missing:
        with pytest.raises(ValueError, match=f"no token for the byte 0x{missing[0]:02X} of the text; set unk_token"):
            encoder.encode(data)
    else:
        assert encoder.decode(encoder.encode(data)) == data


def test_decoding_an_id_outside_the_vocabulary_is_a_key_error():
    encoder = Encoder(BPEModel({3: b"a"}, []))
    assert encoder.decode([3, 3]) == b"aa"
    with pytest.raises(KeyError):
        encoder.decode([3, 4])


@pytest.mark.parametrize("shuffled", [False, True])
def test_long_pre_tokens_are_encoded(shuffled):
    merges = [(b"a" * 2**power, b"a" * 2**power) for power in range(8)]
    if shuffled:
        random.Random(0).shuffle(merges)
    tokens = {b"a"} | {first + second for first, second in merges}
    model = BPEModel(dict(enumerate(sorted(tokens))), merges, pattern=None)
    encoder = Encoder(model)
    ids = encoder.encode(b"a" * 50_000)  # would take many minutes if the time were quadratic
    assert [model.vocab[token_id] for token_id in ids] == [b"a" * 256] * 195 + [b"a" * 64, b"a" * 16]
