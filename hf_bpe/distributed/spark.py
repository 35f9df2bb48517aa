"""Encode and count columns of Spark, and write token files by its tasks."""

from __future__ import annotations

import importlib
import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hf_bpe._utils.arguments import check_int, check_str
from hf_bpe.counting import _count as counting
from hf_bpe.counting._word_counts import FAN_IN, Settings, WordCounts
from hf_bpe.distributed._arrow import ArrowEncoder
from hf_bpe.distributed._parts import Parts
from hf_bpe.encoding._arrow_texts import import_arrow
from hf_bpe.pretokenizers._patterns import AnyPattern
from hf_bpe.token_files import EncodedFiles

__all__ = ["count", "encode", "encode_files"]

_COUNTS = "counts"  # a column of pickled counts


def encode(frame: Any, tokenizer: str | os.PathLike[str], *, dtype: str = "int32", **options: Any) -> Any:
    """Return a Spark frame with a column of ids, an array of integers.

    Args:
        frame: a `pyspark.sql.DataFrame`, of a classic session or of Spark Connect.
        tokenizer: a folder or file of a tokenizer, which all workers see under this name; or its URL.
        dtype: "int32" or "int64", for Spark has no unsigned numbers.
        options: the others of `ArrowEncoder`, except `large`.

    Raises:
        ImportError: pyspark or pyarrow is not installed.
        TypeError, ValueError: an option is invalid, or there is no such column.
    """
    types = _import_types()
    kinds = {"int32": types.IntegerType, "int64": types.LongType}
    if dtype not in kinds or options.pop("large", False):
        raise ValueError(f"dtype: expected 'int32' or 'int64', and not large, which Spark has not; got {dtype!r}")
    encoder = ArrowEncoder(tokenizer, dtype=dtype, **options)
    fields = {field.name: field for field in frame.schema.fields}
    output, columns = options.get("output", "input_ids"), options.get("columns")
    wanted = frame.columns if columns is None else [*columns]
    text = options.get("column", "text")
    if missing := [name for name in (text, *wanted) if name not in fields]:
        raise ValueError(f"expected a column {missing[0]!r}, got {frame.columns[:20]}")
    ids = types.StructField(output, types.ArrayType(kinds[dtype](), containsNull=False))
    kept = [ids if name == output else fields[name] for name in wanted]
    schema = types.StructType(kept if output in wanted else [*kept, ids])
    return frame.mapInArrow(encoder.map, schema)


def count(
    frame: Any,
    column: str = "text",
    *,
    pattern: AnyPattern = "gpt2",
    special_tokens: Sequence[str] = (),
    max_memory: int | str | None = None,
    merge_tasks: int = 8,
) -> WordCounts:
    """Count how often each pre-token occurs in a column of strings; see `hf_bpe.count`.

    Each task counts its rows, and sends its counts, not the text, to those that merge; this process merges what these
    send. Null is left out. Rows may be in any order.

    Args:
        frame: a `pyspark.sql.DataFrame`.
        column: the column of strings.
        pattern, special_tokens: as in `hf_bpe.count`.
        max_memory: limit for the memory of each task, as in `hf_bpe.count`; its counts must fit into 2 GiB.
        merge_tasks: the number of tasks that merge the counts of all others.

    Raises:
        ImportError: pyspark or pyarrow is not installed.
        ValueError: there is no such column.
    """
    types = _import_types()
    merge_tasks = check_int("merge_tasks", merge_tasks, 1)
    settings = Settings.checked(pattern, special_tokens)
    if check_str("column", column) not in frame.columns:
        raise ValueError(f"expected a column {column!r}, got {frame.columns[:20]}")
    schema = types.StructType([types.StructField(_COUNTS, types.BinaryType())])
    counted = frame.select(column).mapInArrow(_Counter(settings, max_memory), schema)
    merged = counted.repartition(merge_tasks).mapInArrow(_merge, schema)
    counts = _merged(row[_COUNTS] for row in merged.collect())
    return counting.count([], pattern=pattern, special_tokens=special_tokens) if counts is None else counts


def encode_files(
    session: Any,
    tokenizer: str | os.PathLike[str],
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    parts: int,
    work_dir: str | os.PathLike[str] | None = None,
    **options: Any,
) -> EncodedFiles:
    """Encode files to token files on the workers of Spark, a task for each part.

    The parts hold what one process would have written, see `shard` of `BPETokenizer.encode_files`. Spark runs a task
    again whose worker is lost (`spark.task.maxFailures`), and it writes the same bytes.

    Args:
        session: a `pyspark.sql.SparkSession`.
        tokenizer: a folder or file of a tokenizer.
        paths, output: as for `encode_files`. All these are on file systems that all workers see under these names.
        parts: the number of tasks; several for each core, so that none waits long for the last.
        work_dir: a folder for what is encoded, from which the same call resumes.
        options: those of `BPETokenizer.encode_files`, such as `format`; `num_workers` is 1 if it is not given.

    Returns:
        The files of all parts, after `merge_manifests`.

    Raises:
        ImportError: pyspark or pyarrow is not installed.
        pyspark.errors.PySparkException: a task failed, or its worker was lost too often.
    """
    types = _import_types()
    checked = Parts.checked(tokenizer, paths, output, parts, work_dir, {"num_workers": 1, **options})
    schema = types.StructType([types.StructField("id", types.LongType())])
    session.range(0, checked.number, 1, checked.number).mapInArrow(_EncodeParts(checked), schema).collect()
    return checked.merge()


class _Counter:
    def __init__(self, settings: Settings, max_memory: int | str | None) -> None:
        self._settings, self._max_memory = settings, max_memory

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        texts = (text for batch in batches for text in batch.column(0).drop_null().to_pylist())
        counts = counting.count(
            texts,
            pattern=self._settings.pattern,
            special_tokens=self._settings.special_tokens,
            num_workers=1,
            max_memory=self._max_memory,
        )
        yield _as_batch(counts)


def _merge(batches: Iterable[Any]) -> Iterator[Any]:
    counts = _merged(each for batch in batches for each in batch.column(0).to_pylist())
    if counts is not None:
        yield _as_batch(counts)


def _merged(pickled: Iterable[bytes]) -> WordCounts | None:
    """Return pickled counts as one, some merged at a time; None if there are none."""
    held: list[WordCounts] = []
    for each in pickled:
        held.append(pickle.loads(each))
        if len(held) == FAN_IN:
            held = [held[0].merge(*held[1:])]
    return held[0].merge(*held[1:]) if held else None


def _as_batch(counts: WordCounts) -> Any:
    arrow = import_arrow()
    return arrow.record_batch([arrow.array([pickle.dumps(counts)], arrow.binary())], names=[_COUNTS])


class _EncodeParts:
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for batch in batches:
            for part in batch.column(0).to_pylist():
                self._parts.encode(part)
            yield batch


def _import_types() -> Any:
    try:
        types = importlib.import_module("pyspark.sql.types")
    except ImportError as error:
        raise ImportError("work on Spark needs pyspark: pip install 'hf_bpe[spark]'") from error
    import_arrow()
    return types
