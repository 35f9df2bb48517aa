"""`train` learns the merges of the definition, and refuses options that make no sense."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import train, train_bpe
from hf_bpe.pretokenizers import Split, _pattern, split
from support.cases import check_refusals
from support.oracles import oracle
from support.strategies import texts

BYTES = [bytes([byte]) for byte in range(256)]
EXAMPLE = "low low low low low lower lower widest widest widest newest newest newest newest newest newest"
CORPUS = [EXAMPLE, "你好 你好<|x|>low, lower; lowest\n" * 3, "it's 12 — <|y|>newest"]
documents = st.lists(texts, min_size=1, max_size=4)

pytestmark = [
    pytest.mark.filterwarnings("ignore:the text gives:UserWarning"),  # most texts here are small
]


@given(documents, st.integers(0, 30), st.sampled_from(["gpt2", "cl100k", None]), st.sampled_from(["bytes", "observed"]))
def test_merges_and_ids_are_those_of_the_definition(documents, num_merges, pattern, alphabet):
    specials = ["<|x|>", "<|y|>"]
    model = train(documents, special_tokens=specials, num_merges=num_merges, pattern=pattern, initial_alphabet=alphabet)
    counts = Counter(piece.encode() for document in documents for piece in split(document, pattern))
    assert model.merges == oracle.learn_merges(counts, max_merges=num_merges)
    observed = [bytes([byte]) for byte in sorted(set("".join(documents).encode()))]
    tokens = [*(BYTES if alphabet == "bytes" else observed), b"<|x|>", b"<|y|>"]
    tokens += [first + second for first, second in model.merges]
    assert model.vocab == dict(enumerate(tokens))
    assert (model.special_tokens, model.pattern) == (("<|x|>", "<|y|>"), pattern)
    assert train(documents, len(tokens), specials, pattern=pattern, initial_alphabet=alphabet) == model


def test_a_pattern_is_parsed_once(monkeypatch):
    patterns, form = [], _pattern._canonical_form
    monkeypatch.setattr(_pattern, "_canonical_form", lambda pattern: patterns.append(pattern) or form(pattern))
    train(CORPUS, 260, ["<|x|>"], pattern=[Split(r"^\w+|\W+|\w+")])
    assert len(patterns) == 1


def test_training_continues_with_the_same_normalizer():
    texts = ["É<X>É", "é"] * 9
    model = train(texts, 261, ["<X>"], normalizer="Lowercase")
    for initial in (model.truncate(258), replace(model.truncate(258), normalizer=None)):
        assert train(texts, 261, initial=initial, normalizer="Lowercase") == model
    with pytest.raises(ValueError, match=r"initial: its normalizer is .* this training is None; give the same"):
        train(texts, 262, initial=model)


TOO_SMALL = [
    ({"vocab_size": 257}, "vocab_size 257 is too small: 256 bytes and 2 special tokens need at least 258"),
    ({"vocab_size": 1}, "vocab_size 1 is too small"),
    (
        {"vocab_size": 4, "initial_alphabet": "observed"},
        "vocab_size 4 is too small: 3 bytes and 2 special tokens need at least 5",
    ),
]


def test_too_small_a_vocab_size_is_refused():
    check_refusals(TOO_SMALL, lambda options: train(["low"], special_tokens=["<|x|>", "<|y|>"], **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 300}, "the text gives 2 of the 43 requested merges: .*; train on more text, or change"),
        ({"num_merges": 3}, "the text gives 2 of the 3 requested merges"),
        ({"num_merges": 5, "min_frequency": 2}, "the text gives 0 of the 5 requested merges"),
        ({"num_merges": 5, "max_token_bytes": 2}, "the text gives 1 of the 5 requested merges"),
    ],
)
def test_too_small_a_text_gives_fewer_tokens_and_a_warning(options, message):
    with pytest.warns(UserWarning, match=message):
        model = train(["low<|x|>"], special_tokens=["<|x|>"], **options)
    assert model.vocab_size == 257 + len(model.merges) < 262


@given(st.lists(st.sampled_from(["<x>", "<x>a", "<", "x>", "a", "<x", " "]), max_size=30).map("".join))
def test_learned_tokens_never_contain_a_special_token(text):
    specials = ["<x>", "<x>a", "x>a"]
    for pattern in ("gpt2", None):
        merges = train_bpe([text, text], num_merges=30, special_tokens=specials, pattern=pattern)[1]
        assert not [pair for pair in merges for special in specials if special.encode() in b"".join(pair)]


def never():
    raise AssertionError("the source was read before the options were checked")
    yield


WRONG_OPTIONS = [
    ({"vocab_size": 300, "num_merges": 3}, ValueError, "give either vocab_size or num_merges"),
    ({"vocab_size": "300"}, TypeError, "vocab_size: expected an int, got '300'"),
    ({"vocab_size": 0}, ValueError, "vocab_size: expected at least 1, got 0"),
    ({"vocab_size": 255}, ValueError, "vocab_size 255 is too small"),
    ({"num_merges": "3"}, TypeError, "num_merges: expected an int, got '3'"),
    ({"num_merges": -1}, ValueError, "num_merges: expected at least 0, got -1"),
    ({"num_merges": 3, "pattern": 3}, TypeError, "pattern: expected a name"),
    ({"num_merges": 3, "initial_alphabet": "ascii"}, ValueError, "initial_alphabet: expected one of 'bytes', 'obs"),
    ({"num_merges": 3, "min_frequency": -1}, ValueError, "min_frequency: expected at least 0, got -1"),
    ({"num_merges": 3, "min_frequency": 1.5}, TypeError, "min_frequency: expected an int, got 1.5"),
    ({"num_merges": 3, "max_token_bytes": 0}, ValueError, "max_token_bytes: expected at least 1, got 0"),
    ({"num_merges": 3, "max_token_bytes": "2"}, TypeError, "max_token_bytes: expected an int, got '2'"),
    (
        {"num_merges": 3, "length_penalty": -1},
        ValueError,
        "length_penalty: expected a finite number of at least 0, got -1",
    ),
    ({"num_merges": 3, "length_penalty": float("inf")}, ValueError, "length_penalty: .*, got inf"),
    ({"num_merges": 3, "length_penalty": "1"}, TypeError, "length_penalty: .*, got '1'"),
    ({"num_merges": 3, "num_workers": 0}, ValueError, "num_workers: expected at least 1, got 0"),
    ({"num_merges": 3, "special_tokens": ["Ġlow"]}, ValueError, r"writes the token b' low', which training could"),
]


def test_wrong_options_are_refused_before_the_source_is_read():
    for method in (train, train_bpe):
        check_refusals(WRONG_OPTIONS, lambda options, method=method: method(never(), **options))
