"""Megatron-LM's indexed datasets: a file of ids, and an index with a row for each document."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe.token_files._formats.writer import RowLengths, Spool, TokenWriter, close_all
from hf_bpe.token_files._packing import Chunk

_MAGIC, _VERSION = b"MMIDIDX\x00\x00", 1
_CODES = {np.dtype("<u2"): 8, np.dtype("<i4"): 4}
_FEWEST_FOR_32_BITS = 65_500  # ids; Megatron's own limit
_MAX_LENGTH = 2**31 - 1
_COUNTED = 1 << 20


def megatron_dtype(highest_id: int) -> np.dtype[Any]:
    """Return the type that Megatron chooses for a vocabulary with this highest id."""
    return np.dtype("<u2" if highest_id + 1 < _FEWEST_FOR_32_BITS else "<i4")


class MegatronFiles(TokenWriter):
    """Each row becomes a document of one sequence, as in Megatron's `preprocess_data.py`."""

    def __init__(self, paths: Sequence[Path], dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._lengths = Spool(paths[0].parent, "<i4")
        self._rows = RowLengths()
        self._index = paths[1]
        self._file = paths[0].open("wb")

    def append(self, chunk: Chunk) -> None:
        """Append rows; see `TokenWriter`."""
        ids, ends, _ = chunk
        lengths = self._rows.of(ids, ends)
        if len(lengths) and lengths.max() > _MAX_LENGTH:
            raise ValueError(
                f"got a document of {lengths.max()} ids, expected at most {_MAX_LENGTH} in a file for Megatron; "
                "give the separator at which documents of text end"
            )
        self._file.write(np.ascontiguousarray(ids, self._dtype).data)
        self._lengths.append(lengths)

    def finish(self) -> Mapping[str, Any]:
        """Write the index."""
        self._file.close()
        number = self._lengths.size
        with self._index.open("wb") as file:
            file.write(_MAGIC)
            file.write(struct.pack("<QBQQ", _VERSION, _CODES[self._dtype], number, number + 1))
            for lengths in self._lengths.parts():
                file.write(lengths.data)
            begin = 0
            for lengths in self._lengths.parts():
                ends = begin + np.cumsum(lengths, dtype="<i8")
                file.write((ends - lengths) * self._dtype.itemsize)
                begin = int(ends[-1])
            for first in range(0, number + 1, _COUNTED):
                file.write(np.arange(first, min(first + _COUNTED, number + 1), dtype="<i8").data)
        return {}

    def close(self) -> None:
        """Close all files."""
        close_all(self._file.close, self._lengths.close)
