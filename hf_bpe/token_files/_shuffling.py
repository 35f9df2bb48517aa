"""Shuffled documents as a stream of rows, put together from sorted runs bucket by bucket.

A bucket is a range of keys whose documents fit in memory, where they are sorted. The buckets in their order are all
documents in the order of their keys, whatever the runs and the buckets are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.input_files import read_json
from hf_bpe._utils.shapes import check_shape
from hf_bpe._utils.work_log import open_own
from hf_bpe.counting._error_policy import SKIPPED
from hf_bpe.encoding._encoder import Numbers
from hf_bpe.token_files._rows import Chunk, Values, from_id
from hf_bpe.token_files._run import RunLog, Totals
from hf_bpe.token_files._shares import Share
from hf_bpe.token_files._shuffle_keys import KeyRange
from hf_bpe.token_files._sorted_runs import LONG, Run, batches
from hf_bpe.token_files._written import StoredStream

BUCKET_BYTES = 1 << 28  # of the ids of a bucket, and of what is held with them

_DOCUMENT_BYTES = 64  # what is held of a document besides its ids and values
_BINS = 1 << 16  # equal parts of the keys, of which buckets are made


class _Bucket(NamedTuple):
    """A range of keys, and how many ids the documents before it have."""

    keys: KeyRange
    first_id: int


class ShuffledDocuments:
    """The documents of runs in the order of their keys.

    Args:
        files: the files of ids and the indices of all runs, in turn.
        dtype: the type of the ids.
        share: the part of the shuffled documents that the runs hold.
    """

    def __init__(self, files: Sequence[Path], dtype: npt.DTypeLike, share: Share) -> None:
        self._runs = [Run(*pair) for pair in zip(files[::2], files[1::2], strict=True)]
        self._dtype = np.dtype(dtype)
        keys = KeyRange.of(share)
        size = (keys.last - keys.first) // _BINS + 1  # of a bin
        ids, documents, other = np.zeros((3, _BINS), np.int64)
        for run in self._runs:
            found = run.documents(keys, with_values=False)
            bins = ((found.keys - np.uint64(keys.first)) // np.uint64(size)).astype(np.int64)
            # The sums of float64 are exact up to 2⁵³.
            ids += np.bincount(bins, found.lengths, _BINS).astype(np.int64)
            documents += np.bincount(bins, minlength=_BINS)
            other += np.bincount(bins, found.value_bytes, _BINS).astype(np.int64)
        self.tokens, self.documents = int(ids.sum()), int(documents.sum())
        costs = ids * self._dtype.itemsize + documents * _DOCUMENT_BYTES + other
        before = np.cumsum(ids) - ids
        self._buckets: list[_Bucket] = []
        for first, last in _grouped(costs.tolist(), BUCKET_BYTES):
            range_ = KeyRange(keys.first + first * size, min(keys.first + last * size - 1, keys.last))
            self._buckets.append(_Bucket(range_, int(before[first])))

    def chunks(self, first: int = 0) -> Iterator[Chunk]:
        """Yield documents from the id with the index `first` on."""
        ends = [*(bucket.first_id for bucket in self._buckets[1:]), self.tokens]
        for bucket, end in zip(self._buckets, ends, strict=True):
            if end > first:
                left = max(first - bucket.first_id, 0)
                for chunk in self._bucket(bucket.keys):
                    if left < len(chunk.ids):
                        yield from_id(chunk, left)
                    left = max(left - len(chunk.ids), 0)

    def _bucket(self, keys: KeyRange) -> Iterator[Chunk]:
        """Yield the documents with some keys."""
        found = [run.documents(keys) for run in self._runs]
        lengths = np.concatenate([each.lengths for each in found])
        places = np.concatenate([each.places for each in found])
        is_long = lengths > LONG
        held = np.empty(int(lengths[~is_long].sum()), self._dtype)
        size = number = 0
        for run, documents in zip(self._runs, found, strict=True):
            those = slice(number, number + len(documents.lengths))
            short = np.flatnonzero(~is_long[those]) + number
            size = _read(run.path, held, size, places, lengths, short)
            number = those.stop
        values: list[Values] = [row for each in found for row in each.values]
        runs = np.repeat(np.arange(len(found)), [len(each.lengths) for each in found])
        order = np.argsort(np.concatenate([each.keys for each in found]))
        del found
        for low, high in batches(lengths[order]):
            numbers = order[low:high]
            rows = [values[each] for each in numbers.tolist()] if values else []
            if is_long[numbers[0]]:  # so it is by itself
                path = self._runs[runs[numbers[0]]].path
                yield from _long_document(path, self._dtype, int(places[numbers[0]]), int(lengths[numbers[0]]), rows)
                continue
            begins, stops = places[numbers].tolist(), (places[numbers] + lengths[numbers]).tolist()
            ids = np.concatenate([held[begin:stop] for begin, stop in zip(begins, stops, strict=True)])
            yield Chunk(ids, np.cumsum(lengths[numbers]), rows)


def _grouped(costs: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Yield ranges of bins, each of as many as cost no more than a limit, but at least one.

    >>> [*_grouped([3, 3, 3, 9, 0, 1], 6)]
    [(0, 2), (2, 3), (3, 4), (4, 6)]
    """
    first = total = 0
    for number, cost in enumerate(costs):
        if total + cost > limit and number > first:
            yield first, number
            first, total = number, 0
        total += cost
    yield first, len(costs)


