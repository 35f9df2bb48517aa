"""Where text may be cut so that no count changes, whatever the text and wherever else it is cut.

That is where no special token is across the cut, and either the pattern cannot join what is left and right of it, or a
special token begins there. Both depend on the bytes next to the cut only. So parts of a file can be counted far from
each other, and sum up to the counts of the whole.
"""

from __future__ import annotations

import functools
import mmap
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from hf_bpe.patterns import PATTERNS, SAFE_CUT_IN_BYTES

_STEP = 1 << 14  # how far one look goes
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
        self._tokens = [token.encode() for token in special_tokens]
        self._longest = max(map(len, self._tokens), default=1)

    def find_first(self, data: Bytes, start: int, stop: int | None = None) -> int | None:
        """Return the first place from `start` on, and before `stop`, at which data can be cut; None if there is none.

        Data must be all that there is: what follows it could make a special token of its end.
        """
        return next(self._find_all(data, start, len(data) if stop is None else stop), None)

    def find_last(self, data: bytes) -> int:
        """Return the last place at which data can be cut whatever follows it; 0 if there is none."""
        stop, width = min(len(data), len(data) - self._longest + 2), 256
        while stop > 1:
            start = max(stop - width, 1)
            last = max(self._find_all(data, start, stop), default=0)
            if last > 0:
                return last
            stop, width = start, 4 * width
        return 0

    def _find_all(self, data: Bytes, start: int, stop: int) -> Iterator[int]:
        at = max(start, 1)
        while at < stop:
            end = min(at + _STEP, stop)
            match = self._pattern.search(data, at, end)
            cut = end if match is None else match.start()
            token = self._finder.search(data, at, cut + self._longest - 1)  # one that begins before the cut
            if token is not None:
                cut = min(cut, token.start())
            if cut < end and not self._is_inside_token(data, cut):
                yield cut
            at = cut + (cut < end)

    def _is_inside_token(self, data: Bytes, at: int) -> bool:
        """Whether a special token begins before a place and ends behind it, be it one that text is split at or not."""
        return any(data.find(token, max(at - len(token) + 1, 0), at + len(token) - 1) >= 0 for token in self._tokens)


@functools.lru_cache(maxsize=16)
def safe_cuts(pattern: str | None, special_tokens: tuple[str, ...]) -> SafeCuts:
    """Return the cuts for a pattern and special tokens, made once."""
    return SafeCuts(pattern, special_tokens)


def cut_into_blocks(pieces: Iterable[bytes], find_last_cut: FindLastCut, block_bytes: int) -> Iterator[bytes]:
    """Yield the concatenation of pieces in blocks of about so many bytes, each cut where it can be.

    Holds a block and no more, or what there is up to the next place where the text may be cut.
    """
    held: list[bytes] = []
    size, enough = 0, block_bytes
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
        enough = max(block_bytes, 2 * size)  # so that a text without cuts is not joined and searched again and again
    if size > 0:
        yield b"".join(held)


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
    finder: re.Pattern[bytes], data: Bytes, start: int = 0, stop: int | None = None
) -> Iterator[tuple[int, int]]:
    """Yield start and end of what is before, between and behind special tokens, empty or not."""
    stop = len(data) if stop is None else stop
    for match in finder.finditer(data, start, stop):
        yield start, match.start()
        start = match.end()
    yield start, stop


def special_token_finder(special_tokens: Sequence[str]) -> re.Pattern[bytes]:
    """Return an expression for the special tokens' UTF-8, the longest first where several begin at one place."""
    if not special_tokens:
        return _NEVER
    longest_first = sorted((token.encode() for token in special_tokens), key=len, reverse=True)
    return re.compile(b"|".join(map(re.escape, longest_first)))
