"""Padding of encoded rows to tensors, as data collators ask for it: by the core, not number by number in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from transformers.tokenization_utils_base import BatchEncoding
from transformers.utils import PaddingStrategy

from hf_bpe._native_core import native_core
from hf_bpe.encoding._batch_layout import MAX_IDS
from hf_bpe.tokenizer._calls.results import DIRECT_TENSORS, as_tensor
from hf_bpe.tokenizer._calls.rows import are_usual

_COLUMNS = {"input_ids", "attention_mask"}
_VALUES: dict[str, tuple[object, ...]] = {
    "padding": (True, "longest", "max_length"),
    "padding_side": (None, "left", "right"),
    "return_attention_mask": (None, True),
    "return_tensors": DIRECT_TENSORS,
    "verbose": (True, False),
}
"""Option → the values with which `pad` is answered here; besides these there are lengths. Tensors must be asked for."""


def can_pad(kwargs: dict[str, Any]) -> bool:
    """Say whether the options of `pad` are among those that are answered here, with values of the usual types."""
    # With a length and another padding, transformers warns that the length is ignored.
    is_clear = kwargs.get("max_length") is None or kwargs.get("padding") == "max_length"
    return is_clear and "return_tensors" in kwargs and are_usual(kwargs, _VALUES, ("max_length", "pad_to_multiple_of"))


def pad_rows(tokenizer: Any, rows: Any, kwargs: dict[str, Any]) -> BatchEncoding | None:
    """Return rows of ids and masks, a list of mappings or a mapping of lists, padded as tensors.

    None for what transformers has to pad, or to refuse. It `can_pad` with the options.
    """
    core, columns = native_core(), _columns_of(rows)
    if core is None or columns is None:
        return None
    lengths = [*map(len, columns["input_ids"])]
    if any([*map(len, column)] != lengths for column in columns.values()) or not max(lengths):
        return None
    strategy, _, length, _ = tokenizer._get_padding_truncation_strategies(
        padding=kwargs.get("padding", True), max_length=kwargs.get("max_length"), verbose=kwargs.get("verbose", True)
    )
    length = max(lengths) if strategy == PaddingStrategy.LONGEST else length
    multiple, side = kwargs.get("pad_to_multiple_of") or 1, kwargs.get("padding_side") or tokenizer.padding_side
    if strategy == PaddingStrategy.DO_NOT_PAD or length >= MAX_IDS or side not in ("left", "right"):
        return None
    length = -(-length // multiple) * multiple
    padding = {"input_ids": tokenizer.pad_token_id, "attention_mask": 0}
    data = {}
    for name, column in columns.items():
        array = core.pad_rows(column, length, padding[name], side == "left")
        if array is None:  # a row is longer, or is not of ints
            return None
        data[name] = array
    if "attention_mask" not in data:
        places, sizes = np.arange(length), np.array(lengths)[:, None]
        mask = places >= length - sizes if side == "left" else places < sizes
        data["attention_mask"] = mask.astype(np.int64)
    return BatchEncoding({name: as_tensor(array, kwargs["return_tensors"]) for name, array in data.items()})


def _columns_of(rows: Any) -> dict[str, list[list[int]]] | None:
    """Return the columns of rows, in their order; None if these are others than ids and masks in lists."""
    columns: Any = rows
    if isinstance(rows, (list, tuple)) and len(rows) > 0 and isinstance(rows[0], Mapping):
        if not rows[0].keys() <= _COLUMNS or any(not rows[0].keys() <= row.keys() for row in rows):
            return None
        columns = {name: [row[name] for row in rows] for name in rows[0]}
    elif not isinstance(rows, Mapping) or not rows.keys() <= _COLUMNS:
        return None
    columns = {name: columns[name] for name in columns}
    are_lists = all(type(column) is list and {*map(type, column)} == {list} for column in columns.values())
    return columns if are_lists and "input_ids" in columns else None