def _read(path: Path, held: npt.NDArray[Any], size: int, places: Numbers, lengths: Numbers, numbers: Numbers) -> int:
    """Read documents from a file of ids, and set their places to those in memory.

    Args:
        path: the file.
        held: where the ids go.
        size: how many ids are there.
        places, lengths: those of all documents.
        numbers: which documents to read.

    Returns:
        How many ids are there now.
    """
    if len(numbers) == 0:
        return size
    ends = places[numbers] + lengths[numbers]
    cuts = np.flatnonzero(places[numbers][1:] != ends[:-1]) + 1
    with open_own(path, "rb") as file:
        for group in np.split(numbers, cuts):  # of documents that lie next to each other
            begin, count = int(places[group[0]]), int(lengths[group].sum())
            file.seek(begin * held.itemsize)
            part = held[size : size + count].data.cast("B")
            while part:
                read = file.readinto(part)
                if not read:
                    raise ValueError(f"{path} is cut off; delete its folder to shuffle again")
                part = part[read:]
            places[group] += size - begin
            size += count
    return size


def _long_document(
    path: Path, dtype: np.dtype[Any], place: int, length: int, values: Sequence[Values]
) -> Iterator[Chunk]:
    """Yield a document in parts."""
    with open_own(path, "rb") as file:
        file.seek(place * dtype.itemsize)
        for begin in range(0, length, LONG):
            count = min(LONG, length - begin)
            ids = np.fromfile(file, dtype, count)
            if len(ids) < count:
                raise ValueError(f"{path} is cut off; delete its folder to shuffle again")
            yield Chunk(ids, np.array([count] if begin + count == length else [], np.int64), values)


def shuffled_stream(
    runs: Sequence[Path | str], manifest: Path | str, dtype: npt.DTypeLike, share: Share, log: RunLog | None
) -> StoredStream:
    """Return the documents of runs in the order of their keys.

    Args:
        runs: the files of ids and the indices of all runs, in turn.
        manifest: the manifest of the runs.
        dtype: the type of the ids.
        share: the part of the shuffled documents that the runs hold.
        log: see `StoredStream`.
    """
    documents = ShuffledDocuments([*map(Path, runs)], dtype, share)
    skipped = check_shape(read_json(Path(manifest)), {"skipped": SKIPPED, ...: object})["skipped"]
    return StoredStream(documents, Totals(documents.tokens, documents.documents, 0, skipped), log)
