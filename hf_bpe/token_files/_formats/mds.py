"""Shards of MosaicML's streaming datasets, with the ids of a row as the column `tokens`."""

from __future__ import annotations

import json
import shutil
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe.encoding._encoder import Ids
from hf_bpe.token_files._formats.writer import Spool, TokenWriter, WholeRows, close_all
from hf_bpe.token_files._packing import Chunk

_CONFIG: dict[str, Any] = {
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


class MdsFile(TokenWriter):
    """The output of `MDSWriter` without a limit of size for samples with a column of the encoding `ndarray:uint32`."""

    def __init__(self, paths: Sequence[Path], dtype: npt.DTypeLike) -> None:
        self._path = paths[0]
        self._sizes = Spool(self._path.parent, "<u4")
        self._rows = WholeRows()
        self._samples = tempfile.TemporaryFile(dir=self._path.parent)  # noqa: SIM115
        self._bytes = 0

    def append(self, chunk: Chunk) -> None:
        """Append rows; see `TokenWriter`."""
        ids, ends, _ = chunk
        whole, ends = self._rows.of(np.ascontiguousarray(ids, "<u4"), ends)
        samples = [_sample(whole[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=False)]
        sizes = [*map(len, samples)]
        self._bytes += sum(sizes)
        self._samples.write(b"".join(samples))
        self._sizes.append(np.array(sizes, "<u4"))
        if self._bytes_in_all() > _MAX_BYTES:
            raise ValueError(f"got a shard of more than {_MAX_BYTES} bytes, the limit of MDS; give fewer shard_tokens")

    def _bytes_in_all(self) -> int:
        return 4 + 4 * (self._sizes.size + 1) + len(_HEADER) + self._bytes

    def finish(self) -> Mapping[str, Any]:
        """Write number, offsets, header and samples."""
        number = self._sizes.size
        begin = 4 + 4 * (number + 1) + len(_HEADER)
        with self._path.open("wb") as file:
            file.write(struct.pack("<II", number, begin))
            for sizes in self._sizes.parts():
                ends = begin + np.cumsum(sizes, dtype="<u4")
                file.write(ends.astype("<u4").data)
                begin = int(ends[-1])
            file.write(_HEADER)
            self._samples.seek(0)
            shutil.copyfileobj(self._samples, file, 1 << 20)
        raw = {"basename": self._path.name, "bytes": self._bytes_in_all(), "hashes": {}}
        return {"samples": number, "raw_data": raw, "zip_data": None, **_CONFIG}

    def close(self) -> None:
        """Close all files."""
        close_all(self._samples.close, self._sizes.close)


def make_index(shards: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the content of `index.json`."""
    return {"version": 2, "shards": [*shards]}


def _sample(ids: Ids) -> bytes:
    mark, kind = next((mark, kind) for maximum, mark, kind in _SHAPES if len(ids) < maximum)
    array = bytes([mark]) + np.array([len(ids)], kind).tobytes() + ids.tobytes()
    return struct.pack("<I", len(array)) + array
