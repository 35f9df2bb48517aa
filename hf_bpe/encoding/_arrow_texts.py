"""Texts in arrays of Arrow, read from their buffers without a Python object for each; and lists of ids in Arrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.tables import check_arrow
from hf_bpe.encoding._encoder import Encoder, Ids, Numbers, Options
from hf_bpe.encoding._native_paths import encode_utf8

_TOGETHER = 1 << 26  # bytes of small chunks that are encoded together
_MAX_OFFSET = (1 << 31) - 1  # of a list with offsets of 32 bits
_OFFSET_DTYPES = {"string": np.int32, "binary": np.int32, "large_string": np.int64, "large_binary": np.int64}
_KINDS = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "null")


class ArrowTexts(NamedTuple):
    """Texts in one buffer: text i is `data[begins[i] : ends[i]]`."""

    data: Any  # a buffer of bytes
    # Where texts begin and end; a null is an empty text
    begins: Numbers
    ends: Numbers
    nulls: npt.NDArray[np.bool_] | None  # which texts are null; None if none is


class ArrowIds(NamedTuple):
    """The ids of texts: `Encoder.encode_to_numpy` says what `ids` and `offsets` are; `nulls` as in `ArrowTexts`."""

    ids: Ids
    offsets: Numbers
    nulls: npt.NDArray[np.bool_] | None


def import_arrow() -> Any:
    """Return pyarrow, or raise an ImportError that says how to install it."""
    try:
        return importlib.import_module("pyarrow")
    except ImportError:
        raise ImportError("Arrow needs pyarrow, which is not installed; pip install 'hf_bpe[parquet]'") from None


def arrow_texts(name: str, values: Any) -> Iterator[ArrowTexts]:
    """Yield the texts of an Arrow array of any string or binary type, also as a dictionary or a slice.

    Small chunks of a chunked array are taken together. Other values are a TypeError, damaged buffers a ValueError.
    """
    arrow = import_arrow()
    kind = values.type.value_type if arrow.types.is_dictionary(values.type) else values.type
    if str(kind) not in _KINDS:
        raise TypeError(f"{name}: expected strings, got Arrow's {values.type}; give a column of strings")
    if isinstance(values, arrow.Array):
        check_arrow(name, values)
        yield _texts(arrow, [values])
        return
    chunks: list[Any] = []
    size = 0
    for chunk in values.chunks:
        check_arrow(name, chunk)  # before nbytes, which reads offsets
        if chunks and size + chunk.nbytes > _TOGETHER:
            yield _texts(arrow, chunks)
            chunks, size = [], 0
        chunks.append(chunk)
        size += chunk.nbytes
    if chunks:
        yield _texts(arrow, chunks)


def _texts(arrow: Any, chunks: list[Any]) -> ArrowTexts:
    if len(chunks) > 1 or str(chunks[0].type) not in _OFFSET_DTYPES:
        binary = [_as_large_binary(arrow, chunk) for chunk in chunks]
        chunks = [binary[0] if len(binary) == 1 else arrow.concat_arrays(binary)]
    array, number = chunks[0], len(chunks[0])
    if number == 0:
        return ArrowTexts(b"", np.empty(0, np.int64), np.empty(0, np.int64), None)
    _, offsets, data = array.buffers()
    dtype = _OFFSET_DTYPES[str(array.type)]
    bounds = np.frombuffer(offsets, dtype, array.offset + number + 1)[array.offset :].astype(np.int64)
    begins, ends, nulls = bounds[:-1], bounds[1:], None
    if array.null_count:
        nulls = array.is_null().to_numpy(zero_copy_only=False)
        ends = np.where(nulls, begins, ends)  # what a null has means nothing
    return ArrowTexts(b"" if data is None else data, begins, ends, nulls)


def _as_large_binary(arrow: Any, array: Any) -> Any:
    if arrow.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(arrow.large_binary())


def encode_arrow(encoder: Encoder, name: str, values: Any, options: Options, threads: int) -> Iterator[ArrowIds]:
    """Yield the ids of the texts of an array of Arrow, of one or several of its chunks at a time.

    For `name` and `values` see `arrow_texts`, for the rest `Encoder.encode_to_numpy`.
    """
    done = 0
    for data, begins, ends, nulls in arrow_texts(name, values):
        part = options.for_texts(done, done + len(begins))
        yield ArrowIds(*encode_utf8(encoder, (data, begins, ends), part, threads), nulls)
        done += len(begins)


def joined(parts: Sequence[ArrowIds]) -> ArrowIds:
    """Join the ids of several parts."""
    if len(parts) == 1:
        return parts[0]
    begins = np.cumsum([0, *(len(part.ids) for part in parts)])
    offsets = [part.offsets[1:] + begin for part, begin in zip(parts, begins, strict=False)]
    nulls = [part.nulls if part.nulls is not None else np.zeros(len(part.offsets) - 1, bool) for part in parts]
    return ArrowIds(
        np.concatenate([np.empty(0, np.uint32), *(part.ids for part in parts)]),
        np.concatenate([np.zeros(1, np.int64), *offsets]),
        np.concatenate([np.empty(0, bool), *nulls]) if any(part.nulls is not None for part in parts) else None,
    )


def framed_rows(
    ids: Ids, offsets: Numbers, begin_id: int | None, end_id: int | None, max_length: int | None
) -> tuple[Ids, Numbers]:
    """Return rows of ids with an id before and after each that has any, of at most `max_length` ids with these.

    >>> rows = framed_rows(np.array([5, 6, 7], np.uint32), np.array([0, 2, 2, 3]), 0, 1, 3)
    >>> rows[0].tolist(), rows[1].tolist()
    ([0, 5, 1, 0, 7, 1], [0, 3, 3, 6])
    """
    sizes = np.diff(offsets)
    before, after = (int(each is not None) for each in (begin_id, end_id))
    kept = sizes if max_length is None else np.minimum(sizes, max_length - before - after)
    if not before and not after and kept is sizes:
        return ids, offsets
    if kept is not sizes:
        # Positions inside each row, of which the first `kept` stay.
        inside = np.arange(len(ids)) - np.repeat(offsets[:-1], sizes)
        ids = ids[inside < np.repeat(kept, sizes)]
    lengths = np.where(sizes > 0, kept + before + after, 0)
    ends = np.cumsum(lengths)
    framed = np.empty(int(lengths.sum()), np.uint32)
    is_text = np.ones(len(framed), bool)
    rows = sizes > 0
    for each, places in ((begin_id, (ends - lengths)[rows]), (end_id, ends[rows] - 1)):
        if each is not None:
            framed[places] = each
            is_text[places] = False
    framed[is_text] = ids
    return framed, np.concatenate([[0], ends]).astype(np.int64)


def as_lists(ids: Ids, offsets: Numbers, nulls: npt.NDArray[np.bool_] | None, kind: Any) -> Any:
    """Return rows of ids as an array of Arrow: lists or large lists of uint32, int32 or int64.

    It is a ValueError if there are more ids than offsets of 32 bits can count, or an id does not fit.
    """
    arrow = import_arrow()
    is_large = arrow.types.is_large_list(kind)
    if not is_large and offsets[-1] > _MAX_OFFSET:
        raise ValueError(f"got {offsets[-1]} ids, more than offsets of 32 bits can count; give large=True")
    dtype = np.dtype(kind.value_type.to_pandas_dtype())
    if dtype != np.uint32 and len(ids) and int(ids.max()) > np.iinfo(dtype).max:
        raise ValueError(f"the id {ids.max()} does not fit {dtype}; give another dtype")
    values = ids.view(np.int32) if dtype == np.int32 else ids.astype(dtype, copy=False)
    make = arrow.LargeListArray if is_large else arrow.ListArray
    mask = None if nulls is None else arrow.array(nulls)
    starts = arrow.array(offsets if is_large else offsets.astype(np.int32))
    return make.from_arrays(starts, arrow.array(values), type=kind, mask=mask)
