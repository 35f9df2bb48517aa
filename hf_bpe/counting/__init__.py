"""Counting: from files, datasets and iterables of text to the number of occurrences of each pre-token."""

from hf_bpe.counting._count import count
from hf_bpe.counting._sources import Source, plan
from hf_bpe.counting._word_counts import WordCounts

__all__ = ["Source", "WordCounts", "count", "plan"]
