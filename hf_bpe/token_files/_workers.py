"""The ids of all sources, in their order, from units of work that are encoded one by one or in several processes."""

from __future__ import annotations

import mmap
import os
import sys
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from hf_bpe._utils.files import flush
from hf_bpe._utils.processes import map_in_processes
from hf_bpe._utils.progress import make_bar
from hf_bpe.counting._error_policy import Skipped
from hf_bpe.counting._sources import Shard
from hf_bpe.token_files._documents import DocumentEncoder, Place
from hf_bpe.token_files._packing import Chunk
from hf_bpe.token_files._resume.pieces import EncodedPiece, PieceFolder, ReportProgress
from hf_bpe.token_files._resume.record import PieceTotals, Position, RunLog
from hf_bpe.token_files._shards import ShardRecord

_SECONDS = 0.5  # between two states of the bar
_UNIT_BYTES = 1 << 26


class Unit(NamedTuple):
    """A unit of work: some sources, and the number of the first of them."""

    first: int
    sources: Sequence[Shard]


def in_units(sources: Sequence[Shard], first: int) -> list[Unit]:
    """Group sources, numbered from `first` on, into units of work: a large source each, or several small ones."""
    begins: list[int] = []
    room = 0
    for number, source in enumerate(sources):
        size = _UNIT_BYTES if source.size is None else source.size
        if not begins or size > room:
            begins.append(number)
            room = _UNIT_BYTES
        room -= size
    return [Unit(first + begin, sources[begin:end]) for begin, end in pairwise([*begins, len(sources)])]


def number_of_processes(units: Sequence[Unit], workers: int) -> int:
    """Return how many processes to encode units in: one, with threads, unless each process gets its share of work."""
    sizes = [sum(source.size or 0 for source in unit.sources) for unit in units]
    is_known = all(source.size is not None for unit in units for source in unit.sources)
    is_even = is_known and len(units) >= workers and max(sizes, default=0) * workers <= sum(sizes)
    return workers if is_even and sys.platform.startswith("linux") else 1


class Work(NamedTuple):
    """Units, what encodes them, and the listener to their progress."""

    encoder: DocumentEncoder
    units: Sequence[Unit]
    report: ReportProgress


class DirectStream:
    """The ids of units, encoded when they are read; nothing is kept."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.totals = PieceTotals()

    def chunks(self) -> Iterator[Chunk]:
        """Yield the ids of all units."""
        skipped = Skipped()
        encoder, units, report = self._work
        for number, unit in enumerate(units):
            for encoded in encoder.encode(unit.sources, Place(), skipped, unit.first):
                report(number, encoded.read, len(encoded.chunk.ids))
                self.totals.tokens += len(encoded.chunk.ids)
                self.totals.documents += len(encoded.chunk.ends)
                yield encoded.chunk
                skipped = encoded.skipped
        self.totals.skipped = asdict(skipped)

    def committed(self, record: ShardRecord) -> None:
        """Do nothing."""


class PieceStream:
    """The ids of units from the pieces that are written for them, from where the last recorded shard ends."""

    def __init__(self, work: Work, processes: int, folder: PieceFolder, log: RunLog) -> None:
        self._work, self._processes, self._folder, self._log = work, processes, folder, log
        self._start = log.position
        self._written = log.totals.tokens + log.position.first  # ids in shards, counted from the first piece
        # Pieces that are not in shards as a whole, and totals before each.
        self._open: list[tuple[EncodedPiece, PieceTotals]] = []
        self.totals = log.totals

    def chunks(self) -> Iterator[Chunk]:
        """Yield the ids of all pieces."""
        first = self._start.first
        with closing(self._pieces()) as pieces:
            for piece in pieces:
                self._open.append((piece, self.totals))
                self.totals = self.totals.plus(piece)
                yield from piece.chunks(self._folder.dtype, first)
                first = 0

    def committed(self, record: ShardRecord) -> None:
        """Record a shard, and delete the pieces that are not needed any more."""
        self._written += record.tokens
        consumed = sum(totals.tokens <= self._written for _, totals in self._open[1:])
        piece, before = self._open[consumed]
        flush(self._folder.path)  # so that the piece that the log names is on disk before the line
        self._log.commit(record, Position(piece.unit, piece.number, self._written - before.tokens), before)
        for each, _ in self._open[:consumed]:
            each.path.unlink()
        del self._open[:consumed]

    def _pieces(self) -> Generator[EncodedPiece, None, None]:
        encoder, units, report_all = self._work
        left = range(self._start.unit, len(units))
        encoded = {unit: self._folder.unit_pieces(unit, self._first_kept(unit)) for unit in left}
        for piece in (piece for pieces in encoded.values() for piece in pieces):
            piece.check(self._folder.dtype)
        first = next(iter(encoded[self._start.unit]), None) if self._log.records else None
        if self._log.records and (first is None or first.ids < self._start.first):
            raise ValueError(f"{self._folder.path} lacks the piece to resume from; delete {self._log.folder}")
        self._folder.clean(self._start.unit, self._start.piece)
        for unit, pieces in encoded.items():
            for piece in pieces:
                report_all(unit, piece.read, piece.ids)
        if self._processes == 1:
            for unit in left:
                yield from encoded[unit]
                yield from self._folder.encode(encoder, unit, units[unit], encoded[unit], report_all)
            return
        encoder, parent = encoder._replace(threads=1), os.getpid()

        def report(unit: int, read: int, ids: int) -> None:
            if os.getppid() != parent:
                raise SystemExit(1)  # it was killed, and its lock should be free soon
            report_all(unit, read, ids)

        def finish(unit: int) -> int:
            for _ in self._folder.encode(encoder, unit, units[unit], encoded[unit], report):
                pass
            return unit

        done = {unit for unit in left if encoded[unit] and encoded[unit][-1].is_last}
        work = [unit for unit in left if unit not in done]
        with closing(map_in_processes(finish, work, min(self._processes, len(work)))) as results:
            for unit in left:
                while unit not in done:
                    done.add(next(results))
                yield from self._folder.unit_pieces(unit, self._first_kept(unit))

    def _first_kept(self, unit: int) -> int:
        return self._start.piece if unit == self._start.unit else 0


class EncodingProgress:
    """Counters of each unit of work that processes share, and the bar that shows their sums, rate and time left."""

    def __init__(self, units: int, total: int | None, done: int, show: bool) -> None:
        memory = mmap.mmap(-1, 16 * max(units, 1))
        self._counters = np.frombuffer(memory, np.int64).reshape(-1, 2)
        self._done = done
        self._bar = make_bar(total=total, initial=done, desc="Encoding", unit="B", unit_scale=True, disable=not show)
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._refresh, daemon=True) if show else None

    def report(self, unit: int, read: int, ids: int) -> None:
        """Add bytes and ids of a unit."""
        self._counters[unit] += (read, ids)

    def _refresh(self) -> None:
        while not self._is_over.wait(_SECONDS):
            self._show()

    def _show(self) -> None:
        read, ids = self._counters.sum(axis=0).tolist()
        self._bar.set_postfix_str(f"{tqdm.format_sizeof(ids)} tokens", refresh=False)
        self._bar.update(self._done + read - self._bar.n)

    def __enter__(self) -> EncodingProgress:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        if self._thread is not None:
            self._thread.join()
            self._show()
        self._bar.close()
