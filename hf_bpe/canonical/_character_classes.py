"""The classes of characters that named patterns tell apart, from the tables of Unicode 16.0, and ends of pre-tokens.

Some ends two characters alone decide, so they can be read from the end of a text, wherever it begins. Splitting the end
would not find them: an end that begins inside a run of digits, a word or a character is split in other places than the
whole text.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import regex

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
    """Return the bytes that complete an incomplete character, one completion for each class of characters."""
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


# No pre-token of a pattern with a scanner has these characters side by side (docs/explanation/algorithm.md, part 13):
# - a letter, and anything but a letter or a mark. But o200k continues a word with an apostrophe, and kimi-k2 with Han.
# - a number, and any other character except a space before it. But kimi-k2 joins Han numbers to letters.
# - a line break, and a character that is not white space. But o200k joins slashes to line breaks.
# - a character that is not white space, and white space other than a line break.
# Of C only white space is among them: the surrogates in it stand for the bytes of incomplete characters.
_BOUNDARY = regex.compile(
    r"""(?V1)\p{L}[^\p{L}\p{M}[\p{C}--\s]\p{Han}'] | [\p{N}--\p{Han}][^\p{N}[\p{C}--\s]]
    | [^\s\p{N}\p{C}][\p{N}--\p{Han}] | [\r\n][^\s/\p{C}] | [^\s\p{C}][\s--[\r\n]]""",
    regex.VERBOSE,
)


@lru_cache(maxsize=1)
def _are_boundaries() -> npt.NDArray[np.bool_]:
    """Return for each two classes of characters whether a pre-token ends between them."""
    marks = np.zeros((256, 256), bool)
    members = {number: char.decode() for number, char in class_members().items()}
    for first, left in members.items():
        for second, right in members.items():
            marks[first, second] = _BOUNDARY.fullmatch(left + right) is not None
    return marks


def find_last_boundary(data: bytes) -> int:
    r"""Return the last position at which a pre-token ends in every text that has these bytes; 0 if none is known.

    >>> find_last_boundary(b"\x98" + b"11a"), find_last_boundary(b"111"), find_last_boundary("a\xe9".encode()[:2])
    (3, 0, 0)
    """
    text = data.decode("utf-8", "surrogateescape")
    classes = class_array()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")]
    places = np.flatnonzero(_are_boundaries()[classes[:-1], classes[1:]])
    return len(text[: places[-1] + 1].encode("utf-8", "surrogateescape")) if len(places) else 0
