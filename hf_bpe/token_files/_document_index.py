"""The file next to token files that says where each row is from: a Parquet file with a row for each of theirs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hf_bpe._utils.input_files import open_regular
from hf_bpe.encoding._encoder import Numbers
from hf_bpe.token_files._rows import GROUP_CHARACTERS, RECORD, Chunk, Values, characters_of
from hf_bpe.token_files._writer import RowLengths, TokenWriter, close_all

SUFFIX = ".document-index.parquet"
TOKENS = "tokens"  # the column of the number of ids, which some formats say nowhere else

_GROUP_ROWS = 1 << 16
_ROWS_AT_ONCE = 1 << 14


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
        arrow, parquet = _pyarrow("writing")
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


def with_document_index(chunks: Iterator[Chunk], path: Path, names: Sequence[str]) -> Iterator[Chunk]:
    """Yield the rows of token files whose format does not say where rows end, by their index and with its values.

    Raises:
        ValueError: the index is damaged, or not of these files.
    """
    rows = _read(path, names)
    ends: Numbers = np.empty(0, np.int64)
    values: list[Values] = []
    done = read = 0  # ids that were yielded, and that the rows which were read have
    for chunk in chunks:
        stop = done + len(chunk.ids)
        while read <= stop and (part := next(rows, None)) is not None:
            more = read + np.cumsum(part[0])
            ends, values = np.concatenate([ends, more]), values + part[1]
            read = int(more[-1]) if len(more) else read
        number = int(np.searchsorted(ends, stop, "right"))
        yield chunk._replace(ends=ends[:number] - done, values=values[: number + 1])
        ends, values, done = ends[number:], values[number:], stop
    if read != done or len(ends) or next(rows, None) is not None:
        raise ValueError(f"{path} is damaged, or of other files: its rows have {read} ids, expected {done}")


def _read(path: Path, names: Sequence[str]) -> Iterator[tuple[Numbers, list[Values]]]:
    """Yield the numbers of ids of rows, and their values."""
    arrow, parquet = _pyarrow("reading")
    with open_regular(path) as opened:
        try:
            for batch in parquet.ParquetFile(opened).iter_batches(batch_size=_ROWS_AT_ONCE):
                values = [*zip(*(batch.column(name).to_pylist() for name in names), strict=True)]
                yield batch.column(TOKENS).to_numpy(), values
        except (arrow.ArrowInvalid, KeyError) as error:
            raise ValueError(f"{path} is damaged: {error}") from None


def _pyarrow(what: str) -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(
            f"document_index: {what} it needs pyarrow, which is not installed; pip install 'hf_bpe[parquet]'"
        ) from None
