"""Cuts of text that change no count."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_bpe.encoding import cut_into_documents
from hf_bpe.encoding._cuts.safe import SafeCuts, cut_into_blocks, find_last_cut, spans_between, special_token_finder
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from hf_bpe.pretokenizers._pattern import GPT2, WHITE_SPACE, Pattern
from hf_bpe.reference import count_pre_tokens
from support.profiles import by_profile
from support.strategies import any_bytes, patterns, texts

SPECIALS = ["<x>", "<x>y", "x>y", "yy", "你<", "<x", " ", "a b"]  # begin in each other, overlap, hold white space
special_tokens = st.lists(st.sampled_from(SPECIALS), max_size=4, unique=True)
# Both of what patterns look at, and whole and broken special tokens.
data = st.lists(
    texts.map(str.encode) | any_bytes | st.sampled_from([*SPECIALS, "<", "x>", "a", "b ", "y"]).map(str.encode),
    max_size=8,
).map(b"".join)


def count(text, pattern, specials):
    """Count by definition."""
    finder = re.compile(b"|".join(re.escape(s.encode()) for s in sorted(specials, key=lambda s: -len(s.encode()))))
    return count_pre_tokens(finder.split(text) if specials else [text], pattern)


def all_cuts(text, pattern, specials):
    found, cuts = [], SafeCuts(pattern, specials)
    while (cut := cuts.find_first(text, found[-1] + 1 if found else 0)) is not None:
        found.append(cut)
    return found


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(data, patterns, special_tokens, st.sampled_from([1, 2, 3, 7, 1 << 14]))
def test_safe_cuts_change_no_count(text, pattern, specials, step):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_bpe.encoding._cuts.safe._STEP", step)
        places = all_cuts(text, pattern, specials)
    parts = [text[begin:end] for begin, end in pairwise([0, *places, len(text)])]
    assert all(parts) or not text
    assert sum((count(part, pattern, specials) for part in parts), Counter()) == count(text, pattern, specials)


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(data, data, patterns, special_tokens)
def test_the_last_cut_is_safe_whatever_follows(text, following, pattern, specials):
    cut = find_last_cut(text, Pattern.read(pattern), specials)
    assert 0 <= cut <= len(text)
    parts = count(text[:cut], pattern, specials) + count(text[cut:] + following, pattern, specials)
    assert parts == count(text + following, pattern, specials)


@given(data, patterns, special_tokens)
def test_last_cut_is_far_enough_from_the_end(text, pattern, specials):
    longest = max([len(token.encode()) for token in specials], default=1)
    expected = [cut for cut in all_cuts(text, pattern, specials) if cut <= len(text) - longest + 1]
    assert SafeCuts(pattern, specials).find_last(text) == max(expected, default=0)


def test_a_cut_far_from_the_end_is_found():
    text = b"low lower" + b"x" * 100_000 + "你".encode() * 10
    assert find_last_cut(text, GPT2, ["<|x|>"]) == 3
    assert find_last_cut(text, Pattern(None), ["lower"]) == 4
    assert SafeCuts("gpt2", []).find_first(text, 4) is None
    assert SafeCuts("gpt2", []).find_first(text + b" ", 4) == len(text)


def test_cuts_are_where_users_expect_them():
    assert all_cuts(b"low, lower\n  12 x", "gpt2", []) == [4, 10, 15]
    assert all_cuts(b"low<x> lower<x>", None, ["<x>"]) == [3, 12]
    assert all_cuts(b"low<x> lower<x>", r"\w+", ["<x>"]) == [3, 12]
    assert all_cuts(b"low lower", None, []) == all_cuts(b"low lower", r"\w+", []) == []
    assert all_cuts(b"<x>low", "gpt2", ["<x>"]) == []
    assert all_cuts(b"a b", "gpt2", ["a b"]) == []


@given(st.sampled_from(sorted(WITH_SCANNER)))
def test_safe_cuts_are_never_between_white_space_and_a_space(name):
    for space in WHITE_SPACE:
        assert all_cuts(f"!{space} x".encode(), name, []) == ([1] if space == " " else [])
        assert all_cuts(f"!x{space} x".encode(), name, []) == ([2] if space.isascii() else [])


@given(data, patterns, special_tokens, st.integers(1, 40), st.lists(st.integers(1, 9), max_size=30))
@example(b"a bb", "gpt2", [], 3, [])
def test_blocks_are_the_text_and_count_as_it(text, pattern, specials, block_bytes, sizes):
    pieces, rest = [], text
    for size in sizes:
        pieces, rest = [*pieces, rest[:size]], rest[size:]
    finder = SafeCuts(pattern, specials).find_last
    blocks = [*cut_into_blocks([*pieces, rest], finder, block_bytes)]
    assert b"".join(blocks) == text
    assert all(blocks)
    assert sum((count(block, pattern, specials) for block in blocks), Counter()) == count(text, pattern, specials)


def test_a_block_is_held_only_up_to_the_next_cut():
    pieces = [b"low lower "] * 100
    blocks = [*cut_into_blocks(pieces, SafeCuts("gpt2", []).find_last, 25)]
    assert max(map(len, blocks)) <= 35


@given(st.lists(st.sampled_from([*"<x>y你é ", *SPECIALS]), max_size=20).map("".join), special_tokens)
def test_text_is_split_at_special_tokens_longest_first(text, specials):
    longest_first = "|".join(map(re.escape, sorted(specials, key=len, reverse=True)))
    expected = [piece.encode() for piece in (re.split(longest_first, text) if specials else [text])]
    encoded = text.encode()
    spans = spans_between(special_token_finder(specials), encoded)
    assert [encoded[start:stop] for start, stop in spans] == expected


def test_special_tokens_are_not_regular_expressions():
    spans = spans_between(special_token_finder([".", "b*"]), b"a.b*c")
    assert [*spans] == [(0, 1), (2, 2), (4, 5)]


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(data, patterns, special_tokens, st.integers(1, 60), st.sampled_from([2, 3, 5, 17, 1 << 16]))
def test_documents_lie_between_special_tokens_or_are_parts(text, pattern, specials, limit, step):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_bpe.encoding._cuts.safe._STEP", step)
        spans = [*cut_into_documents(text, 0, None, pattern, specials, limit)]
    documents = [text[start:stop] for start, stop in spans]
    assert all(documents)
    assert count_pre_tokens(documents, pattern) == count(text, pattern, specials)
    whole = [text[start:stop] for start, stop in spans_between(special_token_finder(specials), text)]
    assert b"".join(documents) == b"".join(whole)


def test_a_long_document_is_cut_where_the_pattern_is_known():
    text = b"low, lower\n" * 1000
    sizes = [stop - start for start, stop in cut_into_documents(text, 0, None, "gpt2", [], 40)]
    assert 40 <= max(sizes) <= 40 + len(b"low, lower\n")
    for pattern in (None, r"\w+"):
        assert [*cut_into_documents(text, 0, None, pattern, [], 40)] == [(0, len(text))]


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(data, patterns, special_tokens, st.lists(st.integers(1, 200), max_size=6), st.integers(1, 60))
@example(b"low<x>lower", "gpt2", ["<x>"], [3, 4, 5, 6], 9)
@example(b"low<x", "gpt2", ["<x>"], [3, 4, 5], 9)
@example(b"yyyyy", "gpt2", ["yy"], [1, 2, 3, 4], 9)
@example("你你".encode() + b" ", "gpt2", [], [1, 2, 3, 4, 5, 6], 9)
def test_ranges_wherever_they_begin_sum_to_the_whole(text, pattern, specials, places, limit):
    total = Counter()
    bounds = sorted({place for place in places if place < len(text)})
    for start, stop in pairwise([0, *bounds, None]):
        spans = cut_into_documents(text, start, stop, pattern, specials, limit)
        total += count_pre_tokens([text[first:last] for first, last in spans], pattern)
    assert total == count(text, pattern, specials)


def test_a_range_beyond_the_end_is_empty():
    assert [*cut_into_documents(b"low lower", 20, 30, "gpt2", [], 9)] == []
