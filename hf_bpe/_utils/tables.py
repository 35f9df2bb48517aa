"""Tables and other values that are mistaken for a list of texts, recognized without importing their libraries.

Iterating over a table gives the names of its columns, or the columns, so it is refused wherever texts are expected.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_ROWS = 1 << 12  # that are converted at a time
_AS_BINARY = {"string": "binary", "large_string": "large_binary", "string_view": "binary_view"}


def is_dataset(value: object) -> bool:
    """Return whether a value is a dataset of the library `datasets`, in memory or streaming."""
    return all(hasattr(type(value), name) for name in ("column_names", "with_format", "select_columns", "iter"))


def refuse_tables(name: str, value: Any, expected: str = "texts") -> None:
    """Raise a TypeError if a value is a table, a mapping, an array of numbers, or one of several dimensions.

    Columns and arrays of one dimension pass: of numpy, pandas, polars, pyarrow and datasets.
    """
    kind = type(value)
    dtype = getattr(value, "dtype", None)
    # In the class, because the columns of a lazy table are slow to look up.
    has_columns = hasattr(kind, "columns") or hasattr(kind, "column_names") or getattr(dtype, "names", None)
    if isinstance(value, Mapping):
        if has_columns:
            problem = "stands for the names of its splits; give a column of one, such as dataset['train']['text']"
        else:
            key = "text" if "text" in value else next(iter(value), None)
            has_lists = isinstance(value.get(key), Iterable)
            problem = f"stands for its keys; give {f'a value, such as data[{key!r}]' if has_lists else 'a list'}"
    elif has_columns:
        problem = "stands for its columns; give the one with the text, such as data['text']"
    elif getattr(value, "ndim", 1) != 1:
        problem = f"has {value.ndim} dimensions; give an array or list of one"
    elif getattr(dtype, "kind", "O") in "biufcmM":
        problem = f"holds values of the type {dtype}; give one of strings"
    else:
        return
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    raise TypeError(f"{name}: expected {expected}, got {article} {kind.__name__}, which {problem}")


def is_arrow(value: object) -> bool:
    """Return whether a value is an array or chunked array of Arrow, without importing pyarrow."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(value, (arrow.Array, arrow.ChunkedArray))


def check_arrow(name: str, value: Any) -> None:
    """Raise a ValueError if offsets, sizes or indices of an array of Arrow point beyond its buffers.

    Arrow reads streams without looking at these, and whatever is done with the array reads what they point at. Strings
    that are not UTF-8 pass.
    """
    arrow: Any = sys.modules["pyarrow"]
    for chunk in value.chunks if isinstance(value, arrow.ChunkedArray) else [value]:
        try:
            _as_binary(arrow, chunk).validate(full=True)
        except arrow.ArrowException as error:
            raise ValueError(f"{name}: damaged data of Arrow's type {chunk.type}: {error}; make them again") from None


def _as_binary(arrow: Any, array: Any) -> Any:
    """Return an array of strings as one of bytes with the same buffers, because validation would refuse non-UTF-8."""
    if arrow.types.is_dictionary(array.type):
        return arrow.DictionaryArray.from_arrays(array.indices, _as_binary(arrow, array.dictionary), safe=False)
    kind = _AS_BINARY.get(str(array.type))
    return array if kind is None else array.view(getattr(arrow, kind)())


def elements(name: str, value: Iterable[Any]) -> Iterator[Any]:
    """Yield the elements of an iterable; buffers of Arrow arrays are checked before objects are made of them."""
    if not hasattr(type(value), "to_pylist"):
        yield from value
        return
    column: Any = value
    for chunk in getattr(column, "chunks", [column]):
        if is_arrow(chunk):
            check_arrow(name, chunk)
        for start in range(0, len(chunk), _ROWS):
            yield from chunk[start : start + _ROWS].to_pylist()
