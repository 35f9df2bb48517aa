"""Parquet and Arrow files with the ids of a row as the column `input_ids`, as datasets and trl read them.

The other columns of documents follow it.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe.encoding._encoder import Ids
from hf_bpe.token_files._formats.writer import TokenWriter, WholeRows, close_all
from hf_bpe.token_files._loss_masks import MASK_COLUMN, split_mask
from hf_bpe.token_files._packing import Chunk, Values

COLUMN = "input_ids"

_GROUP_ROWS, _GROUP_IDS = 1 << 16, 1 << 24  # of a group of rows; whichever is reached first
_GROUP_CHARACTERS = 1 << 26  # of the values of a group, because Arrow limits a column of them to 2 GiB


class _RowGroupFile(TokenWriter):
    """Rows in groups, whose limits depend on the rows alone."""

    def __init__(
        self,
        paths: Sequence[Path],
        dtype: npt.DTypeLike,
        columns: Sequence[str] = (),
        has_mask: bool = False,
    ) -> None:
        try:
            self._pyarrow = importlib.import_module("pyarrow")
        except ImportError:
            raise ImportError(
                f"writing {paths[0].suffix} files needs pyarrow, which is not installed; pip install 'hf_bpe[parquet]'"
            ) from None
        strings = [(name, self._pyarrow.string()) for name in columns]
        masks = [(MASK_COLUMN, self._pyarrow.list_(self._pyarrow.uint8()))] if has_mask else []
        self._schema = self._pyarrow.schema([(COLUMN, self._pyarrow.list_(self._pyarrow.uint32())), *masks, *strings])
        self._has_mask = has_mask
        self._rows = WholeRows()
        self._values: list[Values] = []
        self._group: list[Ids] = []
        self._lengths: list[int] = []
        self._ids = self._characters = 0
        self._is_closed = False
        self._writer = self._open(paths[0])

    def _open(self, path: Path) -> Any:
        raise NotImplementedError

    def append(self, chunk: Chunk) -> None:
        """Append rows; see `TokenWriter`."""
        whole, ends = self._rows.of(np.ascontiguousarray(chunk.ids, np.uint32), chunk.ends)
        start = 0
        for number, end in enumerate(ends.tolist()):
            for row in chunk.values[number : number + 1]:
                self._values.append(row)
                self._characters += sum(map(len, filter(None, row)))
            self._group.append(whole[start:end])
            self._lengths.append(end - start)
            self._ids += end - start
            start = end
            is_full = len(self._lengths) == _GROUP_ROWS or self._ids >= _GROUP_IDS
            if is_full or self._characters >= _GROUP_CHARACTERS:
                self._write_group()

    def _write_group(self) -> None:
        arrow = self._pyarrow
        offsets = arrow.array(np.cumsum([0, *self._lengths]), arrow.int32())
        ids = np.concatenate([np.empty(0, np.uint32), *self._group])
        lists = split_mask(ids) if self._has_mask else (ids,)
        columns = [arrow.ListArray.from_arrays(offsets, arrow.array(values)) for values in lists]
        strings = [[*values] for values in zip(*self._values, strict=True)]
        self._writer.write_batch(arrow.record_batch([*columns, *strings], schema=self._schema))
        self._values, self._group, self._lengths = [], [], []
        self._ids = self._characters = 0

    def finish(self) -> Mapping[str, Any]:
        """Write the last group."""
        if self._lengths:
            self._write_group()
        self.close()  # so that the file has its size
        return {}

    def close(self) -> None:
        """Close the file."""
        if not self._is_closed:
            self._is_closed = True
            self._writer.close()


class ParquetFile(_RowGroupFile):
    """A Parquet file."""

    def _open(self, path: Path) -> Any:
        return importlib.import_module("pyarrow.parquet").ParquetWriter(path, self._schema, compression="zstd")


class ArrowFile(_RowGroupFile):
    """Arrow's stream format, as in the cache of datasets."""

    def _open(self, path: Path) -> Any:
        self._file = path.open("wb")
        return self._pyarrow.ipc.new_stream(self._file, self._schema)

    def close(self) -> None:
        """Close the file."""
        close_all(super().close, self._file.close)
