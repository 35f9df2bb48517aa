"""What several writers of token files need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from hf_bpe.encoding._encoder import Ids
from hf_bpe.token_files._packing import Chunk

Dtype = np.dtype[Any]
Details = Mapping[str, Any]
"""What the index of a format says about a shard."""

_PART_BYTES = 1 << 20


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


def read_numbers(file: IO[bytes], dtype: npt.DTypeLike) -> Iterator[npt.NDArray[Any]]:
    """Yield the numbers that were written to a file, in parts."""
    file.seek(0)
    while part := file.read(_PART_BYTES):
        yield np.frombuffer(part, dtype)
