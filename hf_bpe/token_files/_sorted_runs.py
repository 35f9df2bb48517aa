"""Sorted runs on disk, from which files of shuffled documents are put together.

A run holds the documents of a stretch of the corpus, sorted by their keys, so those with keys in some range lie next to
each other in each run. Runs are written as shards of token files, in a format that only this package reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.work_log import open_own
from hf_bpe.encoding._encoder import Ids, Numbers
from hf_bpe.token_files._formats import MANIFEST, Target, TokenFormat
from hf_bpe.token_files._mapped import advise_stretches
from hf_bpe.token_files._rows import Chunk, Values
from hf_bpe.token_files._shares import Share
from hf_bpe.token_files._shuffle_keys import KeyRange, Keys, document_keys
from hf_bpe.token_files._writer import RowLengths, TokenWriter

RUN_BYTES = 1 << 28  # of the ids of a run
LONG = 1 << 20  # ids of a document that is read by itself, in parts

_MAX_DOCUMENTS = 1 << 22  # of a run
_MAX_VALUES = 1 << 26  # bytes of the values of other columns of a run
_GATHERED = 1 << 12  # documents to put together at once
_SPARSE = 8  # parts from which on reading single documents costs less than reading all that lies between them
_NUMBER = "<i8"


class RunTarget(Target):
    """The files of runs in a folder.

    Args:
        folder: the folder.
        dtype: the type of the ids.
        seed: the seed of the order.
        share: the part of the shuffled documents that the runs hold.
    """

    def __init__(self, folder: Path, dtype: npt.DTypeLike, seed: int, share: Share) -> None:
        known, make = np.dtype(dtype), partial(RunFiles, seed=seed, share=share)
        self.format = TokenFormat((".ids", ".index"), make, lambda _: known, holds_columns=True, is_numbered=True)
        self._set_suffixes({}, has_mask=False)
        self.folder, self._stem, self.manifest = folder, "run", folder / MANIFEST
        # Documents of other shares pass by. `RunFiles.is_full` limits what is kept.
        self.shard_tokens = RUN_BYTES // known.itemsize * share.parts

    def make(self, paths: Sequence[Path], dtype: npt.DTypeLike, first_row: int = 0) -> TokenWriter:
        """Return a writer of a run."""
        return self.format.make(paths, dtype=dtype, first_row=first_row)


class RunFiles(TokenWriter):
    """A run: a file of ids, and an index.

    The index has the number of documents; then their keys in increasing order, the places of their first ids, their
    lengths, and the ends of their values, which begin with 0; then the values of other columns, as JSON. All numbers
    have 64 bits.

    Args:
        paths: the file of ids, and the index.
        dtype: the type of the ids.
        first_row: the number of the first document.
        seed: the seed of the order.
        share: the part of the shuffled documents to keep.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        dtype: npt.DTypeLike,
        *,
        first_row: int,
        seed: int,
        share: Share,
    ) -> None:
        self._dtype, self._seed, self._next = np.dtype(dtype), seed, first_row
        self._range = None if share.parts == 1 else KeyRange.of(share)
        self._is_sparse = share.parts >= _SPARSE
        self._index, self._file = paths[1], paths[0].open("wb")
        self._max_ids = RUN_BYTES // self._dtype.itemsize
        self._held = np.empty(self._max_ids * 5 // 4, self._dtype)  # memory that systems give when it is used
        self._size = 0  # ids that are held
        self._open = 0  # how many of the last ids belong to a document that has not ended
        self._written: int | None = None  # the first document that is in the file, because it is too long to be held
        self._lengths_of = RowLengths()
        self._keys: list[Keys] = []
        self._lengths: list[Numbers] = []
        self._values: list[bytes] = []
        self._documents = self._value_bytes = 0

    @property
    def is_full(self) -> bool:
        """Whether the run should end with the next document."""
        return (
            self._written is not None
            or self._size >= self._max_ids
            or self._documents >= _MAX_DOCUMENTS
            or self._value_bytes >= _MAX_VALUES
        )

    def append(self, chunk: Chunk) -> None:
        """Append documents; see `TokenWriter`."""
        keys = document_keys(self._seed, self._next, len(chunk.ends) + 1)  # with that of the open document
        self._next += len(chunk.ends)
        if self._range is not None:
            keep = self._range.holds(keys)
            chunk, keys = _selected(chunk, keep, is_sparse=self._is_sparse), keys[keep]
        ids, ends, values = chunk
        lengths = self._lengths_of.of(ids, ends)
        if len(lengths) and lengths.min() <= 0:
            raise ValueError("got a document without ids, which encode leaves out; encode the text again")
        self._keys.append(keys[: len(ends)])
        self._lengths.append(lengths)
        self._documents += len(ends)
        for row in values[: len(ends)]:
            self._values.append(json.dumps(row).encode())
            self._value_bytes += len(self._values[-1])
        self._open = len(ids) - int(ends[-1]) if len(ends) else self._open + len(ids)
        if self._written is None:
            ids = self._hold(ids, self._open or int([0, *lengths[-1:]][-1]))
        if len(ids):
            self._file.write(np.ascontiguousarray(ids, self._dtype).data)

    def _hold(self, ids: Ids, last: int) -> Ids:
        """Hold ids; if they are too many, write what is held of the last document, and return its other ids.

        Args:
            ids: the ids.
            last: how many ids of the last document there are up to now.
        """
        size = self._size + len(ids)
        is_held = size <= len(self._held)
        end = size if is_held else size - last  # of what stays
        if end > len(self._held):
            self._held = np.concatenate([self._held, np.empty(end - len(self._held), self._dtype)])
        taken = max(end - self._size, 0)
        self._held[self._size : self._size + taken] = ids[:taken]
        if not is_held:
            self._file.write(self._held[end : self._size].data)
            self._written = self._documents - (self._open == 0)
        self._size = end
        return ids[taken:]

    def finish(self) -> Mapping[str, Any]:
        """Sort the documents, and write them."""
        keys = np.concatenate([np.empty(0, np.uint64), *self._keys])
        lengths = np.concatenate([np.empty(0, np.int64), *self._lengths])
        order = np.argsort(keys)
        held = len(keys) if self._written is None else self._written
        places = np.cumsum(lengths) - lengths
        places[held:] -= self._size
        written = int(lengths[held:].sum())
        moved = order[order < held]
        for part in gathered(self._held, places[moved], lengths[moved]):
            self._file.write(part.data)
        self._file.close()
        places[moved] = written + np.cumsum(lengths[moved]) - lengths[moved]
        values = [self._values[number] for number in order.tolist()] if self._values else []
        with self._index.open("wb") as file:
            ends = np.cumsum([0, *map(len, values)])
            for numbers in ([len(keys)], keys[order].view(np.int64), places[order], lengths[order], ends):
                file.write(np.ascontiguousarray(numbers, _NUMBER).data)
            file.writelines(values)
        return {}

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _selected(chunk: Chunk, keep: npt.NDArray[np.bool_], *, is_sparse: bool) -> Chunk:
    """Return some documents of a chunk; no other ids are read of a file that is mapped into memory."""
    ids, ends, values = chunk
    starts, stops = np.concatenate([[0], ends]), np.concatenate([ends, [len(ids)]])
    lengths = (stops - starts)[keep]
    if is_sparse:
        advise_stretches(ids, starts[keep], lengths)
    kept = np.concatenate([ids[:0], *gathered(ids, starts[keep], lengths)])
    kept_values = [row for row, is_kept in zip(values, keep.tolist(), strict=False) if is_kept]
    return Chunk(kept, np.cumsum(lengths)[: int(keep[:-1].sum())], kept_values)


def gathered(ids: Ids, starts: Numbers, lengths: Numbers) -> Iterator[Ids]:
    """Yield stretches of ids, one after the other, in parts of bounded size."""
    for low, high in batches(lengths):
        begins, stops = starts[low:high].tolist(), (starts[low:high] + lengths[low:high]).tolist()
        yield np.concatenate([ids[begin:stop] for begin, stop in zip(begins, stops, strict=True)])


def batches(lengths: Numbers) -> Iterator[tuple[int, int]]:
    """Yield ranges of documents of bounded size, or of a single one."""
    ends = np.cumsum(lengths)
    low = 0
    while low < len(lengths):
        before = int(ends[low - 1]) if low else 0
        high = int(np.searchsorted(ends, before + LONG, "right"))
        high = min(max(high, low + 1), low + _GATHERED)
        yield low, high
        low = high


class Documents(NamedTuple):
    """Documents of a run in the order of their keys.

    Attributes:
        keys: their keys.
        places: where in the file of ids their first ids are.
        lengths: how many ids they have.
        value_bytes: the size in bytes of the values of other columns.
        values: these values; empty if they were not read, or if there are none.
    """

    keys: Keys
    places: Numbers
    lengths: Numbers
    value_bytes: Numbers
    values: Sequence[Values]


class Run(NamedTuple):
    """A run on disk.

    Attributes:
        path: the file of ids.
        index_path: the index.
    """

    path: Path
    index_path: Path

    def documents(self, keys: KeyRange, *, with_values: bool = True) -> Documents:
        """Return the documents with some keys."""
        with open_own(self.index_path, "rb") as file:
            numbers = np.memmap(file, _NUMBER, "r", shape=(file.seek(0, 2) // 8,))
            count = int(numbers[0])
            columns = numbers[1 : 1 + 3 * count].reshape(3, count)
            low, high = keys.find(columns[0].view(np.uint64))
            found, places, lengths = columns[:, low:high].copy()
            has_values = len(numbers) > 2 + 3 * count
            begin = 1 + 3 * count
            ends = numbers[begin + low : begin + high + 1].copy() if has_values else np.zeros(high - low + 1, np.int64)
            values: list[Values] = []
            if has_values and with_values:
                file.seek(8 * (begin + count + 1) + int(ends[0]))
                data = np.fromfile(file, np.uint8, int(ends[-1] - ends[0])).tobytes()
                cuts = (ends - ends[0]).tolist()
                values = [tuple(json.loads(data[start:stop])) for start, stop in pairwise(cuts)]
        return Documents(found.view(np.uint64), places, lengths, np.diff(ends), values)
