"""The arguments of seeded stochastic encoding, and what bulk methods and calls make of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_bpe._native_core import require_core
from hf_bpe._utils.arguments import (
    MAX_INT64,
    MAX_UINT64,
    Check,
    check_int,
    check_real,
    check_sequence,
    optional,
    short_repr,
)
from hf_bpe.reference._dropout import Dropout, dropout_limits

if TYPE_CHECKING:
    from hf_bpe.encoding._encoder import Options

NAMES = ("dropout", "seed", "first_text")


def check_seed(name: str, value: Any) -> int:
    """Return a seed of 64 bits.

    >>> check_seed("seed", -1)
    Traceback (most recent call last):
    ValueError: seed: expected at least 0, got -1
    """
    return check_int(name, value, 0, MAX_UINT64)


def _check_probability(name: str, value: Any) -> float:
    number = check_real(name, value, 0)
    if number > 1:
        raise ValueError(f"{name}: expected at most 1, got {short_repr(value)}")
    return number


def _check_first_text(name: str, value: Any) -> int | list[int]:
    if hasattr(type(value), "__index__") and not hasattr(value, "__len__"):
        return check_int(name, value, 0, MAX_INT64)
    numbers = check_sequence(name, value, "the number of the first text, or a list with that of each")
    return [check_int(f"{name}[{at}]", number, 0, MAX_INT64) for at, number in enumerate(numbers)]


ARGUMENTS: dict[str, Check] = {
    "dropout": optional(_check_probability),
    "seed": optional(check_seed),
    "first_text": optional(_check_first_text),
}
"""Checks of the arguments."""


class Randomness(NamedTuple):
    """The settings of encoding at random."""

    dropout: float = 0.0  # the probability with which BPE-dropout skips a candidate; 0 for none
    seed: int = 0
    first_text: int | Sequence[int] = 0  # the number of the first text, or a list with that of each

    @classmethod
    def from_arguments(
        cls,
        dropout: float | None,
        seed: int | None,
        first_text: int | Sequence[int] | None = None,
    ) -> Randomness:
        """Return the value of arguments checked one by one; a ValueError for a seed without dropout or the reverse."""
        if dropout is None:
            for name, value in (("seed", seed), ("first_text", first_text)):
                if value is not None:
                    raise ValueError(f"{name}: expected dropout with it, got none")
            return cls()
        require_core("dropout")
        if seed is None:
            raise ValueError("seed: expected an int, got None; dropout needs one, to give the same ids again")
        return cls(dropout, seed, 0 if first_text is None else first_text)

    def numbers(self, texts: int) -> Sequence[int]:
        """Return the numbers of texts, given how many there are; a ValueError if `first_text` does not fit."""
        if isinstance(self.first_text, int):
            if texts > 0:
                check_int("first_text: the number of the last text", self.first_text + texts - 1, 0, MAX_INT64)
            return range(self.first_text, self.first_text + texts)
        if len(self.first_text) != texts:
            raise ValueError(f"first_text: expected a number for each of {texts} texts, got {len(self.first_text)}")
        return self.first_text

    def options(self, options: Options, texts: int) -> Options:
        """Return options with the dropout of texts, given how many there are."""
        numbers = self.numbers(texts)
        if self.dropout == 0:
            return options
        dropout = Dropout(self.seed, dropout_limits(self.dropout))
        if isinstance(numbers, range):
            return options._replace(dropout=dropout._replace(first_text=numbers.start))
        return options._replace(dropout=dropout.at(*((number, 0) for number in numbers)))


def options_of_call(options: Options, arguments: dict[str, Any], texts: int) -> Options:
    """Return the options of a call, and remove the arguments of randomness from its arguments."""
    if arguments.keys().isdisjoint(NAMES):
        return options  # what nearly all calls need, without the checks
    values = {name: ARGUMENTS[name](name, arguments.pop(name, None)) for name in NAMES}
    return Randomness.from_arguments(**values).options(options, texts)


def refuse_randomness(arguments: Iterable[str]) -> None:
    """Raise a TypeError if the arguments of a call of `BPETokenizerFast` ask for what only `BPETokenizer` does."""
    for name in arguments:
        if name in NAMES:
            raise TypeError(f"{name}: only BPETokenizer encodes at random; load the tokenizer as that class")
