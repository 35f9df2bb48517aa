"""Ends of pre-tokens that two characters alone decide, so they can be read from the end of a text, wherever it begins.

Splitting the end would not find them: an end that begins inside a run of digits, a word or a character is split in
other places than the whole text.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt
import regex

from hf_bpe.canonical._character_classes import class_array, class_members

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

    Args:
        data: a part of a text, which may begin and end inside a character.

    >>> find_last_boundary(b"\x98" + b"11a"), find_last_boundary(b"111"), find_last_boundary("a\xe9".encode()[:2])
    (3, 0, 0)
    """
    text = data.decode("utf-8", "surrogateescape")
    classes = class_array()[np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")]
    places = np.flatnonzero(_are_boundaries()[classes[:-1], classes[1:]])
    return len(text[: places[-1] + 1].encode("utf-8", "surrogateescape")) if len(places) else 0
