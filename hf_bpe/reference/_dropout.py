"""The definition of seeded stochastic encoding: BPE-dropout with a counter-based generator.

A random number depends on the seed, the number of the text, and a place in the text, and on nothing else: neither on
other texts nor on the order in which texts are encoded.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

_BITS = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15
_LIMITS = 64  # candidates that one random number decides on


class Dropout(NamedTuple):
    """BPE-dropout of several texts."""

    seed: int  # 64 bits
    limits: tuple[int, ...]  # see `dropout_limits`
    first_text: int = 0  # the number of the first text; the others follow
    # For each text its number and the position of its first byte, instead of consecutive numbers and 0
    places: tuple[tuple[int, int], ...] | None = None

    def place(self, index: int) -> tuple[int, int]:
        """Return the number of the text with an index, and the position of its first byte."""
        return (self.first_text + index, 0) if self.places is None else self.places[index]

    def at(self, *places: tuple[int, int]) -> Dropout:
        """Return the dropout of texts with other numbers and positions."""
        return self._replace(places=places)

    def draws(self, place: tuple[int, int]) -> Draws:
        """Return the draws of the word at a position of a text with some number."""
        number, position = place
        return Draws(text_key(self.seed, number), position, self.limits)


class Draws:
    """The draws of a word: which of the candidates that follow one another are skipped, each with probability p.

    A random number u of 64 bits says how many candidates are kept before the next one is skipped: the number of limits
    that are greater than u, so at least k with probability (1 - p)^k. If all are, that many are kept, and the next
    random number continues. The numbers of the word at a position are u₀ = mix(key + position · step) and
    uᵢ = mix(u₀ + i · step).

    Args:
        key: the `text_key` of the text.
        position: that of the first byte of the word; it may be -1, that of a prefix space.
        limits: see `dropout_limits`.
    """

    def __init__(self, key: int, position: int, limits: Sequence[int]) -> None:
        self._first = mix(key + position * _STEP)
        self._limits = limits
        self._number = 0
        self._count()

    def is_skipped(self) -> bool:
        """Draw the next candidate."""
        while self._kept == 0:
            is_skip = not self._keeps_all
            self._number += 1
            self._count()
            if is_skip:
                return True
        self._kept -= 1
        return False

    def _count(self) -> None:
        number = self._first if self._number == 0 else mix(self._first + self._number * _STEP)
        self._kept = sum(number < limit for limit in self._limits)
        self._keeps_all = self._kept == len(self._limits)


def mix(number: int) -> int:
    """Return a hash of the last 64 bits of a number: the output function of SplitMix64 (Steele and others, 2014).

    >>> hex(mix(1))
    '0x5692161d100b05e5'
    """
    number &= _BITS
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & _BITS
    number = (number ^ number >> 27) * 0x94D049BB133111EB & _BITS
    return number ^ number >> 31


def text_key(seed: int, number: int) -> int:
    """Return what the random numbers of a text are derived from."""
    return mix(mix(seed + _STEP) + number * _STEP)


@functools.lru_cache(maxsize=16)
def dropout_limits(probability: float) -> tuple[int, ...]:
    """Return ⌊2⁶⁴ (1 - p)ᵏ⌋ for k from 1 to 64, where p is greater than 0.

    >>> [limit / 2**64 for limit in dropout_limits(0.5)[:3]]
    [0.5, 0.25, 0.125]
    """
    kept = 1 - Fraction(probability)
    return tuple(int(kept**k * 2**64) for k in range(1, _LIMITS + 1))


def merge_with_dropout(symbols: list[int], ranks: Mapping[tuple[int, int], tuple[int, int]], draws: Draws) -> list[int]:
    """Merge symbols with BPE-dropout: as in encoding, but at each step each candidate is skipped with probability p.

    The candidates of a step are all adjacent pairs, each at its place, that a merge applies to. Of those that are not
    skipped, the one of lowest rank, leftmost first, is merged; the next step draws all candidates again. The end is
    reached when all are skipped, or none is left. A candidate of higher rank than the one merged makes no difference in
    its step and takes no draw. `ranks` has the rank and the result of the merge of each pair.

    Source: Provilkov, Emelianenko and Voita, "BPE-Dropout: Simple and Effective Subword Regularization" (2020),
    algorithm 1; as in `tokenizers`, one place is merged at a step.

    >>> ranks = {(1, 1): (0, 2), (2, 1): (1, 3)}
    >>> [merge_with_dropout([1, 1, 1], ranks, Draws(0, at, dropout_limits(0.5))) for at in range(5)]
    [[3], [1, 1, 1], [2, 1], [3], [1, 2]]
    """
    symbols = [*symbols]
    places = [*range(len(symbols))]  # of the symbols, in order; a merge keeps the left place
    at = dict(enumerate(symbols))

    def candidate(index: int) -> tuple[int, int] | None:
        if not 0 <= index < len(places) - 1:
            return None
        merge = ranks.get((at[places[index]], at[places[index + 1]]))
        return None if merge is None else (merge[0], places[index])

    candidates = sorted(pair for pair in map(candidate, places) if pair is not None)
    while True:
        chosen = next((pair for pair in candidates if not draws.is_skipped()), None)
        if chosen is None:
            return [at[place] for place in places]
        index = bisect.bisect_left(places, chosen[1])
        around = range(index - 1, index + 2)
        for pair in map(candidate, around):
            if pair is not None:
                del candidates[bisect.bisect_left(candidates, pair)]
        at[places[index]] = ranks[at[places[index]], at[places[index + 1]]][1]
        del places[index + 1]
        for pair in map(candidate, around[:2]):
            if pair is not None:
                bisect.insort(candidates, pair)
