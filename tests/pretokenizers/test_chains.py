"""Chains of stages: `tokenizers` cuts every text into the same pre-tokens, at the same places."""

import json
from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, pre_tokenizers

from hf_bpe import BPETokenizer
from hf_bpe.encoding._cuts.safe import SafeCuts
from hf_bpe.pretokenizers import (
    CHAINS,
    NAMES,
    PATTERNS,
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    Pattern,
    PreTokenizer,
    Punctuation,
    Split,
    Whitespace,
    WhitespaceSplit,
    split,
    to_printable,
)
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from hf_bpe.reference import pre_tokenize, pre_tokens
from support.cases import case
from support.profiles import by_profile, thorough
from support.strategies import texts

pytestmark = pytest.mark.usefixtures("native")

EXPRESSIONS = [
    *(r"\p{N}{1,3}", r"[一-龥぀-ゟ゠-ヿ]+", r"\s+(?!\S)", r"\s+", r"[^\s\p{L}\p{N}]+", r" ?\p{L}+", r"[0-9][0-9][0-9]"),
    *(r"\p{L}", r"a*", r"(?=a)", r"[\r\n]+", r"\p{P}|\p{S}", r"(?<=b)", PATTERNS["gpt2"], PATTERNS["cl100k"]),
]
STRINGS = ["a", " ", "'", "Ġ", "ab", "", "  "]

