"""Rows of ids, which are documents or packed sequences, as a stream of chunks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe.encoding._encoder import Ids, Numbers

Dtype = np.dtype[np.generic]
Details = Mapping[str, object]
"""What the index of a format says about a shard."""
Values = tuple[str | None, ...]
"""The values of the columns of a document besides its ids, in their order."""


_PART_BYTES = 1 << 20


class Chunk(NamedTuple):
    """A part of a stream of rows."""

    ids: Ids  # consecutive ids of the stream
    # The positions in `ids` at which rows end, in increasing order. The ids after the last one belong to a row that
    # ends in a later chunk; only such a row can end at 0
    ends: Numbers
    # For each row of the chunk, the one that ends later included, the values of the other columns of its document; the
    # next row's may follow. Empty if there are no other columns
    values: Sequence[Values] = ()


def pack(documents: Iterable[Chunk], length: int, *, across: bool) -> Iterator[Chunk]:
    """Yield documents as sequences of at most `length` ids.

    With `across` a sequence may hold ids of several documents: all have the full length, and the last ids, which fill
    none, are left out. Without, the last sequence of each document may be shorter.

    >>> chunks = [Chunk(np.arange(3), np.array([2])), Chunk(np.arange(3, 7), np.array([4]))]
    >>> [[chunk.ids.tolist(), chunk.ends.tolist()] for chunk in pack(chunks, 3, across=False)]
    [[[0, 1, 2], [2]], [[3, 4, 5, 6], [2, 4]]]
    >>> [[chunk.ids.tolist(), chunk.ends.tolist()] for chunk in pack(chunks, 3, across=True)]
    [[[0, 1, 2], [3]], [[3, 4, 5], [3]]]
    """
    return _pack_across(documents, length) if across else _pack_within(documents, length)


def _pack_across(documents: Iterable[Chunk], length: int) -> Iterator[Chunk]:
    held: list[Ids] = []
    size = 0
    for ids, _, _ in documents:
        held.append(ids)
        size += len(ids)
        whole = size - size % length
        if whole:
            joined = np.concatenate(held)
            yield Chunk(joined[:whole], np.arange(length, whole + 1, length, dtype=np.int64))
            held, size = [joined[whole:]], size - whole


def _pack_within(documents: Iterable[Chunk], length: int) -> Iterator[Chunk]:
    begun = 0  # ids of the last sequence of the last chunk
    for ids, ends, values in documents:
        bounds = np.concatenate([[-begun], ends, [len(ids)]])
        sizes = np.diff(bounds)
        # The full sequences inside each document end at multiples of the length from where it begins.
        numbers = np.maximum(sizes - 1, 0) // length
        numbers[-1] = sizes[-1] // length  # the document may continue, and end in the next chunk with nothing more
        first = np.repeat(numbers.cumsum() - numbers, numbers)
        inside = np.repeat(bounds[:-1], numbers) + (np.arange(len(first)) - first + 1) * length
        stops = np.unique(np.concatenate([inside, ends])).astype(np.int64)
        # A document that ends at the beginning after a full sequence has been cut there already.
        stops = stops if begun else stops[stops > 0]
        if len(ids) or len(stops):
            yield Chunk(ids, stops, _document_values(values, len(ids), ends, stops))
        begun = int(sizes[-1] % length)


def _document_values(values: Sequence[Values], size: int, ends: Numbers, stops: Numbers) -> Sequence[Values]:
    """Return the values of the documents that hold the sequences of a chunk, given where both end."""
    if not values:
        return ()
    begins_another = size > (stops[-1] if len(stops) else 0)
    return [values[number] for number in np.searchsorted(ends, [*stops, *([size] if begins_another else [])])]


def whole_rows(chunks: Iterable[Chunk], dtype: npt.DTypeLike) -> Iterator[Chunk]:
    """Yield chunks whose rows are whole, with ids of a type; ids are held until their row ends."""
    held: list[Ids] = []
    for ids, ends, values in chunks:
        held.append(np.ascontiguousarray(ids, dtype))
        if len(ends) > 0:
            *begun, ids = held
            last, before = int(ends[-1]), sum(map(len, begun))
            rows = Chunk(np.concatenate([*begun, ids[:last]]), ends + before, values)
            begun, held = [], [ids[last:]]  # or a long row is in memory twice while it is written
            yield rows


def read_numbers(file: IO[bytes], dtype: npt.DTypeLike) -> Iterator[Numbers]:
    """Yield the numbers that were written to a file, in parts."""
    file.seek(0)
    while part := file.read(_PART_BYTES):
        yield np.frombuffer(part, dtype)
