"""Safe cuts: positions at which text may be cut without changing a count, wherever else it is cut.

A cut is safe if no special token spans it, and either the pattern cannot match across it, or a special token begins
there. Both depend only on the bytes next to the cut. So the counts of parts of a file, on any machines, sum up to the
counts of the whole.
"""

from __future__ import annotations

import functools
import heapq
import mmap
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from hf_bpe._native_core import native_core
from hf_bpe.encoding._added_tokens.finder import TokenFinder
from hf_bpe.pretokenizers._native_splitting import native_pattern
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern

_FIRST_STEP, _STEP = 1 << 6, 1 << 14  # the range of the first search, and of later ones, which double

BytesOrMap = bytes | mmap.mmap
FindLastCut = Callable[[bytes], int]


class SafeCuts:
    """The positions at which text can be cut for a pattern and special tokens.

    Where a pattern may match across any two characters, and without a pattern, text can be cut only before special
    tokens. Text is split at these, the longest first.

    >>> cuts = SafeCuts("gpt2", ["<|x|>"])
    >>> cuts.find_first(b"low lower", 1), cuts.find_last(b"low lower lowest <|")
    (3, 9)
    """

    def __init__(self, pattern: AnyPattern, special_tokens: Sequence[str]) -> None:
        self._pattern = Pattern.read(pattern).safe_cut
        self._finder = special_token_finder(special_tokens)
        self._longest = max(self._finder.longest, 1)
        self.margin = self._longest + 4
        """The number of bytes that must follow a position for `find_last` to decide whether it is a cut."""

    def find_first(self, data: BytesOrMap, start: int, stop: int | None = None) -> int | None:
        """Return the first position from `start` to before `stop` at which data can be cut; None if there is none.

        Data must be complete: text that followed it could complete a special token at its end.
        """
        return next(self.find_all(data, start, len(data) if stop is None else stop), None)

    def find_last(self, data: bytes) -> int:
        """Return the last position at which data can be cut, whatever follows it; 0 if there is none."""
        stop, width = min(len(data), len(data) - self._longest + 2), 256
        while stop > 1:
            start = max(stop - width, 1)
            last = max(self.find_all(data, start, stop), default=0)
            if last > 0:
                return last
            stop, width = start, 4 * width
        return 0

    def find_all(self, data: BytesOrMap, start: int, stop: int) -> Iterator[int]:
        """Yield the positions from `start` to before `stop` at which data can be cut; see `find_first`."""
        at = max(start, 1)
        seen = max(at - self._longest, 0)  # tokens that begin before this position end before `at`
        inside = 0  # the end of the current token
        step = min(_FIRST_STEP, _STEP)
        while at < stop:
            end = min(at + step, stop)
            safe = ((match.start(), b"") for match in self._pattern.finditer(data, at, end))
            last = 0
            for place, token in heapq.merge(safe, self._finder.find_begins(data, seen, end)):
                # No special token may span a cut, whether text is split at it or not.
                if at <= place and inside <= place and last < place:
                    yield place
                    last = place
                inside = max(inside, place + len(token))
            at = seen = end
            step = min(2 * step, max(_STEP, self._longest))


@functools.lru_cache(maxsize=16)
def safe_cuts(pattern: Pattern, special_tokens: tuple[str, ...]) -> SafeCuts:
    """Return the cached cuts for a pattern and special tokens."""
    return SafeCuts(pattern, special_tokens)


def find_last_cut(data: bytes, pattern: Pattern, special_tokens: Sequence[str]) -> int:
    """Return the last position at which text can be cut without changing a count, whatever follows; 0 if none."""
    native = native_core()
    if native is None:
        return safe_cuts(pattern, tuple(special_tokens)).find_last(data)
    specials = [token.encode() for token in special_tokens]
    last: int = native.find_last_cut(data, native_pattern(native, pattern), specials)
    return last


class TooLong(ValueError):
    """Text without a safe cut is longer than allowed."""


def cut_into_blocks(
    pieces: Iterable[bytes], find_last_cut: FindLastCut, block_bytes: int, longest: int = sys.maxsize
) -> Iterator[bytes]:
    """Yield the concatenation of pieces in blocks of about `block_bytes` bytes that end at safe cuts.

    Memory holds one block, or the text up to the next safe cut; `TooLong` is raised if `longest` bytes have none.
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
        # Avoids joining and searching a text without cuts repeatedly.
        enough = min(max(block_bytes, 2 * size), longest + 1)
    if size > 0:
        yield b"".join(held)


def find_too_long(data: BytesOrMap, cuts: SafeCuts, start: int, stop: int | None, longest: int) -> int | None:
    """Return the beginning of the first segment of more than `longest` bytes without a safe cut; None if there is none.

    The range is that of `cut_into_documents`. The search for the next cut reads no more than `longest` bytes.

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
    data: BytesOrMap, start: int, stop: int | None, pattern: AnyPattern, special_tokens: Sequence[str], limit: int
) -> Iterator[tuple[int, int]]:
    """Yield start and end of each segment between special tokens, long ones in parts, without empty ones.

    Args:
        data: text with special tokens.
        start, stop: the range from the first safe cut at or after `start` (0: the beginning) to the first at or after
            `stop` (None: the end).
        pattern, special_tokens: see `SafeCuts`.
        limit: a part ends at the first safe cut after this many bytes.

    >>> [*cut_into_documents(b"low lower<|x|>lowest", 0, None, "gpt2", ["<|x|>"], 2)]
    [(0, 3), (3, 9), (14, 20)]
    """
    cuts = safe_cuts(Pattern.read(pattern), tuple(special_tokens))
    begin = cuts.find_first(data, start) if start > 0 else 0
    end = cuts.find_first(data, stop) if stop is not None else None
    finder = special_token_finder(special_tokens)
    for first, last in spans_between(finder, data, len(data) if begin is None else begin, end):
        while last - first > limit and (cut := cuts.find_first(data, first + limit, last)) is not None:
            yield first, cut
            first = cut
        if first < last:
            yield first, last


def spans_between(
    finder: TokenFinder[bytes], data: BytesOrMap, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield start and end of each segment before, between and after special tokens, including empty ones."""
    stop = len(data) if stop is None else stop
    for begin, token in finder.find_all(data, start, stop):
        yield start, begin
        start = begin + len(token)
    yield start, stop


def special_token_finder(special_tokens: Sequence[str]) -> TokenFinder[bytes]:
    """Return a finder of the special tokens' UTF-8, which prefers the longest at each position."""
    return TokenFinder([token.encode() for token in special_tokens])
