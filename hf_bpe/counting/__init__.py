"""Counting of pre-tokens in files, datasets and iterables of text."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.counting._count import count
    from hf_bpe.counting._normalized_texts import NormalizedTexts
    from hf_bpe.counting._sources import Source, plan
    from hf_bpe.counting._word_counts import WordCounts

__all__ = ["NormalizedTexts", "Source", "WordCounts", "count", "plan"]

# The names of options and sources need less than counting does.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_count": "count",
        "_normalized_texts": "NormalizedTexts",
        "_sources": "Source plan",
        "_word_counts": "WordCounts",
    },
)
