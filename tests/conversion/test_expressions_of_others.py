"""Expressions are written for minbpe and tiktoken only if they split every text as they do here."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe.conversion._expressions import check_means_the_same
from hf_bpe.pretokenizers import PATTERNS, split
from hf_bpe.pretokenizers._regex.dialects import PYTHON
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer
from support.strategies import texts

SAME = [
    *PATTERNS,
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|k)|\p{Han}+|\d+|\D",
    r"a*+[^a]|a+",
]


@pytest.mark.parametrize("pattern", SAME)
def test_common_expressions_are_written(pattern):
    check_means_the_same(pattern, PYTHON)


@given(st.sampled_from(SAME[len(PATTERNS) :]), texts)
def test_written_expressions_split_any_text_alike_in_python(pattern, text):
    check_means_the_same(pattern, PYTHON)
    text = hide_newer(text)  # `regex` may know characters beyond Unicode 16.0
    assert [*filter(None, regex.findall(pattern, text))] == split(text, pattern)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (r"\w+|\W", r"has '\\\\w', which minbpe may read differently"),  # there with joiners
        (r"\p{L}+", "may leave text between its matches, such as ' '"),
        (r"\p{L}*|\P{L}", "may match no character"),
        (r"[\s\S&&[^a]]|a", "has '&& in a class', which minbpe may read differently"),
        (r"^a|.|\n", "may read differently"),
        (r"a$|.|\n", "may read differently"),
        (r"\p{N}{1,3}+|\P{N}", "may read differently"),
        (r"[[:alpha:]]|.|\n", "may read differently"),
        (r"(?m:.)|\n", "may read differently"),
    ],
)
def test_other_expressions_are_refused_by_name(pattern, message):
    with pytest.raises(ValueError, match=message):
        check_means_the_same(pattern, PYTHON)
