"""Where text may be cut so that no count changes, whatever the text and wherever else it is cut.

That is where no special token is across the cut, and either the pattern cannot join what is left and right of it, or a
special token begins there. Both depend on the bytes next to the cut only. So parts of a file can be counted far from
each other, and sum up to the counts of the whole.
"""

from __future__ import annotations

import functools
import heapq
import mmap
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from hf_bpe.core.pretokenizers import PATTERNS, SAFE_CUT_IN_BYTES
from hf_bpe.engine._token_finder import TokenFinder

_FIRST_STEP, _STEP = 1 << 6, 1 << 14  # how far the first look goes, and later ones, each twice as far as that before
_NEVER = re.compile(rb"(?!)")

Bytes = bytes | mmap.mmap
FindLastCut = Callable[[bytes], int]


class SafeCuts:
    """The places where text can be cut for a pattern and special tokens.

    Only the named patterns are known well enough to be cut at; any other may look anywhere, so there, and where there
    is no pattern, text can be cut before special tokens only.

    Args:
        pattern: a canonical pattern.
        special_tokens: text is split at them, the longest first.

    >>> cuts = SafeCuts("gpt2", ["<|x|>"])
    >>> cuts.find_first(b"low lower", 1), cuts.find_last(b"low lower lowest <|")
    (3, 9)
    """

    def __init__(self, pattern: str | None, special_tokens: Sequence[str]) -> None:
        self._pattern = SAFE_CUT_IN_BYTES if pattern in PATTERNS else _NEVER
        self._finder = special_token_finder(special_tokens)
        self._longest = max(self._finder.longest, 1)
        self.margin = self._longest + 4
        """How many bytes must follow a place for `find_last` to know whether it is a cut."""

    def find_first(self, data: Bytes, start: int, stop: int | None = None) -> int | None:
        """Return the first place from `start` on, and before `stop`, at which data can be cut; None if there is none.

        Data must be all that there is: what follows it could make a special token of its end.
        """
        return next(self.find_all(data, start, len(data) if stop is None else stop), None)

    def find_last(self, data: bytes) -> int:
        """Return the last place at which data can be cut whatever follows it; 0 if there is none."""
        stop, width = min(len(data), len(data) - self._longest + 2), 256
        while stop > 1:
            start = max(stop - width, 1)
            last = max(self.find_all(data, start, stop), default=0)
            if last > 0:
                return last
            stop, width = start, 4 * width
        return 0

    def find_all(self, data: Bytes, start: int, stop: int) -> Iterator[int]:
        """Yield the places from `start` on, and before `stop`, at which data can be cut; as `find_first` says."""
        at = max(start, 1)
        seen = max(at - self._longest, 0)  # tokens that begin before this end before `at`
        inside = 0  # a token that has begun ends here
        step = min(_FIRST_STEP, _STEP)
        while at < stop:
            end = min(at + step, stop)
            safe = ((match.start(), b"") for match in self._pattern.finditer(data, at, end))
            last = 0
            for place, token in heapq.merge(safe, self._finder.find_begins(data, seen, end)):
                # No special token may be across a cut, be it one that text is split at or not.
                if at <= place and inside <= place and last < place:
                    yield place
                    last = place
                inside = max(inside, place + len(token))
            at = seen = end
            step = min(2 * step, max(_STEP, self._longest))


@functools.lru_cache(maxsize=16)
def safe_cuts(pattern: str | None, special_tokens: tuple[str, ...]) -> SafeCuts:
    """Return the cuts for a pattern and special tokens, made once."""
    return SafeCuts(pattern, special_tokens)


class TooLong(ValueError):
    """Text without a place to be cut is longer than allowed."""


def cut_into_blocks(
    pieces: Iterable[bytes], find_last_cut: FindLastCut, block_bytes: int, longest: int = sys.maxsize
) -> Iterator[bytes]:
    """Yield the concatenation of pieces in blocks of about so many bytes, each cut where it can be.

    Holds a block and no more, or what there is up to the next place where the text may be cut.

    Raises:
        TooLong: there is no such place within `longest` bytes, after what was yielded.
    """
    held: list[bytes] = []
    size, enough = 0, min(block_bytes, longest + 1)
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size < enough:
            continue
        data = b"".join(held)
        cut = find_last_cut(data)
        if cut > 0:
            yield data[:cut]
        held = [data[cut:]]
        size -= cut
        if size > longest:
            raise TooLong
        # So that a text without cuts is not joined and searched again and again.
        enough = min(max(block_bytes, 2 * size), longest + 1)
    if size > 0:
        yield b"".join(held)


def find_too_long(data: Bytes, cuts: SafeCuts, start: int, stop: int | None, longest: int) -> int | None:
    """Return where the first stretch of more than `longest` bytes begins that has no place to be cut.

    Args:
        data: all that there is of the text.
        cuts: where it can be cut.
        start, stop: the part of it that is looked at, as in `cut_into_documents`.
        longest: of a stretch, in bytes. No more is looked at to find the next cut.

    Returns:
        The place, None if there is none.

    >>> [find_too_long(b"low lowest", SafeCuts("gpt2", []), 0, None, longest) for longest in (6, 7)]
    [3, None]
    """
    at: int | None = start
    if start > 0 and (at := cuts.find_first(data, start, start + longest + 1)) is None:
        return start if len(data) - start > longest else None
    while at is not None and at < (len(data) if stop is None else stop) and len(data) - at > longest:
        middle = at + longest // 2 + 1
        last = cuts.find_first(data, middle, at + longest + 1)
        last = max(cuts.find_all(data, at + 1, middle), default=None) if last is None else last
        if last is None:
            return at
        at = last
    return None


def cut_into_documents(
    data: Bytes, start: int, stop: int | None, pattern: str | None, special_tokens: Sequence[str], limit: int
) -> Iterator[tuple[int, int]]:
    """Yield start and end of each stretch between special tokens, a long one in parts, empty ones left out.

    Args:
        data: text with its special tokens.
        start, stop: the part of it that is from the first safe cut from `start` on (0: its beginning) to the first from
            `stop` on (None: its end).
        pattern, special_tokens: as `SafeCuts` takes them.
        limit: a part ends at the first safe cut behind so many bytes.

    >>> [*cut_into_documents(b"low lower<|x|>lowest", 0, None, "gpt2", ["<|x|>"], 2)]
    [(0, 3), (3, 9), (14, 20)]
    """
    cuts = safe_cuts(pattern, tuple(special_tokens))
    begin = cuts.find_first(data, start) if start > 0 else 0
    end = cuts.find_first(data, stop) if stop is not None else None
    finder = special_token_finder(special_tokens)
    for first, last in between_special_tokens(finder, data, len(data) if begin is None else begin, end):
        while last - first > limit and (cut := cuts.find_first(data, first + limit, last)) is not None:
            yield first, cut
            first = cut
        if first < last:
            yield first, last


def between_special_tokens(
    finder: TokenFinder[bytes], data: Bytes, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield start and end of what is before, between and after special tokens, empty or not."""
    stop = len(data) if stop is None else stop
    for begin, token in finder.find_all(data, start, stop):
        yield start, begin
        start = begin + len(token)
    yield start, stop


def special_token_finder(special_tokens: Sequence[str]) -> TokenFinder[bytes]:
    """Return what finds the special tokens' UTF-8, the longest where several begin at one place."""
    return TokenFinder([token.encode() for token in special_tokens])
