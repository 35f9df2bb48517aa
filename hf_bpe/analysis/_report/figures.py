"""Figures of a text and its tokens, and compression curves.

A curve has the compression for all sizes of a vocabulary, from one encoding. Wherever a token occurs, exactly the
merges of its tree have made it. So the counts of the tokens give the counts of the merges. If the parts of each merge
are made by earlier merges, encoding applies the merges in their order, so a model with only the first merges applies
these equally often. The number of tokens is the number of bytes minus the number of applied merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe.analysis._report.measuring import BYTES, CHARACTERS, ONE_TOKEN, TOKENS, WORD_TOKENS, WORDS
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._merge_trees import parts_of_tokens, unreachable

Floats = npt.NDArray[np.float64]
_RATIOS = ("bytes_per_token", "characters_per_token", "tokens_per_character", "tokens_per_word", "share_in_one_token")


BETTER = {
    "bytes per token": "higher",
    "characters per token": "higher",
    "tokens per word": "lower",
    "words in one token": "higher",
    "tokens": "lower",
    "parity": "lower",
}
"""The direction of a figure that means fewer tokens."""

MEANINGS = {
    "bytes per token": "bytes of UTF-8 divided by tokens: the compression.",
    "characters per token": "Unicode characters divided by tokens, to compare scripts.",
    "tokens per word": "tokens of words divided by words: the fertility. Words are pre-tokens with a letter or number.",
    "words in one token": "the share of words that are a single token.",
    "parity": "tokens per character relative to the reference. Above 1 a text costs more than the reference.",
    "first tokens": "the compression with the first merges only, as if trained to that size.",
    "never used": "tokens that do not occur in the text.",
    "unreachable": "tokens that no merges make from their own bytes.",
    "special tokens": "are left out of text and tokens.",
}
"""The meaning of each figure."""


@dataclass(frozen=True)
class Figures:
    """Figures of how a tokenizer encodes a text. A ratio without a denominator is None.

    Attributes:
        name: the name of the text.
        bytes, characters: the size of the text without special tokens.
        tokens: number of tokens.
        words: number of pre-tokens that hold a letter or a number; None if text is not split into pre-tokens.
        word_tokens: number of tokens of the words.
        words_in_one_token: number of words that become one token.
        parity: tokens relative to the reference, see `hf_bpe.analysis.report`; None without a reference.
    """

    name: str
    bytes: float
    characters: float
    tokens: float
    words: float | None
    word_tokens: float | None
    words_in_one_token: float | None
    parity: float | None = None

    @classmethod
    def of(cls, name: str, sums: npt.NDArray[np.float64], has_words: bool) -> Figures:
        """Return the figures for a row of `Totals.sums`."""
        words = [whole(sums[column]) if has_words else None for column in (WORDS, WORD_TOKENS, ONE_TOKEN)]
        return cls(name, whole(sums[BYTES]), whole(sums[CHARACTERS]), whole(sums[TOKENS]), *words)

    @property
    def bytes_per_token(self) -> float | None:
        """Compression in bytes per token."""
        return ratio(self.bytes, self.tokens)

    @property
    def characters_per_token(self) -> float | None:
        """Compression in characters per token, which is comparable across scripts."""
        return ratio(self.characters, self.tokens)

    @property
    def tokens_per_character(self) -> float | None:
        """The inverse of characters per token."""
        return ratio(self.tokens, self.characters)

    @property
    def tokens_per_word(self) -> float | None:
        """Fertility: tokens per word."""
        return ratio(self.word_tokens, self.words)

    @property
    def share_in_one_token(self) -> float | None:
        """The share of all occurrences of words that become one token."""
        return ratio(self.words_in_one_token, self.words)

    def as_json(self) -> dict[str, Any]:
        """Return numbers and ratios as JSON values."""
        return {**vars(self), **{name: getattr(self, name) for name in _RATIOS}}


def with_parity(rows: Sequence[Figures], reference: str) -> tuple[Figures, ...]:
    """Return the figures with parity: tokens per character, relative to the reference."""
    cost = {row.name: row.tokens_per_character for row in rows}
    return tuple(replace(row, parity=ratio(cost[row.name], cost[reference])) for row in rows)


def ratio(number: float | None, by: float | None) -> float | None:
    """Return a quotient, None if it is undefined."""
    return None if number is None or not by else number / by


def whole(number: float) -> float:
    """Return a number as an int if it is integral."""
    number = float(number)
    return int(number) if number.is_integer() else number


def histogram(lengths: Iterable[int], weights: npt.NDArray[np.float64]) -> dict[int, float]:
    """Return a histogram of lengths, from 1 to the longest: length → sum of the weights."""
    sums = np.bincount(np.array([*lengths], np.int64), weights)
    return {length: whole(number) for length, number in enumerate(sums.tolist()) if length > 0}


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
    tokens: Floats

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


def compression_curves(model: BPEModel, texts: Iterable[tuple[Floats, float]]) -> list[CompressionCurve]:
    """Return the curve of each text, given how often each token occurs, and the bytes; none if `why_no_curve`."""
    if why_no_curve(model):
        return []
    place_of = {token_id: place for place, token_id in enumerate(model.vocab)}
    parts = parts_of_tokens(model)
    longest_first = sorted(parts, key=lambda token_id: -len(model.vocab[token_id]))
    trees = [(place_of[token], *map(place_of.__getitem__, parts[token])) for token in longest_first]
    tokens = {token: place for place, token in enumerate(model.vocab.values())}
    made = [tokens[first + second] for first, second in model.merges]
    curves = []
    for usage, bytes in texts:
        done = usage.tolist()
        for token, first, second in trees:
            done[first] += done[token]
            done[second] += done[token]
        saved = np.cumsum([0.0, *(done[place] for place in made)])
        curves.append(CompressionCurve(model.vocab_size - len(made), bytes, bytes - saved))
    return curves


def why_no_curve(model: BPEModel) -> str:
    """Return the reason why a model has no compression curve; "" if it has one."""
    if model.ignore_merges and unreachable(model):
        return "whole words become tokens that its merges do not make"
    last_made = {first + second: rank for rank, (first, second) in enumerate(model.merges)}
    if len(last_made) < len(model.merges):
        return "several of its merges make the same token"
    for rank, (first, second) in enumerate(model.merges):
        if max(last_made.get(first, -1), last_made.get(second, -1)) > rank:
            return "its merges are not in the order in which they can be made"
    return ""
