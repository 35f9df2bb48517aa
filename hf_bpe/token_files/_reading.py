"""Read the rows of token files again, in bounded memory, as the stream that they were written from."""

from __future__ import annotations

import importlib
import mmap
import struct
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.input_files import open_regular
from hf_bpe.encoding._encoder import Numbers
from hf_bpe.token_files._arrow import COLUMN
from hf_bpe.token_files._binary import LLMC_HEADER
from hf_bpe.token_files._megatron import CODES, MAGIC
from hf_bpe.token_files._rows import Chunk

_IDS_AT_ONCE = 1 << 22
_ROWS_AT_ONCE = 1 << 14

Reader = Callable[[Sequence[Path], npt.DTypeLike, Sequence[str]], Iterator[Chunk]]
"""Called with the files of a shard, the type of their ids and the names of other columns."""


def _map(path: Path, dtype: npt.DTypeLike, start: int = 0) -> npt.NDArray[Any]:
    """Return the numbers of a file from a position on, mapped into memory."""
    with open_regular(path) as file:
        size = file.seek(0, 2)
        if size <= start:
            return np.empty(0, dtype)
        if (size - start) % np.dtype(dtype).itemsize:
            raise ValueError(f"{path} is damaged: expected a multiple of {np.dtype(dtype).itemsize} bytes, got {size}")
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), dtype, offset=start)


def _in_chunks(path: Path, ids: npt.NDArray[Any], ends: Numbers) -> Iterator[Chunk]:
    """Yield ids in chunks, given where rows end, which may be nowhere."""
    if len(ends) and (int(ends[0]) < 0 or (np.diff(ends) < 0).any() or int(ends[-1]) != len(ids)):
        raise ValueError(f"{path} is damaged: its rows do not end within its {len(ids)} ids, in order")
    low = 0
    for start in range(0, len(ids), _IDS_AT_ONCE):
        stop = min(start + _IDS_AT_ONCE, len(ids))
        high = int(np.searchsorted(ends, stop, "right"))
        yield Chunk(ids[start:stop], ends[low:high] - start)
        low = high


def _read_npy(paths: Sequence[Path], dtype: npt.DTypeLike, copied: Sequence[str]) -> Iterator[Chunk]:
    arrays = []
    for path in paths:
        with open_regular(path):  # because numpy would block on a FIFO
            pass
        try:
            arrays.append(np.load(path, mmap_mode="r", allow_pickle=False))
        except (ValueError, EOFError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None
    ids, offsets = arrays
    if ids.dtype != dtype or offsets.dtype != np.int64 or (ids.ndim, offsets.ndim) != (1, 1) or len(offsets) == 0:
        raise ValueError(
            f"{paths[0]}: expected arrays of {np.dtype(dtype)} and int64, got {ids.dtype} and {offsets.dtype}"
        )
    return _in_chunks(paths[1], ids, offsets[1:])


def _read_megatron(paths: Sequence[Path], dtype: npt.DTypeLike, copied: Sequence[str]) -> Iterator[Chunk]:
    header = struct.Struct("<QBQQ")
    data = _map(paths[1], np.uint8)
    begin = len(MAGIC) + header.size
    if data[: len(MAGIC)].tobytes() != MAGIC or len(data) < begin:
        raise ValueError(f"{paths[1]} is damaged: expected an index of Megatron")
    _, code, rows, _ = header.unpack(data[len(MAGIC) : begin].tobytes())
    if len(data) < begin + 4 * rows or code != CODES[np.dtype(dtype)]:
        raise ValueError(f"{paths[1]} is damaged: expected {rows} rows of {np.dtype(dtype)}")
    lengths = np.frombuffer(data[begin : begin + 4 * rows].tobytes(), "<i4")
    return _in_chunks(paths[1], _map(paths[0], dtype), np.cumsum(lengths, dtype=np.int64))


def _read_datatrove(paths: Sequence[Path], dtype: npt.DTypeLike, copied: Sequence[str]) -> Iterator[Chunk]:
    return _in_chunks(paths[1], _map(paths[0], dtype), _map(paths[1], "<u8").astype(np.int64))


def _read_flat(paths: Sequence[Path], dtype: npt.DTypeLike, copied: Sequence[str]) -> Iterator[Chunk]:
    return _in_chunks(paths[0], _map(paths[0], dtype), np.empty(0, np.int64))


def _read_llmc(paths: Sequence[Path], dtype: npt.DTypeLike, copied: Sequence[str]) -> Iterator[Chunk]:
    return _in_chunks(paths[0], _map(paths[0], dtype, 4 * LLMC_HEADER), np.empty(0, np.int64))


def _read_mds(paths: Sequence[Path], dtype: npt.DTypeLike, copied: Sequence[str]) -> Iterator[Chunk]:
    data = _map(paths[0], np.uint8)
    rows = int.from_bytes(data[:4].tobytes(), "little")
    offsets = np.frombuffer(data[4 : 8 + 4 * rows].tobytes(), "<u4").astype(np.int64)
    if len(offsets) != rows + 1 or (np.diff(offsets) < 0).any() or offsets[-1] != len(data):
        raise ValueError(f"{paths[0]} is damaged: its samples do not end within it, in order")
    for first in range(0, rows, _ROWS_AT_ONCE):
        bounds = offsets[first : first + _ROWS_AT_ONCE + 1].tolist()
        # The size of the array, a mark for the type of its length, and the length itself, of 1, 2 or 4 bytes.
        samples = [data[start + 5 + (1 << (int(data[start + 4]) & 3)) : stop] for start, stop in pairwise(bounds)]
        ends = np.cumsum([len(sample) // 4 for sample in samples], dtype=np.int64)
        yield Chunk(np.frombuffer(np.concatenate(samples).tobytes(), dtype), ends)


def _read_table(paths: Sequence[Path], dtype: npt.DTypeLike, copied: Sequence[str]) -> Iterator[Chunk]:
    try:
        arrow = importlib.import_module("pyarrow")
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(
            f"reading {paths[0].suffix} files needs pyarrow, which is not installed; pip install 'hf_bpe[parquet]'"
        ) from None
    with open_regular(paths[0]) as opened:
        try:
            if paths[0].suffix == ".parquet":
                batches = parquet.ParquetFile(opened).iter_batches(batch_size=_ROWS_AT_ONCE)
            else:
                batches = iter(arrow.ipc.open_stream(opened))
            for batch in batches:
                batch.validate(full=True)  # a stream is read without looking into its buffers
                rows = batch.column(COLUMN)
                if rows.type != arrow.list_(arrow.uint32()):
                    raise ValueError(f"{paths[0]} is damaged: expected lists of uint32 as {COLUMN!r}, got {rows.type}")
                offsets = rows.offsets.to_numpy()
                ids = rows.values.to_numpy()[offsets[0] : offsets[-1]]
                values = [*zip(*(batch.column(name).to_pylist() for name in copied), strict=True)]
                yield Chunk(ids.astype(dtype, copy=False), (offsets[1:] - offsets[0]).astype(np.int64), values)
        except (arrow.ArrowException, KeyError) as error:
            raise ValueError(f"{paths[0]} is damaged: {error}") from None


READERS: dict[str, Reader] = {
    "npy": _read_npy,
    "megatron": _read_megatron,
    "datatrove": _read_datatrove,
    "nanogpt": _read_flat,
    "llm.c": _read_llmc,
    "mds": _read_mds,
    "parquet": _read_table,
    "arrow": _read_table,
}
"""Name of a format → reader of its shards."""
