"""Expressions are written for tiktoken only if it splits every text by them as hf_bpe does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe.conversion._expressions import check_means_the_same
from hf_bpe.pretokenizers import PATTERNS, Pattern, split
from support.strategies import texts
from support.tiktoken_matches import matches_of_tiktoken

SAME = [
    *PATTERNS,
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|k)|\p{Han}+|\d+|\D",
    r"a*+[^a]|a+",
    r"[\s\S&&[^a]]|a",
]


@pytest.mark.parametrize("pattern", SAME)
def test_common_expressions_are_written(pattern):
    check_means_the_same(Pattern.read(pattern))


@given(st.sampled_from(SAME[len(PATTERNS) :]), texts.filter(lambda text: 0 < len(text) < 40))
def test_written_expressions_split_any_text_alike(pattern, text):
    check_means_the_same(Pattern.read(pattern))
    assert matches_of_tiktoken(text, pattern) == split(text, pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"\w+|\W", r"has '\\\\w', which tiktoken may read differently"),  # there with joiners
        (r"\p{L}+", "may leave text between its matches, such as ' '"),
        (r"\p{L}*|\P{L}", "may match no character"),
        (r"[a-z--b]|[\s\S]", "has '-- in a class', which tiktoken may read differently"),
        (r"^a|.|\n", "may read differently"),
        (r"a$|.|\n", "may read differently"),
        (r"\p{N}{1,3}+|\P{N}", "may read differently"),
        (r"[[:alpha:]]|.|\n", "may read differently"),
        (r"(?m:.)|\n", "may read differently"),
    ],
)
def test_other_expressions_are_refused_by_name(pattern, message):
    with pytest.raises(ValueError, match=message):
        check_means_the_same(Pattern.read(pattern))
