"""Functions of encoders that the native core does in one step, because speed stands on it.

Each calls the core's encoder where that encodes the texts, and otherwise does the same with the methods of `Encoder`.
The docstring names the benchmark that needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hf_bpe.encoding._encoder import AnyText, Encoder, Options

if TYPE_CHECKING:
    from hf_bpe.encoding._layout import Layout, RowArrays, RowLists, RowShape


def encode_to_rows(encoder: Encoder, texts: list[AnyText], options: Options, threads: int, shape: RowShape) -> RowLists:
    """Return the ids of each text in a row of its own, and masks.

    The benchmark is "lists" of benchmarks/calls.py. For `texts`, `options` and `threads` see `Encoder.encode_to_numpy`.
    """
    template, limit, padding = shape
    encode: Any = getattr(encoder, "encode_to_rows", None)  # of the core's encoder
    rows: RowLists | None
    if encode is not None:
        rows = encode(texts, options, threads, template, limit, padding)
    else:
        rows = getattr(encoder, "call_core", _no_core)(
            "encode_to_rows", texts, options, threads, template, limit, padding
        )
    return _layout(encoder, texts, options, threads, shape).to_lists() if rows is None else rows


def encode_to_row_arrays(
    encoder: Encoder, texts: list[AnyText], options: Options, threads: int, shape: RowShape
) -> RowArrays | None:
    """Return the rows and masks of `encode_to_rows` as arrays; None if they are no rectangle of the wanted length.

    The benchmarks are "call, 20 words, numpy" and "padded" of benchmarks/calls.py.
    """
    template, limit, padding = shape
    encode: Any = getattr(encoder, "encode_to_row_arrays", None)  # of the core's encoder
    arrays: RowArrays | None
    if encode is not None:
        arrays = encode(texts, options, threads, template, limit, padding)
    else:
        arrays = getattr(encoder, "call_core", _no_core)(
            "encode_to_row_arrays", texts, options, threads, template, limit, padding
        )
    if arrays is not None:
        return arrays
    layout = _layout(encoder, texts, options, threads, shape)
    return None if layout.width is not None and layout.longest > layout.width else layout.to_arrays()


def _layout(encoder: Encoder, texts: list[AnyText], options: Options, threads: int, shape: RowShape) -> Layout:
    from hf_bpe.encoding._layout import Layout  # imports numpy

    template, limit, padding = shape
    return Layout.of_texts(*encoder.encode_to_numpy(texts, options, threads), 1, template).arranged(limit, padding)


def _no_core(*_: object) -> None:
    """Stand for `NormalizingEncoder.call_core` in encoders that have none."""
