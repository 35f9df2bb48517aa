"""Counting of pre-tokens in files, datasets and iterables of text."""

from hf_bpe.counting._count import count
from hf_bpe.counting._normalized_texts import NormalizedTexts
from hf_bpe.counting._sources import Source, plan
from hf_bpe.counting._word_counts import WordCounts

__all__ = ["NormalizedTexts", "Source", "WordCounts", "count", "plan"]
