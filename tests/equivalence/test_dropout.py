"""Seeded stochastic encoding is what its definition says, however the work is divided."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hf_bpe import BPEModel
from hf_bpe.encoding._encoder import AddedTokenTuple, Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._native_paths import encode_batch
from hf_bpe.reference._dropout import Draws, Dropout, dropout_limits, merge_with_dropout, mix, text_key
from support.engines import native_encoder, reference_encoder
from support.profiles import by_profile, scaled
from support.strategies import BYTES, any_bytes, any_texts, hostile_models, models, patterns, runs_of_letters

probabilities = st.sampled_from([1e-9, 0.03, 0.1, 0.3, 0.5, 0.9, 1.0])
UNKNOWN = 5000
AB = BPEModel(
    dict(enumerate([b"a", b"b", b" ", b"ab", b"aba", b"ba", b"abab", b" a"])),
    [(b"a", b"b"), (b"b", b"a"), (b"ab", b"a"), (b"ab", b"ab"), (b" ", b"a")],
    pattern=r"\s?\S+",
)


def dropout(probability, seed=7, first_text=0):
    return Dropout(seed, dropout_limits(probability), first_text)


def ranks_of(model):
    ids = {token: token_id for token_id, token in model.vocab.items()}
    merges = enumerate(model.merges)
    return {(ids[first], ids[second]): (rank, ids[first + second]) for rank, (first, second) in merges}


def candidates_of(symbols, ranks):
    return sorted((ranks[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in ranks)


def outcomes(symbols, ranks, probability):
    """Return the results of BPE-dropout by the published algorithm, with their exact probabilities."""
    results = Counter()
    left = 1.0
    for (_, made), at in candidates_of(symbols, ranks):
        merged = (*symbols[:at], made, *symbols[at + 2 :])
        for result, chance in outcomes(merged, ranks, probability).items():
            results[result] += left * (1 - probability) * chance
        left *= probability
    results[symbols] += left
    return results


def assert_distributed(counts, expected):
    """Check that counts have the expected probabilities, by a chi-square test with an error rate of 10⁻⁶."""
    total = sum(counts.values())
    assert counts.keys() <= expected.keys()
    common = {key for key, chance in expected.items() if chance * total >= 8}
    cells = [(counts[key], expected[key] * total) for key in common]
    rest = total - sum(size for _, size in cells)
    if rest >= 8:
        cells.append((total - sum(count for count, _ in cells), rest))
    statistic = sum((count - size) ** 2 / size for count, size in cells)
    free = len(cells) - 1
    assert free > 0
    assert statistic < free * (1 - 2 / (9 * free) + 4.75 * (2 / (9 * free)) ** 0.5) ** 3


# The definition


def test_limits_are_powers_and_certain_dropout_skips_everything():
    assert dropout_limits(1.0) == (0,) * 64
    assert dropout_limits(0.25)[:2] == (3 << 62, 9 << 60)
    assert dropout_limits(2.0**-64)[0] == 2**64 - 1


def test_draws_are_skipped_with_their_probability():
    for probability in (0.01, 0.3, 0.97):
        skipped = Counter()
        for position in range(200):
            draws = Draws(text_key(1, 2), position, dropout_limits(probability))
            skipped.update((number % 7, draws.is_skipped()) for number in range(140))
        both = {
            (number, skip): (probability if skip else 1 - probability) / 7 for number in range(7) for skip in (0, 1)
        }
        assert_distributed(skipped, both)


@given(models(all_bytes=True), st.lists(st.sampled_from(b"ab"), max_size=12), probabilities, st.integers(0, 99))
def test_reference_follows_the_published_algorithm(model, word, probability, position):
    ids = {token: token_id for token_id, token in model.vocab.items()}
    ranks = ranks_of(model)
    key = text_key(3, 1)
    symbols = [ids[bytes([byte])] for byte in word]
    draws = Draws(key, position, dropout_limits(probability))
    expected = symbols
    while True:
        kept = next((each for each in candidates_of(expected, ranks) if not draws.is_skipped()), None)
        if kept is None:
            break
        (_, made), at = kept
        expected = [*expected[:at], made, *expected[at + 2 :]]
    assert merge_with_dropout(symbols, ranks, Draws(key, position, dropout_limits(probability))) == expected


@pytest.mark.parametrize("probability", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("word", ["abab", "babaab", "aababa"])
def test_words_have_the_exact_distribution(probability, word):
    encoder = make_encoder(AB)
    expected = outcomes(tuple(b"ab".index(byte) for byte in word.encode()), ranks_of(AB), probability)
    assert abs(sum(expected.values()) - 1) < 1e-9
    rows = encoder.encode_batch([word] * 5000, Options(dropout=dropout(probability)), 2)
    assert_distributed(Counter(map(tuple, rows)), expected)


def test_equal_words_of_a_text_draw_independently():
    ranks, probability = ranks_of(AB), 0.3
    words = 4000
    ids = make_encoder(AB).encode(" abab" * words, Options(dropout=dropout(probability)))
    found, word, size = [], [], 0
    for token_id in ids:
        word.append(token_id)
        size += len(AB.vocab[token_id])
        if size == 5:
            found.append(tuple(word))
            word, size = [], 0
    one = outcomes((2, 0, 1, 0, 1), ranks, probability)
    assert len(found) == words
    assert_distributed(Counter(found), one)
    two = {pair: one[pair[0]] * one[pair[1]] for pair in product(one, one)}
    assert_distributed(Counter(zip(found[::2], found[1::2], strict=True)), two)


# The engines


@settings(max_examples=by_profile(quick=80, thorough=300))
@given(
    models(),
    patterns,
    st.lists(any_bytes | any_texts, max_size=4),
    probabilities,
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**64 - 1),
    st.sampled_from([1, 7, 1 << 18]),
)
def test_native_ids_are_those_of_the_reference(native, model, pattern, texts, probability, prefix, drops, seed, chunk):
    model = replace(model, pattern=pattern, drop_missing_bytes=drops)
    token = AddedTokenTuple("b a", 2000, False, False, True, False, False)
    slow = reference_encoder(model, (token,))
    fast = native_encoder(model, (token,), chunk_bytes=chunk)
    options = Options(False, prefix, UNKNOWN, dropout(probability, seed, 3))
    expected = encode_batch(slow, texts, options, 1)
    assert fast.encode_batch(texts, options, 2) == expected
    assert fast.count_tokens(texts, options, 2) == [*map(len, expected)]
    for index, text in enumerate(texts):
        alone = options._replace(dropout=dropout(probability, seed, 3 + index))
        assert fast.encode(text, alone) == expected[index]
    ids, ends, places = fast.encode_with_offsets(texts, options)
    assert [ids[begin:end].tolist() for begin, end in pairwise(ends)] == expected
    assert places.tolist() == slow.encode_with_offsets(texts, options)[2].tolist()


@settings(max_examples=by_profile(quick=60, thorough=120))
@given(hostile_models(), runs_of_letters, probabilities)
def test_long_words_have_the_ids_of_the_reference(native, model, word, probability):
    assume(len(word) <= 3000)
    slow = reference_encoder(model)
    options = Options(dropout=dropout(probability))
    assert native_encoder(model).encode(word, options) == slow.encode(word, options)


@given(models(all_bytes=True), st.lists(any_texts, min_size=1, max_size=4), probabilities)
def test_text_is_decoded_whatever_is_skipped(model, texts, probability):
    encoder = make_encoder(model)
    expected = encoder.decode_batch(encoder.encode_batch(texts, Options(), 1), b"", "strict")
    rows = encoder.encode_batch(texts, Options(dropout=dropout(probability)), 2)
    assert encoder.decode_batch(rows, b"", "strict") == expected
    if probability == 1:
        assert all(len(row) == len(text.encode()) for row, text in zip(rows, expected, strict=True))


@scaled
def test_cached_results_of_words_are_those_of_the_reference(native):
    """Words recur with every gap that their skipped merges can have, so most ids come from memory."""
    slow = reference_encoder(AB)
    fast = native_encoder(AB)
    text = " ababab aab babab abababababab" * by_profile(quick=700, thorough=4000)
    for probability in (0.02, 0.2, 0.6):
        options = Options(dropout=dropout(probability))
        assert fast.encode(text, options) == slow.encode(text, options)


@given(st.sampled_from(["NFC", "NFKC", "Lowercase"]), st.lists(any_texts, max_size=3), probabilities)
def test_places_count_bytes_of_normalized_text(name, texts, probability):
    token = AddedTokenTuple("\u00c4<|x|>", 2000, True, False, False, False, False)
    model = BPEModel({**BYTES, 256: b" A", 257: b"ow", 258: b"low"}, [(b"o", b"w"), (b"l", b"ow")], pattern="gpt2")
    texts = [f"{text}\u00c4<|x|>A\u0308 low {text} low" for text in texts]
    encoder = make_encoder(replace(model, normalizer=name), (token,))
    raw = make_encoder(model, (token,))
    options = Options(dropout=dropout(probability))
    rows = encode_batch(encoder, texts, options, 2)
    assert [encoder.encode(text, options.for_parts([(index, 0)])) for index, text in enumerate(texts)] == rows
    ids, ends, _ = encoder.encode_with_offsets(texts, options)
    assert [ids[begin:end].tolist() for begin, end in pairwise(ends)] == rows
    # The normalized text, with its added tokens as in the raw text, gives the same ids without normalization.
    plain = raw.decode_batch(encode_batch(encoder, texts, Options(), 1), b"", "strict")
    assert raw.encode_batch(plain, options, 1) == rows


@pytest.mark.parametrize(
    ("given_dropout", "error", "message"),
    [
        (7, TypeError, "dropout: expected a list or tuple"),
        ((0, (0,) * 63, 0, None), TypeError, "64 limits"),
        ((0, (0,) * 63 + (-1,), 0, None), TypeError, "dropout"),
        ((-1, (0,) * 64, 0, None), TypeError, "seed"),
        ((0, (0,) * 64, 0, ((0, 0),) * 2), ValueError, "a place for each text"),
        ((0, (0,) * 64, 0, [(0, 0)]), TypeError, "a place for each text"),
    ],
)
def test_wrong_dropout_is_refused_by_the_native_core(native, given_dropout, error, message):
    with pytest.raises(error, match=message):
        native_encoder(AB).encode("a", Options(dropout=given_dropout))


def test_hash_is_that_of_splitmix64():
    assert [mix(0x9E3779B97F4A7C15 * step) for step in (1, 2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]
