"""Sorted runs in plain Python: distinct words in byte order, each with its count.

Spilled counts, checkpoints and the counts of other machines are all sorted runs. Merging runs needs no more memory than
one word of each. native/count/runs.hpp describes the format and implements the same, faster. A run is bytes, or a
function that reads it piece by piece.
"""

from __future__ import annotations

import heapq
import itertools
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO, Union

Read = Callable[[int], bytes]
"""Returns the next bytes, at most as many as requested; no bytes only at the end."""
Run = Union[bytes, Read]  # noqa: UP007  # a value, in Python 3.10 too

PIECE = 1 << 20  # bytes to read and write at once
_MOST = 2**64 - 1


class RunMerger:
    """A merger of runs, whose result is read piece by piece as a run.

    Args:
        runs: any number of runs.
        multipliers: the factor for the counts of each run.
        minimum: the smallest sum of a word that is kept.

    Raises, also while it is read:
        ValueError: a run is damaged; the message says how, not which run.
        OverflowError: a sum exceeds 64 bits.

    >>> run = RunMerger.of({b"low": 2, b"lower": 1}).read(100)
    >>> list(read_words(RunMerger([run, run], [1, 10]).read))
    [(b'low', 22), (b'lower', 11)]
    """

    def __init__(self, runs: Sequence[Run], multipliers: Sequence[int], minimum: int = 1) -> None:
        self._start(heapq.merge(*map(_multiplied, runs, multipliers), key=itemgetter(0)), minimum)

    @classmethod
    def of(cls, counts: Mapping[bytes, int]) -> RunMerger:
        """Return the merger for a mapping, without counts of zero."""
        merger = cls.__new__(cls)
        merger._start(iter(sorted(counts.items())), 1)
        return merger

    def _start(self, words: Iterator[tuple[bytes, int]], minimum: int) -> None:
        self.words = 0  # read so far
        self.total = 0  # sum of their counts
        self._records = self._write(words, minimum)

    def read(self, size: int) -> bytes:
        """Return at least `size` bytes of the run, fewer only at the end, then none."""
        pieces = []
        length = 0
        while length < size and (record := next(self._records, b"")):
            pieces.append(record)
            length += len(record)
        return b"".join(pieces)

    def _write(self, words: Iterator[tuple[bytes, int]], minimum: int) -> Iterator[bytes]:
        before = b""
        for word, same in itertools.groupby(words, itemgetter(0)):
            count = sum(count for _, count in same)
            if count > _MOST:
                raise OverflowError("a pre-token was counted more than 2**64 - 1 times")
            if count < max(minimum, 1):
                continue
            shared = _shared(word, before)
            yield _varint(shared) + _varint(len(word) - shared) + word[shared:] + _varint(count)
            before = word
            self.words += 1
            self.total += count


def _multiplied(run: Run, multiplier: int) -> Iterator[tuple[bytes, int]]:
    return ((word, count * multiplier) for word, count in read_words(run))


def read_words(run: Run) -> Iterator[tuple[bytes, int]]:
    """Yield the words of a run with their counts.

    Raises:
        ValueError: the data is not a run, or ends too early.
    """
    data = _Bytes(run)
    word = b""
    while not data.is_at_end():
        shared = data.varint()
        if shared > len(word):
            raise ValueError("a word shares more bytes than the preceding word has")
        length = data.varint()
        if length == 0:
            raise ValueError("a word is no longer than what it shares")
        rest = data.take(length)
        if shared < len(word) and rest[0] <= word[shared]:
            raise ValueError("words are not in order")
        word = word[:shared] + rest
        count = data.varint()
        if count == 0:
            raise ValueError("a word has no count")
        yield word, count


class _Bytes:
    """A reader of the bytes of a run, one by one or many at once."""

    def __init__(self, run: Run) -> None:
        self._read = run if callable(run) else None
        self._piece = b"" if callable(run) else run
        self._at = 0

    def is_at_end(self) -> bool:
        if self._at == len(self._piece) and self._read is not None:
            self._piece, self._at = self._read(1 << 16), 0
        return self._at == len(self._piece)

    def take(self, length: int) -> bytes:
        parts = []
        while length > 0:
            if self.is_at_end():
                raise ValueError("it ends inside a record")
            parts.append(self._piece[self._at : self._at + length])
            self._at += len(parts[-1])
            length -= len(parts[-1])
        return b"".join(parts)

    def varint(self) -> int:
        number = 0
        for shift in range(0, 64, 7):
            byte = self.take(1)[0]
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    raise ValueError("a number is longer than necessary")
                if number > _MOST:
                    break
                return number
        raise ValueError("a number has more than 64 bits")


def _shared(word: bytes, before: bytes) -> int:
    """Return the length of the common prefix of two words."""
    pairs = enumerate(zip(word, before, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(word), len(before)))


def _varint(number: int) -> bytes:
    data = bytearray()
    while number >= 0x80:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


class FileRun:
    """A run inside an open file, which may be renamed, replaced or deleted meanwhile.

    Args:
        file: an unbuffered file.
        begin, size: the position of the run in the file, in bytes.
    """

    def __init__(self, file: BinaryIO, begin: int, size: int) -> None:
        self._file, self._begin, self.size = file, begin, size
        self._lock = threading.Lock()
        weakref.finalize(self, file.close)  # not __del__, because the file may be collected before it

    def reader(self) -> Read:
        """Return a function that reads the run from its beginning; any number of readers may exist."""
        at = 0

        def read(size: int) -> bytes:
            nonlocal at
            with self._lock:
                self._file.seek(self._begin + at)
                piece = self._file.read(min(size, self.size - at))
            at += len(piece)
            return piece

        return read


def open_run(run: bytes | FileRun) -> Run:
    """Return a reader of the run from its beginning."""
    return run if isinstance(run, bytes) else run.reader()


def gather(
    merger: RunMerger, *, max_in_memory: int = 0, folder: Path | None = None, digest: Any = None
) -> bytes | FileRun:
    """Read a run into memory, or into an anonymous file if it is longer than `max_in_memory` bytes.

    Args:
        folder: the folder of the file; None for the default temporary folder.
        digest: updated with the bytes of the run.
    """
    pieces: list[bytes] = []
    file: BinaryIO | None = None
    size = 0
    while piece := merger.read(PIECE):
        if digest is not None:
            digest.update(piece)
        size += len(piece)
        pieces.append(piece)
        if size > max_in_memory:
            file = file or tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  # it lives as long as the run
            for whole in pieces:
                rest = memoryview(whole)
                while rest:  # an unbuffered file may write less than it is given
                    rest = rest[file.write(rest) :]
            pieces.clear()
    return b"".join(pieces) if file is None else FileRun(file, 0, size)
