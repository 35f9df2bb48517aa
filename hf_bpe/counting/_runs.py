"""Sorted runs: distinct words in byte order, each with its count.

Spilled counts, checkpoints and the counts of other machines are all sorted runs. Merging runs needs no more memory than
one word of each. native/count/runs.hpp describes the format, merges runs and checks what it reads. A run is bytes, or a
function that reads it piece by piece.
"""

from __future__ import annotations

import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Union

from hf_bpe._native_core import native_core, require_core

Read = Callable[[int], bytes]
"""Returns the next bytes, at most as many as requested; no bytes only at the end."""
Run = Union[bytes, Read]  # noqa: UP007  # a value, in Python 3.10 too

PIECE = 1 << 20  # bytes to read and write at once
MAX_COUNT = 2**64 - 1
_WORDS_AT_ONCE = 4096


class RunStream(Protocol):
    """A run that is read piece by piece."""

    @property
    def words(self) -> int:
        """The number of words read so far."""

    @property
    def total(self) -> int:
        """The sum of the counts read so far."""

    def read(self, size: int) -> bytes:
        """Return at least `size` bytes of the run, fewer only at the end, then none."""


class RunOfCounts:
    """The run of counts in memory, without counts of zero; reading a count of more than 64 bits is an OverflowError.

    >>> [*read_words(RunOfCounts({b"lower": 1, b"low": 2}).read)]
    [(b'low', 2), (b'lower', 1)]
    """

    def __init__(self, counts: Mapping[bytes, int]) -> None:
        self.words = self.total = 0
        self._records = self._write(sorted(counts.items()))

    def read(self, size: int) -> bytes:
        """Return at least `size` bytes of the run, fewer only at the end, then none."""
        pieces = []
        length = 0
        while length < size and (record := next(self._records, b"")):
            pieces.append(record)
            length += len(record)
        return b"".join(pieces)

    def _write(self, counts: list[tuple[bytes, int]]) -> Iterator[bytes]:
        before = b""
        for word, count in counts:
            if count > MAX_COUNT:
                raise OverflowError("a pre-token was counted more than 2**64 - 1 times")
            if count == 0:
                continue
            shared = _shared(word, before)
            yield _varint(shared) + _varint(len(word) - shared) + word[shared:] + _varint(count)
            before = word
            self.words += 1
            self.total += count


def read_whole(run: Run) -> bytes:
    """Return a run as bytes; one read has at most 2 GB."""
    return run if isinstance(run, bytes) else b"".join(iter(lambda: run(PIECE), b""))


def merge_runs(all_runs: Sequence[Run], multipliers: Sequence[int], minimum: int = 1) -> RunStream:
    """Return a merger of sorted runs, times their multipliers, which leaves out words below a minimum.

    A damaged run is a ValueError, which does not say which one, and a sum of more than 64 bits an OverflowError.
    """
    native = require_core("sums and parts of counts")
    # With a multiplier or limit of more than 64 bits, counts overflow 64 bits or are below the limit.
    merger: RunStream = native.RunMerger(all_runs, multipliers, min(minimum, MAX_COUNT))
    return merger


def read_words(run: Run) -> Iterator[tuple[bytes, int]]:
    """Yield the words of a sorted run and their counts."""
    native = native_core()
    if native is None:
        try:
            yield from read_valid_words(run)
        except IndexError:
            raise ValueError("it ends inside a record") from None
        return
    reader = native.RunReader(run)
    while words := reader.next(_WORDS_AT_ONCE):
        yield from words


def read_valid_words(run: Run) -> Iterator[tuple[bytes, int]]:
    """Yield the words of a run that is valid, with their counts, in Python."""
    data, word, at = read_whole(run), b"", 0

    def take_number() -> int:
        nonlocal at
        number = shift = 0
        while data[at] >= 0x80:
            number |= (data[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
        at += 1
        return number | data[at - 1] << shift

    while at < len(data):
        shared, length = take_number(), take_number()
        word = word[:shared] + data[at : at + length]
        at += length
        yield word, take_number()


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
    """A run inside an open file, which may be renamed, replaced or deleted meanwhile."""

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
    merger: RunStream, *, max_in_memory: int = 0, folder: Path | None = None, digest: Any = None
) -> bytes | FileRun:
    """Read a run into memory, or into an anonymous file if it is longer than `max_in_memory` bytes.

    The folder of the file is by default the temporary one. The digest is updated with the bytes of the run.
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
            file = file or tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115  # lives as long as the run
            for whole in pieces:
                unwritten = memoryview(whole)
                while unwritten:  # an unbuffered file may write less than it is given
                    unwritten = unwritten[file.write(unwritten) :]
            pieces.clear()
    return b"".join(pieces) if file is None else FileRun(file, 0, size)
