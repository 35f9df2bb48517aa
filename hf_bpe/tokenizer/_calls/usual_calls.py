"""Calls with the usual options, which the core answers in one step, and padding of encoded rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from transformers.tokenization_utils_base import BatchEncoding, TruncationStrategy
from transformers.utils import PaddingStrategy

from hf_bpe._utils.processes import default_threads
from hf_bpe.encoding._encoder import AnyText
from hf_bpe.encoding._layout import MAX_IDS, Padding, pad_columns
from hf_bpe.encoding._lazy_encodings import DeferredEncodings, EncodedTexts, Encodings
from hf_bpe.encoding._native_paths import encode_to_row_arrays, encode_to_rows
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._template import check_start
from hf_bpe.tokenizer._calls.encode import DIRECT_TENSORS, as_tensor, batch_encoding, lazy_encodings, warn_of_too_long

_VALUES: dict[str, tuple[object, ...]] = {
    "add_special_tokens": (True, False),
    "padding": (False, True, "longest", "max_length"),
    "truncation": (None, False, True, "longest_first"),
    "return_tensors": (None, *DIRECT_TENSORS),
    "return_attention_mask": (None, True, False),
}
"""Option → the values with which a call is answered here; besides these there is `max_length`."""

_COLUMNS = {"input_ids", "attention_mask"}
_PADDING_VALUES: dict[str, tuple[object, ...]] = {
    "padding": (True, "longest", "max_length"),
    "padding_side": (None, "left", "right"),
    "return_attention_mask": (None, True),
    "return_tensors": DIRECT_TENSORS,
    "verbose": (True, False),
}
"""The same for `pad`, besides lengths; tensors must be asked for."""

_MAX_TEXTS_ON_ONE_THREAD, _MAX_CHARACTERS_ON_ONE_THREAD = 16, 1 << 16


def are_usual(
    kwargs: dict[str, object],
    values: dict[str, tuple[object, ...]] = _VALUES,
    lengths: Collection[str] = ("max_length",),
) -> bool:
    """Say whether all options are lengths, or have one of the values of usual types; 1 is not taken for True."""
    for name, value in kwargs.items():
        if name in lengths:
            if value is not None and not (type(value) is int and 0 < value < MAX_IDS):
                return False
        elif name not in values or type(value) not in (bool, str, type(None)) or value not in values[name]:
            return False
    return True


def encode_rows(
    tokenizer: Any, pipeline: Pipeline, text: str | list[AnyText], as_text: bool, kwargs: dict[str, Any]
) -> BatchEncoding | None:
    """Return the result of a call for a text, or a list of texts that nobody else has, whose columns are ids and mask.

    The options `are_usual`; None is returned for what transformers has to answer, or to refuse.
    """
    padding, truncation, max_length = (kwargs.get(name) for name in ("padding", "truncation", "max_length"))
    adds = kwargs.get("add_special_tokens", True)
    template = pipeline.template_ids(1, adds)
    limit, padded = None, None
    if padding or truncation or max_length is not None:
        pads, cuts, max_length, _ = tokenizer._get_padding_truncation_strategies(
            padding=padding or False,
            truncation=truncation,
            max_length=max_length,
            pad_to_multiple_of=None,
            verbose=True,
        )
        if cuts != TruncationStrategy.DO_NOT_TRUNCATE:
            if not len(template[0]) + len(template[1]) < max_length < MAX_IDS:
                return None
            limit = max_length, tokenizer.truncation_side == "left"
        if pads != PaddingStrategy.DO_NOT_PAD:
            length = max_length if pads == PaddingStrategy.MAX_LENGTH else None
            if tokenizer.padding_side not in ("left", "right") or not (length is None or length < MAX_IDS):
                return None
            padded = Padding(length, tokenizer.pad_token_id, tokenizer.padding_side == "left")
    texts: list[Any] = text if type(text) is list else [text]
    kind = kwargs.get("return_tensors")
    # Looking up the number of threads takes longer than encoding a few short texts, for which one does the work.
    is_small = len(texts) <= _MAX_TEXTS_ON_ONE_THREAD and sum(map(len, texts)) < _MAX_CHARACTERS_ON_ONE_THREAD
    threads = 1 if is_small else default_threads()
    options = pipeline.options(as_text)
    check_start(texts[0], template, pipeline.added_tokens, options)
    shape = template, limit, padded
    if kind is None:
        rows, masks = encode_to_rows(pipeline.encoder, texts, options, threads, shape)
        lengths = [*map(len, rows)]
        ids, mask = (rows, masks) if texts is text else (rows[0], masks[0])
    else:
        arrays = encode_to_row_arrays(pipeline.encoder, texts, options, threads, shape)
        if arrays is None:
            return None
        lengths = [arrays[0].shape[1]]
        ids, mask = (as_tensor(array, kind) for array in arrays)
    if max_length is None:
        warn_of_too_long(tokenizer, lengths)
    data = {"input_ids": ids, "attention_mask": mask}
    if kwargs.get("return_attention_mask") is False:
        del data["attention_mask"]

    def encode_again() -> Encodings:
        source = EncodedTexts(pipeline.encoder, texts, options, None)
        return lazy_encodings(tokenizer, pipeline, source, source.layout(1, template).arranged(limit, padded), adds)

    return batch_encoding(data, DeferredEncodings(encode_again))


def can_pad(kwargs: dict[str, Any]) -> bool:
    """Say whether `pad` is answered here with these options, all with values of the usual types."""
    # With a length and another padding, transformers warns that the length is ignored.
    is_clear = kwargs.get("max_length") is None or kwargs.get("padding") == "max_length"
    lengths = "max_length", "pad_to_multiple_of"
    return is_clear and "return_tensors" in kwargs and are_usual(kwargs, _PADDING_VALUES, lengths)


def pad_encoded(tokenizer: Any, rows: Any, kwargs: dict[str, Any]) -> BatchEncoding | None:
    """Return rows of ids and masks, a list of mappings or a mapping of lists, padded as tensors.

    None for what transformers has to pad, or to refuse. It `can_pad` with the options.
    """
    columns = _columns_of(rows)
    if columns is None:
        return None
    lengths = [*map(len, columns["input_ids"])]
    if any([*map(len, column)] != lengths for column in columns.values()) or not max(lengths):
        return None
    strategy, _, length, _ = tokenizer._get_padding_truncation_strategies(
        padding=kwargs.get("padding", True), max_length=kwargs.get("max_length"), verbose=kwargs.get("verbose", True)
    )
    length = max(lengths) if strategy == PaddingStrategy.LONGEST else length
    side = kwargs.get("padding_side") or tokenizer.padding_side
    if strategy == PaddingStrategy.DO_NOT_PAD or length >= MAX_IDS or side not in ("left", "right"):
        return None
    length += -length % (kwargs.get("pad_to_multiple_of") or 1)
    arrays = pad_columns(columns, length, tokenizer.pad_token_id, side == "left")
    if arrays is None:
        return None
    return BatchEncoding({name: as_tensor(array, kwargs["return_tensors"]) for name, array in arrays.items()})


def _columns_of(rows: Any) -> dict[str, list[list[int]]] | None:
    """Return the columns of rows, in their order; None unless they are ids and masks in lists."""
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
