"""Measure how a tokenizer encodes counted text: each distinct pre-token, times its number of occurrences.

Only sums are kept, so memory does not grow with the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hf_bpe.analysis._report.scripts import SCRIPTS, classify_all
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder

Sums = npt.NDArray[np.float64]

# The columns of the sums.
BYTES, CHARACTERS, TOKENS, WORDS, WORD_TOKENS, ONE_TOKEN = range(6)


class Totals:
    """Sums over a group of texts for one tokenizer.

    Numbers are float64, which is exact for integers up to 2**53.

    Attributes:
        sums: a row for each of `SCRIPTS`, and a column for each summed quantity.
        usage: how often each token occurs, in the order of the ids; the last element counts bytes without a token.
    """

    def __init__(self, vocab_size: int) -> None:
        self.sums: Sums = np.zeros((len(SCRIPTS), 6))
        self.usage: Sums = np.zeros(vocab_size + 1)

    def __add__(self, other: Totals) -> Totals:
        total = Totals(len(self.usage) - 1)
        total.sums = self.sums + other.sums
        total.usage = self.usage + other.usage
        return total


class Measure:
    """Encode the pre-tokens of counts with a model in several threads."""

    def __init__(self, model: BPEModel, threads: int) -> None:
        # Text was already split and normalized for counting.
        self._encoder = make_encoder(replace(model, pattern=None, normalizer=None))
        self._ids = np.array([*model.vocab], np.int64)
        self._unknown = max(model.vocab, default=-1) + 1
        self._threads = threads

    def add(self, totals: Totals, words: Sequence[bytes], counts: Sums, kinds: npt.NDArray[np.int64]) -> None:
        """Add the encodings of words to totals.

        Args:
            totals: the totals for a vocabulary of this size.
            words: pre-tokens.
            counts: how often each occurs.
            kinds: the result of `classify_all` for the words.
        """
        ids, offsets = self._encoder.encode_to_numpy([*words], Options(unknown_id=self._unknown), self._threads)
        lengths = np.diff(offsets)
        places = np.searchsorted(self._ids, ids.astype(np.int64))
        totals.usage += np.bincount(places, np.repeat(counts, lengths), len(totals.usage))
        size, characters, is_word, script = kinds.T
        for column, values in enumerate(
            (size, characters, lengths, is_word, is_word * lengths, is_word * (lengths == 1))
        ):
            totals.sums[:, column] += np.bincount(script, values * counts, len(SCRIPTS))


def measure(counts: WordCounts, measures: Sequence[Measure], all_totals: Sequence[Totals]) -> None:
    """Add counts to the totals of each model; properties of the words are computed once for all models."""
    for words, numbers in counts.batches():
        weights = np.array(numbers, np.float64) / counts.scale
        kinds = classify_all(words)
        for model, totals in zip(measures, all_totals, strict=True):
            model.add(totals, words, weights, kinds)
