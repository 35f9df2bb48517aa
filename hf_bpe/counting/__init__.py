"""Counting of pre-tokens in files, datasets and iterables of text."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports
from hf_bpe.counting._count import count
from hf_bpe.counting._sources import Source, plan
from hf_bpe.counting._word_counts import WordCounts

if TYPE_CHECKING:
    from hf_bpe.counting._normalized_texts import NormalizedTexts

__all__ = ["NormalizedTexts", "Source", "WordCounts", "count", "plan"]

# Normalizing takes numpy and tokenizers, which counting does not need.
__getattr__, __dir__ = lazy_exports(__name__, {"NormalizedTexts": "hf_bpe.counting._normalized_texts"})
