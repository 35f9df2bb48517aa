"""Compression curves: compression by vocabulary size, for all sizes from one encoding.

Wherever a token occurs, exactly the merges of its tree have made it. So the counts of the tokens give the counts of the
merges. If the parts of each merge are made by earlier merges, encoding applies the merges in their order, so a model
with only the first merges applies these equally often. The number of tokens is the number of bytes minus the number of
applied merges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._merge_trees import parts_of_tokens, unreachable

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CompressionCurve:
    """The number of tokens of a text as a function of the vocabulary size.

    Attributes:
        smallest: the smallest size, which is the number of tokens that no merge makes.
        bytes: number of bytes of the text.
        tokens: number of tokens of the text with the first 0, 1, 2, … merges.
    """

    smallest: int
    bytes: float
    tokens: Numbers

    @property
    def largest(self) -> int:
        """The size of the whole vocabulary."""
        return self.smallest + len(self.tokens) - 1

    def tokens_at(self, vocab_size: int) -> float:
        """Return the number of tokens of the text with a vocabulary of this size.

        Raises:
            ValueError: the vocabulary cannot be truncated to this size.
        """
        if not isinstance(vocab_size, int) or not self.smallest <= vocab_size <= self.largest:
            raise ValueError(f"vocab_size: expected {self.smallest} to {self.largest}, got {vocab_size!r}")
        return float(self.tokens[vocab_size - self.smallest])

    def sizes(self, number: int = 60) -> list[int]:
        """Return about `number` sizes from the smallest to the largest, in geometric progression."""
        steps = np.geomspace(max(self.smallest, 1), max(self.largest, 1), number).round().astype(int)
        return sorted({int(size) for size in steps if self.smallest <= size <= self.largest} | {self.largest})

    def round_sizes(self) -> list[int]:
        """Return the sizes for a table: 500, 1000, 2000 and so on, and the size of the whole vocabulary.

        >>> CompressionCurve(257, 10.0, np.ones(8_000)).round_sizes()
        [500, 1000, 2000, 4000, 8256]
        """
        doubling = [500 << step for step in range(20)]
        return [*(size for size in doubling if self.smallest <= size <= 0.95 * self.largest), self.largest]


class Merges:
    """The merges of a model, from which compression curves are computed.

    Attributes:
        why_no_curve: the reason why the model has no compression curve; empty if it has one.
    """

    def __init__(self, model: BPEModel) -> None:
        self.why_no_curve = _why_no_curve(model)
        if self.why_no_curve:
            return
        ids = [*model.vocab]
        place_of = {token_id: place for place, token_id in enumerate(ids)}
        parts = parts_of_tokens(model)
        longest_first = sorted(parts, key=lambda token_id: -len(model.vocab[token_id]))
        self._trees = [(place_of[token], *map(place_of.__getitem__, parts[token])) for token in longest_first]
        tokens = {token: place for place, token in enumerate(model.vocab.values())}
        self._made = [tokens[first + second] for first, second in model.merges]
        self._smallest = model.vocab_size - len(self._made)

    def compression_curve(self, usage: Numbers, bytes: float) -> CompressionCurve | None:
        """Return the compression curve of a text; None if the model has none.

        Args:
            usage: how often each token occurs, in the order of the ids; further elements are ignored.
            bytes: the number of bytes of the text.
        """
        if self.why_no_curve:
            return None
        done = usage.tolist()
        for token, first, second in self._trees:
            done[first] += done[token]
            done[second] += done[token]
        saved = np.cumsum([0.0, *(done[place] for place in self._made)])
        return CompressionCurve(self._smallest, bytes, bytes - saved)


def _why_no_curve(model: BPEModel) -> str:
    if model.ignore_merges and unreachable(model):
        return "whole words become tokens that its merges do not make"
    last_made = {first + second: rank for rank, (first, second) in enumerate(model.merges)}
    if len(last_made) < len(model.merges):
        return "several of its merges make the same token"
    for rank, (first, second) in enumerate(model.merges):
        if max(last_made.get(first, -1), last_made.get(second, -1)) > rank:
            return "its merges are not in the order in which they can be made"
    return ""
