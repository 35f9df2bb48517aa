"""The list of differences: each has its sentence in the documentation, and each is seen."""

from pathlib import Path

import pytest
from contract.authorities import AUTHORITIES, FAST
from contract.comparisons import OF_TRANSFORMERS, Case
from contract.differences import DIFFERENCES, documented
from contract.loading import compared_values, load, made
from contract.own_methods import OF_BPE_TOKENIZER
from contract.run import Raised, seen

PAGE = Path(__file__).parents[2] / "docs/how-to/use-with-transformers.md"
LOADED = {
    "RoBERTa": ("from_pretrained", "convert_from(file)"),
    "train": ("from_pretrained",),
    "unk_token": ("convert_from(file)",),
    "unk_token of the model alone": ("from_pretrained",),
    "padding and truncation": ("convert_from(file)",),
    "unused ids": ("from_pretrained",),
    "GPT-2's files, small": ("from_pretrained(two files)",),
}
"""Artifacts and ways to load that show all differences."""
MAY_RAISE = ("empty_batch", "chats_of_objects", "sanitized_chats")
"""What some versions of transformers, or all, refuse or do not have."""


def test_differences_have_their_sentences_in_the_documentation():
    if not PAGE.exists():
        pytest.skip("the documentation is not here")
    section = " ".join(PAGE.read_text(encoding="utf-8").split("## What differs from a fast tokenizer")[1].split())
    assert [each.docs for each in DIFFERENCES if " ".join(each.docs.split()) not in section] == []


def test_every_difference_is_seen():
    values = (
        value
        for artifact, ways in LOADED.items()
        for way in ways
        for value in compared_values(artifact, way, load(artifact, way), "quick")
    )
    found = {documented(value) for value in values if value is not None}
    assert [each for each in DIFFERENCES if each not in found] == []


def test_comparisons_see_something():
    """Two errors are no difference, so a comparison that always raises would pass."""
    authority, ours = AUTHORITIES[FAST](made("train")), load("train", "from_pretrained")
    case = Case("the low  lowest", "newest", tuple(authority.encode("the low")))
    for name, comparison in {**OF_TRANSFORMERS, **OF_BPE_TOKENIZER}.items():
        values = seen(comparison.see, authority, case), seen(comparison.see_ours, ours, case)
        for value in values if name not in MAY_RAISE else ():
            assert value, name
            assert not isinstance(value.get("error"), Raised), (name, value)
