"""The list of differences: each has its sentence in the documentation, and each is seen."""

from pathlib import Path

import pytest
from contract.differences import DIFFERENCES

PAGE = Path(__file__).parents[2] / "docs/how-to/use-with-transformers.md"


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: each.comparisons[0])
def test_difference_has_its_sentence_in_the_documentation(difference):
    if not PAGE.exists():
        pytest.skip("the documentation is not here")
    section = PAGE.read_text(encoding="utf-8").split("## What differs from a fast tokenizer")[1]
    assert " ".join(difference.docs.split()) in " ".join(section.split())
