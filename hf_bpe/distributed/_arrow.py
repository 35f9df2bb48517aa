"""Ids for columns of Arrow: what Ray Data, Spark and others call for each batch of rows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence, Sized
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hf_bpe._utils.arguments import (
    at_least,
    check_flag,
    check_str,
    check_strs,
    checked,
    checks_of,
    one_of,
    optional,
    with_options,
)
from hf_bpe._utils.paths import output_url
from hf_bpe._utils.processes import threads_of
from hf_bpe._utils.tables import check_arrow
from hf_bpe.encoding._arrow_texts import as_lists, encode_arrow, framed_rows, import_arrow
from hf_bpe.encoding._randomness import Randomness
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.token_files._options import TextKeywords, TextOptions
from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

if TYPE_CHECKING:
    from typing_extensions import Unpack

Rows = TypeVar("Rows")  # a RecordBatch or a Table

_pipelines: dict[str, Pipeline] = {}  # of this process, by path


def _check_tokenizer(name: str, value: object) -> str | BPETokenizer:
    if isinstance(value, (str, os.PathLike)):
        return output_url(value) or str(Path(value).absolute())
    if not isinstance(value, BPETokenizer):
        raise TypeError(f"{name}: expected a path or a BPETokenizer, got {type(value).__name__}")
    return value


class ArrowEncoder:
    """Encode a column of text of record batches and tables; to be called for each.

    It pickles as the path of a tokenizer, which each process loads once when it first encodes, or as a tokenizer. Text
    is read in Arrow's own buffers, so no Python object is made for a row.

    Args:
        tokenizer: a folder or file of a tokenizer, which all workers see under this name; or a `BPETokenizer`.
        column: the column of strings; null stays null.
        output: the column of ids, which is replaced if it is there, and else added after the others.
        columns: the columns of the input that are passed on; None for all.
        separator: a token to put after each text that has ids; None for none. In a text it is ordinary text then.
        begin_token: a token to put before each text that has ids.
        max_length: the most ids of a row, with these two tokens; ids of text are cut off at the end.
        split_special_tokens: as in `BPETokenizer.encode_to_numpy`.
        dropout, seed: as in `BPETokenizer.encode_to_lists`, for `first_text`.
        first_text: with dropout, the column of integers that hold the number of each text; the ids depend on it.
        dtype: the type of ids: "uint32"; "int32" or "int64" for engines without unsigned numbers, such as Spark.
        large: make lists with offsets of 64 bits, for more than 2³¹ ids a batch.
        num_workers: number of threads; None for one per core. Engines run a process for each core, so the default is 1.

    Raises:
        ImportError: pyarrow is not installed.
        TypeError, ValueError: an argument is invalid, or a token is not one of the tokenizer.

    >>> import pyarrow as pa
    >>> tokenizer = BPETokenizer.train(["low lower"], vocab_size=258, special_tokens=["<|endoftext|>"])
    >>> encode = ArrowEncoder(tokenizer, separator="<|endoftext|>")
    >>> table = encode(pa.table({"text": ["low", None, ""], "id": [7, 8, 9]}))
    >>> table.column_names, table["input_ids"].to_pylist()
    (['text', 'id', 'input_ids'], [[108, 257, 256], None, []])
    """

    @checked(
        tokenizer=_check_tokenizer,
        column=check_str,
        output=check_str,
        columns=optional(check_strs),
        max_length=optional(at_least(1)),
        first_text=optional(check_str),
        dtype=one_of("uint32", "int32", "int64"),
        large=check_flag,
        num_workers=optional(at_least(1)),
        **checks_of(TextOptions),
    )
    @with_options(TextOptions)
    def __init__(
        self,
        tokenizer: str | os.PathLike[str] | BPETokenizer,
        column: str = "text",
        output: str = "input_ids",
        *,
        columns: Sequence[str] | None = None,
        max_length: int | None = None,
        first_text: str | None = None,
        dtype: str = "uint32",
        large: bool = False,
        num_workers: int | None = 1,
        **options: Unpack[TextKeywords],
    ) -> None:
        import_arrow()
        self.tokenizer, self._column, self._output, self._columns = tokenizer, column, output, columns
        self._options, self._max_length, self._first_text = TextOptions(**options), max_length, first_text
        self._dtype, self._is_large, self._num_workers = dtype, large, num_workers
        self._random = Randomness.from_arguments(self._options.dropout, self._options.seed)
        if (self._options.dropout is not None) != (first_text is not None):
            raise ValueError(
                "first_text: expected a column with the number of each text for dropout, and only for that, got "
                f"{first_text!r}; batches come in any order, so the place of a row is not its number"
            )
        extra = [each for each in (self._options.separator, self._options.begin_token) if each is not None]
        if max_length is not None and max_length < len(extra):
            raise ValueError(f"max_length: expected at least {len(extra)}, the number of {extra}, got {max_length}")
        if isinstance(tokenizer, BPETokenizer):
            self._token_ids(tokenizer.pipeline)

    def __call__(self, rows: Rows) -> Rows:
        """Return a record batch or table with the column of ids.

        Raises:
            TypeError: the argument is neither, or the column holds no strings.
            ValueError: there is no such column, or several, or one is damaged; or ids do not fit the type or the lists.
        """
        arrow = import_arrow()
        data: Any = rows
        if not isinstance(data, (arrow.RecordBatch, arrow.Table)):
            raise TypeError(f"rows: expected a RecordBatch or a Table of pyarrow, got {type(data).__name__}")
        texts = self._one_column(data, self._column)
        numbers = None if self._first_text is None else self._numbers(data)
        lists = self._lists(arrow, texts, numbers)
        ids = lists[0] if isinstance(data, arrow.RecordBatch) else arrow.chunked_array(lists, self._type(arrow))
        kept = data.column_names if self._columns is None else [*self._columns]
        columns = {name: self._one_column(data, name) for name in kept}
        columns[self._output] = ids
        schema = self.schema(data.schema)
        made = type(data).from_arrays([columns[name] for name in schema.names], schema=schema)
        return made  # type: ignore[no-any-return]

    def map(self, batches: Iterable[Rows]) -> Iterator[Rows]:
        """Yield each record batch with the column of ids, as Spark's `mapInArrow` calls it."""
        for batch in batches:
            yield self(batch)

    def schema(self, schema: Any) -> Any:
        """Return the schema of results, given the schema of the rows."""
        arrow = import_arrow()
        kept = schema.names if self._columns is None else [*self._columns]
        field = arrow.field(self._output, self._type(arrow))
        fields = [field if name == self._output else schema.field(name) for name in kept]
        return arrow.schema(fields if self._output in kept else [*fields, field])

    def _type(self, arrow: Any) -> Any:
        make = arrow.large_list if self._is_large else arrow.list_
        return make(getattr(arrow, self._dtype)())

    def _one_column(self, rows: Any, name: str) -> Any:
        there = rows.schema.names.count(name)
        if there != 1:
            raise ValueError(f"expected one column {name!r}, got {there or 'none'} among {rows.schema.names[:20]}")
        return rows.column(name)

    def _numbers(self, rows: object) -> list[int]:
        column = self._one_column(rows, str(self._first_text))
        check_arrow("first_text", column)
        numbers: list[int] = column.to_pylist()
        if not all(isinstance(number, int) for number in numbers):
            raise ValueError(f"first_text: expected an integer in each row of {self._first_text!r}")
        return numbers

    def _pipeline(self) -> Pipeline:
        if isinstance(self.tokenizer, BPETokenizer):
            return self.tokenizer.pipeline
        path = str(self.tokenizer)
        if path not in _pipelines:
            _pipelines[path] = BPETokenizer.convert_from(path).pipeline
        return _pipelines[path]

    def _token_ids(self, pipeline: Pipeline) -> tuple[int | None, int | None]:
        """Return the ids before and after each text."""
        end = pipeline.named_token_id("separator", self._options.separator)
        return pipeline.named_token_id("begin_token", self._options.begin_token), end

    def _lists(self, arrow: object, texts: Sized, numbers: list[int] | None) -> list[object]:
        """Return the lists of ids, one for each group of chunks of the texts."""
        pipeline, separator = self._pipeline(), self._options.separator
        begin, end = self._token_ids(pipeline)
        encoder = pipeline.encoder
        if separator is not None:
            encoder = pipeline.encoder_without(lambda token: token.content == separator)
        random = self._random if numbers is None else self._random._replace(first_text=numbers)
        options = random.options(pipeline.options(self._options.split_special_tokens), len(texts))
        threads = threads_of(self._num_workers)
        lists = []
        for ids, offsets, nulls in encode_arrow(encoder, self._column, texts, options, threads):
            framed = framed_rows(ids, offsets, begin, end, self._max_length)
            lists.append(as_lists(*framed, nulls, self._type(arrow)))
        return lists
