"""Count tables in memory, filled by threads of the native core or by processes that split in Python.

Threads count for the built-in patterns. Other patterns are matched by `regex`, under Python's global lock, so they are
counted in processes; so is everything where the native core is not built.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from hf_bpe._utils.processes import map_in_processes, usable_cores
from hf_bpe.counting._native import native_counter
from hf_bpe.counting._readers import Batch
from hf_bpe.counting._runs import RunMerger
from hf_bpe.counting._word_counts import Settings
from hf_bpe.encoding._safe_cuts import cut_into_documents
from hf_bpe.reference._encoder import count_pre_tokens

if TYPE_CHECKING:
    from hf_bpe._native import Counter

_PIECE_BYTES = 1 << 20  # of text that a process counts at a time
_WORD_BYTES = 500  # memory of a word and its count, in a dict and during sorting


class CountTable(Protocol):
    """Counts in memory."""

    def add(self, batches: Iterable[Batch], weight: int, show: Callable[[int], object]) -> Iterator[None]:
        """Count batches, each text `weight` times.

        Yields when the memory is used up; then the table must be drained before counting resumes. Calls `show` with the
        number of stored bytes that are done.
        """

    def drain(self) -> RunMerger:
        """Return all counts, sorted, and reset the table."""


def make_count_table(settings: Settings, num_workers: int | None, memory: int) -> CountTable:
    """Return an empty count table.

    Args:
        settings: how text is split.
        num_workers: threads or processes, None for one per core, or for one process where processes cannot be forked.
        memory: the limit for the counts in bytes, 0 for no limit.
    """
    counter = native_counter(settings.pattern, settings.special_tokens, num_workers or usable_cores(), memory)
    if counter is not None:
        return NativeCountTable(counter)
    return PythonCountTable(
        settings, num_workers or (usable_cores() if sys.platform.startswith("linux") else 1), memory
    )


class NativeCountTable:
    """Counts in threads of the native core."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def add(self, batches: Iterable[Batch], weight: int, show: Callable[[int], object]) -> Iterator[None]:
        """Count batches; see `CountTable`."""
        for batch in batches:
            for must_be_utf8, group in itertools.groupby(batch.texts, lambda text: text.must_be_utf8):
                texts = [*group]
                # Progress within a batch is meaningful only for a mapped file.
                is_whole = len(batch.texts) == 1 and texts[0].path is not None
                chunk: int | None = 0
                while chunk is not None:
                    chunk, invalid = self._counter.add(
                        [text.data for text in texts],
                        weight=weight,
                        first_chunk=chunk,
                        start=texts[0].start,
                        stop=texts[0].stop,
                        check_utf8=must_be_utf8,
                        progress=show if is_whole else None,
                    )
                    if invalid is not None:
                        index, offset = invalid
                        texts[index].check_utf8(offset, offset + 4)
                    if chunk is not None:
                        yield
            show(batch.read)

    def drain(self) -> RunMerger:
        """Return all counts, sorted, and reset the table."""
        return self._counter.drain()


class PythonCountTable:
    """Counts by the reference implementation, in processes."""

    def __init__(self, settings: Settings, workers: int, memory: int) -> None:
        self._settings, self._workers, self._memory = settings, workers, memory
        # The counts of waiting pieces take memory, too.
        self._piece_bytes = min(_PIECE_BYTES, memory // 100) if memory else _PIECE_BYTES
        self._counts: collections.Counter[bytes] = collections.Counter()

    def add(self, batches: Iterable[Batch], weight: int, show: Callable[[int], object]) -> Iterator[None]:
        """Count batches; see `CountTable`."""
        for partial in self._count_each(self._pieces(batches, show)):
            for word, count in partial.items():
                self._counts[word] += count * weight
            if self._memory and len(self._counts) * _WORD_BYTES > self._memory:
                yield

    def _pieces(self, batches: Iterable[Batch], show: Callable[[int], object]) -> Iterator[list[bytes]]:
        """Yield lists of documents without special tokens; a long document is yielded in parts."""
        pattern, specials = self._settings.pattern, self._settings.special_tokens
        piece: list[bytes] = []
        size = 0
        for batch in batches:
            for text in batch.texts:
                data = text.data.encode() if isinstance(text.data, str) else text.data
                for start, end in cut_into_documents(data, text.start, text.stop, pattern, specials, self._piece_bytes):
                    if text.must_be_utf8:
                        text.check_utf8(start, end)
                    piece.append(data[start:end])
                    size += end - start
                    if size >= self._piece_bytes:
                        yield piece
                        piece, size = [], 0
            show(batch.read)
        if piece:
            yield piece

    def _count_each(self, pieces: Iterator[list[bytes]]) -> Iterator[Mapping[bytes, int]]:
        count_piece = functools.partial(count_pre_tokens, pattern=self._settings.pattern)
        first = list(itertools.islice(pieces, 2))
        pieces = itertools.chain(first, pieces)
        if self._workers == 1 or len(first) < 2:  # too little work for a process
            yield from map(count_piece, pieces)
            return
        try:
            with contextlib.closing(map_in_processes(count_piece, pieces, self._workers)) as partial_counts:
                yield from partial_counts
        except ChildProcessError as error:
            raise ChildProcessError(f"{error}, most likely for lack of memory; give fewer num_workers") from None

    def drain(self) -> RunMerger:
        """Return all counts, sorted, and reset the table."""
        counts, self._counts = self._counts, collections.Counter()
        if max(counts.values(), default=0) >= 2**64:
            raise OverflowError("a pre-token was counted more than 2**64 - 1 times; choose smaller weights")
        return RunMerger.of(counts)
