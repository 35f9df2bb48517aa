"""Parquet and Arrow files with the ids of a row as the column `input_ids`, as datasets and trl read them.

The other columns of documents follow it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType

import numpy as np

from hf_bpe.encoding._encoder import Ids
from hf_bpe.token_files._loss_masks import MASK_COLUMN, split_mask
from hf_bpe.token_files._packing import Chunk, Details, Dtype, Values, whole_rows

COLUMN = "input_ids"

_GROUP_ROWS, _GROUP_IDS = 1 << 16, 1 << 24  # of a group of rows; whichever is reached first
_GROUP_CHARACTERS = 1 << 26  # of the values of a group, because Arrow limits a column of them to 2 GiB


def write_columns(
    paths: Sequence[Path], chunks: Iterable[Chunk], dtype: Dtype, columns: Sequence[str] = (), has_mask: bool = False
) -> Details:
    """Write a Parquet file or, by its suffix, Arrow's stream format, as in the cache of datasets."""
    path = paths[0]
    arrow, schema = _schema(path, columns, has_mask)
    with ExitStack() as stack:
        if path.suffix == ".parquet":
            made = importlib.import_module("pyarrow.parquet").ParquetWriter(path, schema, compression="zstd")
        else:
            made = arrow.ipc.new_stream(stack.enter_context(path.open("wb")), schema)
        writer = stack.enter_context(made)
        for batch in _batches(arrow, schema, chunks, has_mask):
            writer.write_batch(batch)
    return {}


def _schema(path: Path, columns: Sequence[str], has_mask: bool) -> tuple[ModuleType, object]:
    """Return pyarrow, and the columns of a file."""
    try:
        arrow = importlib.import_module("pyarrow")
    except ImportError:
        raise ImportError(
            f"writing {path.suffix} files needs pyarrow, which is not installed; pip install 'hf_bpe[parquet]'"
        ) from None
    strings = [(name, arrow.string()) for name in columns]
    masks = [(MASK_COLUMN, arrow.list_(arrow.uint8()))] if has_mask else []
    return arrow, arrow.schema([(COLUMN, arrow.list_(arrow.uint32())), *masks, *strings])


def _batches(arrow: ModuleType, schema: object, chunks: Iterable[Chunk], has_mask: bool) -> Iterator[object]:
    """Yield rows in groups, whose limits depend on the rows alone."""
    group: list[Ids] = []
    values: list[Values] = []
    size = characters = 0
    for ids, ends, rows in whole_rows(chunks, np.uint32):
        start = 0
        for number, end in enumerate(ends.tolist()):
            for row in rows[number : number + 1]:
                values.append(row)
                characters += sum(map(len, filter(None, row)))
            group.append(ids[start:end])
            size += end - start
            start = end
            if len(group) == _GROUP_ROWS or size >= _GROUP_IDS or characters >= _GROUP_CHARACTERS:
                yield _batch(arrow, schema, group, values, has_mask)
                group, values = [], []
                size = characters = 0
    if group:
        yield _batch(arrow, schema, group, values, has_mask)


def _batch(arrow: ModuleType, schema: object, group: Sequence[Ids], values: Sequence[Values], has_mask: bool) -> object:
    offsets = arrow.array(np.cumsum([0, *map(len, group)]), arrow.int32())
    ids = np.concatenate(group)
    lists = split_mask(ids) if has_mask else (ids,)
    columns = [arrow.ListArray.from_arrays(offsets, arrow.array(each)) for each in lists]
    strings = [[*column] for column in zip(*values, strict=True)]
    return arrow.record_batch([*columns, *strings], schema=schema)
