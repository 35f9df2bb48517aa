"""The file next to token files that says where each row is from: a Parquet file with a row for each of theirs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hf_bpe.token_files._rows import GROUP_CHARACTERS, RECORD, Chunk, Values, characters_of
from hf_bpe.token_files._writer import RowLengths, TokenWriter, close_all

SUFFIX = ".document-index.parquet"
TOKENS = "tokens"  # the column of the number of ids, which some formats say nowhere else

_GROUP_ROWS = 1 << 16


class WithDocumentIndex(TokenWriter):
    """Another writer, and one of the rows that it is given.

    Args:
        paths: the files of the other writer, and that of the index.
        make: returns the other writer.
        columns: the names of the columns, and their types as Arrow names them.
    """

    def __init__(
        self, paths: Sequence[Path], make: Callable[[Sequence[Path]], TokenWriter], columns: Mapping[str, str]
    ) -> None:
        arrow, parquet = _pyarrow()
        types = {**columns, TOKENS: "int64"}
        self._schema = arrow.schema([(name, arrow.type_for_alias(kind)) for name, kind in types.items()])
        self._record_batch = arrow.record_batch
        self._rows: list[Values] = []
        self._tokens: list[int] = []
        self._characters = 0
        self._lengths = RowLengths()
        self._inner = make(paths[:-1])
        # Most records are one more than the record before, which takes no room in this encoding.
        packed = dict.fromkeys((RECORD, TOKENS), "DELTA_BINARY_PACKED")
        self._writer = parquet.ParquetWriter(
            paths[-1],
            self._schema,
            compression="zstd",
            use_dictionary=[name for name in types if name not in packed],
            column_encoding=packed,
        )

    def append(self, chunk: Chunk) -> None:
        """Append rows; see `TokenWriter`."""
        self._inner.append(chunk)
        lengths = self._lengths.of(chunk.ids, chunk.ends).tolist()
        for number, length in enumerate(lengths):
            row = chunk.values[number]
            self._rows.append(row)
            self._tokens.append(length)
            self._characters += characters_of(row)
            if len(self._rows) == _GROUP_ROWS or self._characters >= GROUP_CHARACTERS:
                self._write_group()

    def _write_group(self) -> None:
        columns = [*zip(*self._rows, strict=True), self._tokens]
        batch = self._record_batch([[*column] for column in columns], schema=self._schema)
        self._writer.write_batch(batch, row_group_size=_GROUP_ROWS)
        self._rows, self._tokens, self._characters = [], [], 0

    def finish(self) -> Mapping[str, Any]:
        """Complete the files of both."""
        if self._rows:
            self._write_group()
        self._writer.close()
        return self._inner.finish()

    def close(self) -> None:
        """Close the files of both."""
        close_all(self._writer.close, self._inner.close)


def _pyarrow() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(
            "document_index: writing it needs pyarrow, which is not installed; pip install 'hf_bpe[parquet]'"
        ) from None
