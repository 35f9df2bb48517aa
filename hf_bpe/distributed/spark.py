"""Encode frames on the workers of a Spark cluster."""

from __future__ import annotations

import importlib
import os
from typing import Any

from hf_bpe.distributed._arrow import ArrowEncoder
from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

__all__ = ["encode"]


def encode(
    frame: Any, tokenizer: str | os.PathLike[str] | BPETokenizer, *, dtype: str = "int32", **options: Any
) -> Any:
    """Return a Spark frame with a column of ids, an array of integers.

    Spark runs a task again whose worker is lost, up to `spark.task.maxFailures` times.

    Args:
        frame: a `pyspark.sql.DataFrame`, of a classic session or of Spark Connect.
        tokenizer: a folder or file of a tokenizer, which all workers see under this name, or its URL; or a
            `BPETokenizer`.
        dtype: "int32" or "int64", for Spark has no unsigned numbers.
        options: the others of `ArrowEncoder`, except `large`.

    Raises:
        ImportError: pyspark or pyarrow is not installed.
        TypeError, ValueError: an option is invalid, or there is no such column.
    """
    try:
        types = importlib.import_module("pyspark.sql.types")
    except ImportError as error:
        raise ImportError("work on Spark needs pyspark: pip install 'hf_bpe[spark]'") from error
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
