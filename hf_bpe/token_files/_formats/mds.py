"""Shards of MosaicML's streaming datasets, with the ids of a row as the column `tokens`."""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from hf_bpe.encoding._encoder import Ids
from hf_bpe.token_files._packing import Chunk, Details, Dtype, read_numbers, whole_rows

_CONFIG: dict[str, object] = {
    "version": 2,
    "format": "mds",
    "compression": None,
    "hashes": [],
    "size_limit": None,
    "column_names": ["tokens"],
    "column_encodings": ["ndarray:uint32"],
    "column_sizes": [None],
}
_HEADER = json.dumps(_CONFIG, sort_keys=True).encode()
_MAX_BYTES = 2**32 - 1  # of a shard, because its offsets are uint32
# An array of one dimension begins with the size of the type of its length, and the length.
_SHAPES = ((1 << 8, 1 << 2 | 0, "<u1"), (1 << 16, 1 << 2 | 1, "<u2"), (1 << 32, 1 << 2 | 2, "<u4"))


def write_mds(paths: Sequence[Path], chunks: Iterable[Chunk], dtype: Dtype) -> Details:
    """Write what `MDSWriter` writes without a limit of size for a column of the encoding `ndarray:uint32`."""
    path = paths[0]
    number = size = 0
    with (
        tempfile.TemporaryFile(dir=path.parent) as spool,
        tempfile.TemporaryFile(dir=path.parent) as samples_file,
    ):
        for ids, ends, _ in whole_rows(chunks, dtype):
            samples = [_sample(ids[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
            sizes = np.array([*map(len, samples)], "<u4")
            samples_file.write(b"".join(samples))
            spool.write(sizes.data)
            number, size = number + len(sizes), size + int(sizes.sum())
            if _begin(number) + size > _MAX_BYTES:
                raise ValueError(
                    f"got a shard of more than {_MAX_BYTES} bytes, the limit of MDS; give fewer shard_tokens"
                )
        begin = _begin(number)
        with path.open("wb") as file:
            file.write(struct.pack("<II", number, begin))
            for sizes in read_numbers(spool, "<u4"):
                ends = begin + np.cumsum(sizes, dtype="<u4")
                file.write(ends.astype("<u4").data)
                begin = int(ends[-1])
            file.write(_HEADER)
            samples_file.seek(0)
            shutil.copyfileobj(samples_file, file, 1 << 20)
    raw = {"basename": path.name, "bytes": _begin(number) + size, "hashes": {}}
    return {"samples": number, "raw_data": raw, "zip_data": None, **_CONFIG}


def _begin(number: int) -> int:
    """Return where the samples begin after their number, offsets and header."""
    return 4 + 4 * (number + 1) + len(_HEADER)


def make_index(shards: Sequence[Details]) -> Details:
    """Return the content of `index.json`."""
    return {"version": 2, "shards": [*shards]}


def _sample(ids: Ids) -> bytes:
    mark, kind = next((mark, kind) for maximum, mark, kind in _SHAPES if len(ids) < maximum)
    array = bytes([mark]) + np.array([len(ids)], kind).tobytes() + ids.tobytes()
    return struct.pack("<I", len(array)) + array
