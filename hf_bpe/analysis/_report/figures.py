"""Figures of a text and its tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe.analysis._report.measuring import BYTES, CHARACTERS, ONE_TOKEN, TOKENS, WORD_TOKENS, WORDS

RENYI_ORDER = 2.5
_RATIOS = ("bytes_per_token", "characters_per_token", "tokens_per_character", "tokens_per_word", "share_in_one_token")


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


def with_parity(rows: Sequence[Figures], reference: str, *, translations: bool = False) -> tuple[Figures, ...]:
    """Return the figures with parity: tokens per character, or tokens of parallel texts, relative to the reference."""
    cost = {row.name: row.tokens if translations else row.tokens_per_character for row in rows}
    return tuple(replace(row, parity=ratio(cost[row.name], cost[reference])) for row in rows)


def efficiency(usage: npt.NDArray[np.float64], vocab_size: int, order: float = 1.0) -> float | None:
    """Return the Rényi efficiency: the entropy of the token distribution divided by that of a uniform one.

    With order 1 this is the Shannon entropy. Source: Zouhar et al., "Tokenization and the Noiseless Channel", 2023, who
    propose the order 2.5.

    Args:
        usage: how often each token occurs.
        vocab_size: number of tokens of the vocabulary.
        order: the order of the entropy.

    >>> efficiency(np.array([1.0, 1.0, 1.0, 1.0]), 4, RENYI_ORDER)
    1.0
    """
    if usage.sum() == 0 or vocab_size < 2:
        return None
    shares = usage[usage > 0] / usage.sum()
    if order == 1:
        entropy = -float(np.sum(shares * np.log(shares)))
    else:
        entropy = math.log(float(np.sum(shares**order))) / (1 - order)
    return entropy / math.log(vocab_size)


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
