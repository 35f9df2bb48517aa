"""The classes of characters that named patterns tell apart, from the tables of Unicode 16.0."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hf_bpe.pretokenizers._regex.properties import without_properties
from hf_bpe.pretokenizers._regex.tree import CharacterSet, Property, ranges_of, union_of

_LINE_BREAK = ranges_of(0x0A, 0x0D)
_CLASSES: list[CharacterSet] = [
    _LINE_BREAK,
    ranges_of(0x20),
    Property("White_Space"),
    union_of(Property("Lu"), Property("Lt")),
    Property("Ll"),
    union_of(Property("Lm"), Property("Lo")),
    Property("M"),
    Property("N"),
    union_of(Property("P"), Property("S")),
    Property("Z"),
    Property("Han"),
    ranges_of((0x4E00, 0x9FA5), (0x3040, 0x30FF)),
    ranges_of((0x41, 0x5A), (0x61, 0x7A)),
    ranges_of((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    ranges_of(0x2F),
    ranges_of(0x27),
    Property("C"),
]
# Runs of these may be cut inside: white space, numbers, apostrophes, and what no alternative of a pattern matches.
_COUNTED: list[CharacterSet] = [Property("White_Space"), Property("N"), ranges_of(0x27), Property("C")]

SUFFIXES = frozenset("sdmtlvreSDMTLVRE\u017f")
"""The letters of contractions."""

_CODES = 0x110000
_SURROGATES = slice(0xD800, 0xE000)


@lru_cache(maxsize=1)
def class_array() -> npt.NDArray[np.uint8]:
    """Return the class of each code point, a number."""
    kinds = np.zeros(_CODES, np.uint32)
    for number, members in enumerate(_CLASSES):
        _fill(kinds, members, 1 << number)
    is_present = np.zeros(1 << len(_CLASSES), bool)
    is_present[kinds] = True
    numbers = np.cumsum(is_present) - 1
    assert numbers[-1] < 256
    classes: npt.NDArray[np.uint8] = numbers.astype(np.uint8)[kinds]
    return classes


@lru_cache(maxsize=1)
def class_list() -> list[int]:
    """Return `class_array` as a list, which `str.translate` takes."""
    classes: list[int] = class_array().tolist()
    return classes


@lru_cache(maxsize=1)
def counted_classes() -> frozenset[int]:
    """Return the classes whose runs may be cut inside."""
    is_counted = np.zeros(_CODES, np.uint32)
    for members in _COUNTED:
        _fill(is_counted, members, 1)
    return frozenset(np.unique(class_array()[is_counted == 1]).tolist())


@lru_cache(maxsize=1)
def class_members() -> dict[int, bytes]:
    """Return a character of each class, which is in no contraction."""
    codes = np.arange(_CODES)
    is_chosen = np.ones(_CODES, bool)
    is_chosen[_SURROGATES] = False
    is_chosen[[*map(ord, SUFFIXES)]] = False
    return {kind: chr(code).encode() for kind, code in first_of_classes(codes[is_chosen]).items()}


def first_of_classes(codes: npt.NDArray[np.int64]) -> dict[int, int]:
    """Return the first of some code points in each class."""
    first = np.full(256, -1, np.int64)
    first[class_array()[codes[::-1]]] = codes[::-1]  # of equal indices the last is assigned
    kinds = np.flatnonzero(first >= 0)
    return dict(zip(kinds.tolist(), first[kinds].tolist(), strict=True))


@lru_cache(maxsize=1 << 12)
def completions(partial: bytes) -> tuple[bytes, ...]:
    """Return what makes an incomplete character one of each class."""
    codes = np.arange(*span_of_beginning(partial))
    codes = codes[(codes < _SURROGATES.start) | (codes >= _SURROGATES.stop)]
    return tuple(chr(code).encode()[len(partial) :] for code in sorted(first_of_classes(codes).values()))


def span_of_beginning(partial: bytes) -> tuple[int, int]:
    """Return the range of code points whose UTF-8 begins with an incomplete character; it may have surrogates."""
    size = 2 if partial[0] < 0xE0 else 3 if partial[0] < 0xF0 else 4
    low = partial[0] & (0xFF >> (size + 1))
    for byte in partial[1:]:
        low = low << 6 | byte & 0x3F
    missing = size - len(partial)
    first, stop = low << 6 * missing, (low + 1) << 6 * missing
    return max(first, (0x80, 0x800, 0x10000)[size - 2]), min(stop, _CODES)


def _fill(kinds: npt.NDArray[np.uint32], members: CharacterSet, bits: int) -> None:
    for first, last in without_properties(members).ranges:
        kinds[first : last + 1] |= bits
