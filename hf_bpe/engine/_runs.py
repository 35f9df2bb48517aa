"""Sorted runs in plain Python: distinct words in the order of their bytes, each with its count.

What is too much for memory, what is to be gone on from, and what other machines have counted, are all sorted runs; and
to put them together is to merge them, which needs no more memory than a word of each. native/count/runs.hpp
describes the format and does the same, faster. A run is bytes, or a function that reads it piece by piece.
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
"""Returns the next bytes, not more than it is asked for, and none only at the end."""
Run = Union[bytes, Read]  # noqa: UP007  # a value, in Python 3.10 too

PIECE = 1 << 20  # bytes that are read and written at once
_MOST = 2**64 - 1


class RunMerger:
    """The merge of runs as a run: read it piece by piece.

    Args:
        runs: any number of them.
        multipliers: by which the counts of each are multiplied.
        least: words whose sum is below are left out.

    Raises, also while it is read:
        ValueError: a run that is damaged; the message says how, not which.
        OverflowError: a sum past 64 bits.

    >>> run = RunMerger.of({b"low": 2, b"lower": 1}).read(100)
    >>> list(read_words(RunMerger([run, run], [1, 10]).read))
    [(b'low', 22), (b'lower', 11)]
    """

    def __init__(self, runs: Sequence[Run], multipliers: Sequence[int], least: int = 1) -> None:
        self._start(heapq.merge(*map(_multiplied, runs, multipliers), key=itemgetter(0)), least)

    @classmethod
    def of(cls, counts: Mapping[bytes, int]) -> RunMerger:
        """Return that of a mapping, without what it counts as zero."""
        merger = cls.__new__(cls)
        merger._start(iter(sorted(counts.items())), 1)
        return merger

    def _start(self, words: Iterator[tuple[bytes, int]], least: int) -> None:
        self.words = 0  # read so far
        self.total = 0  # sum of their counts
        self._records = self._write(words, least)

    def read(self, size: int) -> bytes:
        """Return at least `size` bytes of the run, less only at the end, then none."""
        pieces = []
        length = 0
        while length < size and (record := next(self._records, b"")):
            pieces.append(record)
            length += len(record)
        return b"".join(pieces)

    def _write(self, words: Iterator[tuple[bytes, int]], least: int) -> Iterator[bytes]:
        before = b""
        for word, same in itertools.groupby(words, itemgetter(0)):
            count = sum(count for _, count in same)
            if count > _MOST:
                raise OverflowError("a pre-token was counted more than 2**64 - 1 times")
            if count < max(least, 1):
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
        ValueError: it is no run, or ends too early.
    """
    data = _Bytes(run)
    word = b""
    while not data.is_at_end():
        shared = data.varint()
        if shared > len(word):
            raise ValueError("a word shares more bytes than the one before has")
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
    """The bytes of a run, one by one or many at once."""

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
                    raise ValueError("a number is longer than it need be")
                if number > _MOST:
                    break
                return number
        raise ValueError("a number has more than 64 bits")


def _shared(word: bytes, before: bytes) -> int:
    """Return how many bytes two words have in common at their beginnings."""
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
    """A run inside a file, which stays open, so it may be renamed, replaced or deleted meanwhile.

    Args:
        file: without a buffer.
        begin, size: where the run is in it, in bytes.
    """

    def __init__(self, file: BinaryIO, begin: int, size: int) -> None:
        self._file, self._begin, self.size = file, begin, size
        self._lock = threading.Lock()
        weakref.finalize(self, file.close)  # not __del__, before which the file may be found to be garbage, too

    def reader(self) -> Read:
        """Return what reads the run from its beginning; any number may do so at once."""
        at = 0

        def read(size: int) -> bytes:
            nonlocal at
            with self._lock:
                self._file.seek(self._begin + at)
                piece = self._file.read(min(size, self.size - at))
            at += len(piece)
            return piece

        return read


def reader_of(run: bytes | FileRun) -> Run:
    """Return the run, to be read from its beginning."""
    return run if isinstance(run, bytes) else run.reader()


def gather(
    merger: RunMerger, *, most_in_memory: int = 0, folder: Path | None = None, digest: Any = None
) -> bytes | FileRun:
    """Read a run to its end, into memory, or a file without a name if it is longer than `most_in_memory` bytes.

    Args:
        folder: where to put the file; None for where temporary files go.
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
        if size > most_in_memory:
            file = file or tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  # it lives as long as the run
            for whole in pieces:
                rest = memoryview(whole)
                while rest:  # without a buffer, a file may take less than it is given
                    rest = rest[file.write(rest) :]
            pieces.clear()
    return b"".join(pieces) if file is None else FileRun(file, 0, size)
