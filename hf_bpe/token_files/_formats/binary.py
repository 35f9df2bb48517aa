"""Files with nothing but ids, or ids after a header: NumPy's, nanoGPT's and llm.c's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe.encoding._streaming import NpyWriter
from hf_bpe.token_files._formats.writer import TokenWriter, close_all
from hf_bpe.token_files._packing import Chunk

MAX_LLMC_IDS = 2**31 - 1

_LLMC_HEADER = 256  # int32 numbers
_LLMC_KINDS = {2: (20240520, 1), 4: (20240801, 7)}  # bytes of an id → magic number and version


class NpyFiles(TokenWriter):
    """Arrays for `numpy.load`: the ids, and the int64 offsets at which rows begin, with the end of the last."""

    def __init__(self, paths: Sequence[Path], dtype: npt.DTypeLike) -> None:
        self._ids, self._offsets = NpyWriter(paths[0], dtype), NpyWriter(paths[1], np.int64)
        self._offsets.append(np.zeros(1, np.int64))
        self._is_done = False

    def append(self, chunk: Chunk) -> None:
        """Append rows; see `TokenWriter`."""
        ids, ends, _ = chunk
        self._offsets.append(ends + self._ids.size)
        self._ids.append(ids)

    def finish(self) -> Mapping[str, Any]:
        """Complete the files."""
        for array in (self._offsets, self._ids):
            array.__exit__(None)
        self._is_done = True
        return {}

    def close(self) -> None:
        """Close the files."""
        if not self._is_done:
            close_all(*(partial(array.__exit__, Exception) for array in (self._offsets, self._ids)))


class FlatFile(TokenWriter):
    """Ids without a header, as nanoGPT maps them into memory."""

    def __init__(self, paths: Sequence[Path], dtype: npt.DTypeLike) -> None:
        self._dtype = np.dtype(dtype)
        self._size = 0
        self._file = paths[0].open("wb")
        self._file.write(self._header())

    def _header(self) -> bytes:
        return b""

    def append(self, chunk: Chunk) -> None:
        """Append rows; where they end is not stored."""
        ids = chunk.ids
        self._file.write(np.ascontiguousarray(ids, self._dtype).data)
        self._size += len(ids)

    def finish(self) -> Mapping[str, Any]:
        """Write the header again, with the number of ids."""
        self._file.seek(0)
        self._file.write(self._header())
        self._file.close()
        return {}

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class LlmcFile(FlatFile):
    """Ids after 256 int32: a magic number, a version and the number of ids."""

    def _header(self) -> bytes:
        header = np.zeros(_LLMC_HEADER, "<i4")
        header[:3] = *_LLMC_KINDS[self._dtype.itemsize], self._size
        return header.tobytes()
