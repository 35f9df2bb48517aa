"""Files with nothing but ids, or ids after a header: NumPy's, nanoGPT's and llm.c's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hf_bpe.token_files._packing import Chunk, Details, Dtype

MAX_LLMC_IDS = 2**31 - 1

_LLMC_HEADER = 256  # int32 numbers
_LLMC_KINDS = {2: (20240520, 1), 4: (20240801, 7)}  # bytes of an id → magic number and version


def write_npy(paths: Sequence[Path], chunks: Iterable[Chunk], dtype: Dtype) -> Details:
    """Write arrays for `numpy.load`: the ids, and the int64 offsets at which rows begin, with the end of the last."""
    size, rows = 0, 0
    with paths[0].open("wb") as ids_file, paths[1].open("wb") as offsets_file:
        ids_file.write(_npy_header(dtype, 0))
        offsets_file.write(_npy_header(np.int64, 0))
        offsets_file.write(np.zeros(1, np.int64).data)
        for ids, ends, _ in chunks:
            offsets_file.write(np.ascontiguousarray(ends + size, np.int64).data)
            ids_file.write(np.ascontiguousarray(ids, dtype).data)
            size, rows = size + len(ids), rows + len(ends)
        ids_file.seek(0)
        ids_file.write(_npy_header(dtype, size))
        offsets_file.seek(0)
        offsets_file.write(_npy_header(np.int64, rows + 1))
    return {}


def _npy_header(dtype: npt.DTypeLike, size: int) -> bytes:
    # numpy leaves room for a first dimension of any length, so the header of an empty array has the final length.
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": (size,)}
    buffer = BytesIO()
    np.lib.format.write_array_header_1_0(buffer, header)
    return buffer.getvalue()


def write_ids(
    paths: Sequence[Path],
    chunks: Iterable[Chunk],
    dtype: Dtype,
    header: Callable[[int], bytes] = lambda size: b"",
) -> Details:
    """Write ids after a header about their number, by default none, as nanoGPT maps them into memory."""
    size = 0
    with paths[0].open("wb") as file:
        file.write(header(0))
        for ids, _, _ in chunks:
            file.write(np.ascontiguousarray(ids, dtype).data)
            size += len(ids)
        file.seek(0)
        file.write(header(size))
    return {}


def write_llmc(paths: Sequence[Path], chunks: Iterable[Chunk], dtype: Dtype) -> Details:
    """Write ids after 256 int32: a magic number, a version and the number of ids."""

    def header(size: int) -> bytes:
        numbers = np.zeros(_LLMC_HEADER, "<i4")
        numbers[:3] = *_LLMC_KINDS[dtype.itemsize], size
        return numbers.tobytes()

    return write_ids(paths, chunks, dtype, header)
