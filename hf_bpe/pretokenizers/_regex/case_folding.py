"""The characters that differ only in case, as Oniguruma takes `(?i)`, with the data of Unicode 16.0."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache

import regex

from hf_bpe.pretokenizers._regex.properties import unassigned

_CASED = regex.compile(r"[\p{Changes_When_Casefolded}\p{Changes_When_Casemapped}]")
# `regex` takes i, I, İ and ı for variants of each other, because of Turkish; Unicode's default folding does not.
_DOTTED = {"i": "iI", "I": "iI", "ı": "ı"}


@lru_cache(maxsize=1)
def cased_characters() -> str:
    """Return all characters of Unicode 16.0 that have a variant."""
    return "".join(
        char
        for before, after in zip(((-1, -1), *unassigned()), (*unassigned(), (0x110000, 0)), strict=True)
        for char in _CASED.findall("".join(map(chr, range(before[1] + 1, min(after[0], 0x20000)))))
    )


def cased_between(first: int, last: int) -> list[int]:
    """Return the code points of cased characters in an inclusive range.

    >>> cased_between(0x59, 0x62)
    [89, 90, 97, 98]
    """
    codes = _cased_codes()
    return codes[bisect_left(codes, first) : bisect_right(codes, last)]


@lru_cache(maxsize=1)
def _cased_codes() -> list[int]:
    return [*map(ord, cased_characters())]


@lru_cache(maxsize=4096)
def variant_codes(code: int) -> tuple[int, ...]:
    """Return the code points of a character's variants, sorted; none if it folds to several characters.

    >>> variant_codes(0x4B), variant_codes(0xDF)
    ((75, 107, 8490), ())
    """
    char = chr(code)
    return () if folds_to_several(char) else tuple(sorted(map(ord, case_variants(char))))


@lru_cache(maxsize=4096)
def case_variants(char: str) -> str:
    r"""Return the variants of a character, itself included, of those that fold to one character.

    >>> ascii(case_variants("k")), case_variants("!")
    ("'Kk\\u212a'", '!')
    """
    if char in _DOTTED:
        return _DOTTED[char]
    return "".join(regex.findall(f"(?i){regex.escape(char)}", cased_characters())) or char


def folds_to_several(char: str) -> bool:
    """Is the character, without regard to case, several others, as ß is ss?"""
    return len(char.casefold()) > 1


@lru_cache(maxsize=1)
def sequences_of_one() -> frozenset[str]:
    """Return the folded sequences that are, without regard to case, a single character: ss, ﬁ and 70 others."""
    return frozenset(folded for code in range(0x10000) if len(folded := chr(code).casefold()) > 1)