behaviors = st.sampled_from(["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
stages = st.one_of(
    st.builds(Split, st.sampled_from(EXPRESSIONS), behaviors, st.booleans()),
    st.builds(Split, st.sampled_from(STRINGS), behaviors, st.booleans(), st.just(True)),
    st.builds(Digits, st.booleans()),
    st.builds(Punctuation, behaviors),
    st.sampled_from([Whitespace(), WhitespaceSplit()]),
    st.builds(CharDelimiterSplit, st.sampled_from("a '1Ġé")),
)


@st.composite
def chains(draw):
    others = draw(st.lists(stages, max_size=4))
    byte_level = draw(st.builds(ByteLevel, st.booleans(), st.booleans()))
    at = draw(st.integers(0, len(others)))
    return PreTokenizer((*others[:at], byte_level, *others[at:]))


TRAPS = st.lists(
    st.sampled_from(
        [*"aAbB1 2½²'sS\n\r\t.,!/-_Ġé你かЖ\u0301\u0661\xa0\u2003\x00\u0378", "  ", "'s", "'ll", "12", "123"]
    ),
    max_size=12,
).map("".join)


def tokenizers_pre_tokenizer(chain):
    """Return the pre-tokenizer that `tokenizers` makes of a chain's JSON."""
    model = {"type": "BPE", "vocab": {}, "merges": []}
    return Tokenizer.from_str(
        json.dumps({"added_tokens": [], "pre_tokenizer": chain.to_json(), "model": model})
    ).pre_tokenizer


def place(token, boundaries):
    """Return the characters that a pre-token covers, given the byte positions of characters."""
    begin = max(token.start, token.lowest)
    end = max(token.start + len(token.data), begin + 1)
    return bisect_right(boundaries, begin) - 1, bisect_left(boundaries, end)


@settings(max_examples=by_profile(quick=150, thorough=300))
@given(chains(), TRAPS | texts)
def test_random_chains_cut_as_tokenizers_does(chain, text):
    boundaries = [0, *accumulate(len(char.encode()) for char in text)]
    ours = pre_tokens(text, chain.canonical)
    found = [(to_printable(token.data), place(token, boundaries)) for token in ours]
    assert found == tokenizers_pre_tokenizer(chain).pre_tokenize_str(text)
    pieces = [token.data.decode("utf-8", "surrogateescape") for token in ours]
    assert split(text, chain.canonical) == pieces


@given(chains(), TRAPS)
def test_canonical_pattern_of_a_chain_cuts_alike(chain, text):
    pattern = Pattern.parse(chain).canonical
    assert split(text, pattern) == split(text, chain.canonical)
    assert Pattern.parse(pattern).canonical == pattern
    assert Pattern.parse(Pattern.read(pattern).chain).canonical == pattern


@thorough
@pytest.mark.parametrize("stage", [Digits(), Punctuation(), Whitespace(), WhitespaceSplit()], ids=str)
def test_stage_knows_the_class_of_every_character(stage):
    # Numbers of Unicode 17, which `tokenizers` knows since it is built with a newer Rust.
    newer = {*map(chr, [*range(0x11DE0, 0x11DEA), *range(0x16FF4, 0x16FF7)])}
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000 and chr(code) not in newer]
    theirs = getattr(pre_tokenizers, type(stage).__name__)()
    for start in range(0, len(characters), 1000):
        text = "a".join(["", *characters[start : start + 1000], ""])
        pieces = split(text, PreTokenizer((stage, ByteLevel())).canonical)
        assert pieces == [piece for piece, _ in theirs.pre_tokenize_str(text)]


def test_one_stage_is_the_pattern_that_it_names():
    assert Pattern.parse([ByteLevel(use_regex=True)]).canonical == "gpt2"
    assert Pattern.parse([ByteLevel()]).canonical is None
    for name, expression in PATTERNS.items():
        assert Pattern.parse([Split(expression)]).canonical == name
        removed = "cl100k" if name == "llama3" else name  # as files of both are told apart, which cut identically
        assert Pattern.parse([Split(expression, "Removed", invert=True), ByteLevel()]).canonical == removed
    assert Pattern.parse([Split(r"\d+")]).canonical == r"\d+"
    kept_apart = [Split(r"\d+", "Removed"), Split("gpt2"), Split("none"), Split(r"\d+", is_literal=True)]
    for stage in kept_apart:
        chain = PreTokenizer((stage, ByteLevel()))
        assert Pattern.parse([stage]).canonical == Pattern.parse(chain.to_json()).canonical == chain.canonical


MALFORMED = [
    ({"type": "BertPreTokenizer"}, "pre-tokenizer 'BertPreTokenizer': expected one of Split, "),
    ({"type": "Metaspace"}, "Metaspace: expected replacement, got"),
    ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "last"}, "prepend_scheme: expected one of"),
    ({"type": "Metaspace", "replacement": "▁▁"}, "replacement: expected one character"),
    ({"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}, "add_prefix_space is false"),
    ({"type": "Digits"}, "Digits: expected individual_digits, got"),
    ({"type": "Digits", "individual_digits": 1}, "Digits: individual_digits: expected bool, got 1"),
    ({"type": "Punctuation", "behavior": "isolated"}, "Punctuation: behavior: expected one of Removed, "),
    ({"type": "CharDelimiterSplit", "delimiter": "ab"}, "delimiter: expected one character, got 'ab'"),
    ({"type": "Split", "pattern": "a", "behavior": "Isolated", "invert": False}, "Split: pattern: expected"),
    ({"type": "Whitespace"}, "stages: expected one ByteLevel, got 0"),
    ({"type": "Sequence"}, "expected a pre-tokenizer, got KeyError"),
    ({}, "expected a pre-tokenizer, got KeyError"),
]


def test_malformed_chain_is_refused():
    for content, message in MALFORMED:
        with case(content):
            with pytest.raises(ValueError, match=message):
                Pattern.parse(content)
            if content:  # or it is no JSON of a stage
                with pytest.raises(ValueError, match=message):
                    Pattern.parse(json.dumps(content, indent=1))


def test_stages_of_other_types_are_refused():
    for stages in ([5], ["Digits"], [Digits]):
        with pytest.raises(TypeError, match="stages: expected stages such as Split or ByteLevel, got"):
            Pattern.parse(stages)


def test_fingerprints_tell_chains_apart():
    fingerprints = {
        BPETokenizer.train(["a"], vocab_size=256, pattern=pattern).model.fingerprint
        for pattern in (
            "gpt2",
            [Digits(), ByteLevel(use_regex=True)],
            [Digits(True), ByteLevel(use_regex=True)],
            [Digits(), Digits(True), ByteLevel(use_regex=True)],
        )
    }
    assert len(fingerprints) == 4


def test_named_patterns_are_recognized_in_any_notation():
    """DeepSeek's files hold a carriage return and a newline where the named chain has `\\r\\n`."""
    for name, chain in CHAINS.items():
        raw = [
            replace(
                stage, expression=stage.expression.replace(r"\r", "\r").replace(r"\n", "\n").replace("一", r"\u4e00")
            )
            if isinstance(stage, Split)
            else stage
            for stage in chain.stages
        ]
        assert Pattern.parse(raw).canonical == name
        assert Pattern.parse(PreTokenizer(tuple(raw)).to_json()).canonical == name
    for name in WITH_SCANNER & PATTERNS.keys():
        expression = PATTERNS[name]
        raw = expression.replace(r"\r", "\r").replace(r"\n", r"\x0a").replace(r"(?!\S)", r"(?!(?:\S))")
        assert raw != expression
        assert Pattern.parse(raw).canonical == Pattern.parse([Split(raw)]).canonical == name
        assert Pattern.parse([Split(raw, "Contiguous")]).canonical not in NAMES


def test_a_deep_expression_has_no_name():
    deep = "(?:a|" * 99 + "b" + ")" * 99
    assert Pattern.parse(deep).canonical == deep


def test_places_to_cut_are_found_where_one_stage_always_cuts():
    def cuts(left, *stages):
        safe_cut = Pattern.parse([*stages]).safe_cut
        return "".join(c for c in map(chr, range(128)) if safe_cut.search((left + c).encode()))

    words = Split(r"\p{L}+| |\n+")
    assert cuts("a", words) == "\n "
    assert cuts("1", words) == cuts(".", words) == "\n ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    assert cuts(" ", words) == ""
    assert cuts("a", Digits(individual_digits=True), words) == "\n 0123456789"
    for uncut in (
        Split(r"(?m:a b|.)(?!\S)"),
        Split(" ", "MergedWithPrevious"),
        Split(r"(?=aa)|\s+"),
        Split(r"\p{N}", "Contiguous"),
    ):
        assert not any(cuts(chr(left), uncut) for left in range(128))


@settings(max_examples=by_profile(quick=60, thorough=150))
@given(chains(), TRAPS, TRAPS)
def test_cut_texts_have_the_pre_tokens_of_the_whole(chain, before, after):
    data, pattern = (before + after).encode(), chain.canonical
    whole = pre_tokenize(data, pattern)
    for cut in SafeCuts(pattern, []).find_all(data, 1, len(data)):
        assert pre_tokenize(data[:cut], pattern) + pre_tokenize(data[cut:], pattern) == whole
