"""Calls for single texts, or lists of them, with the usual options: encoded, cut and padded by the core in one go."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

from transformers.tokenization_utils_base import BatchEncoding, TruncationStrategy
from transformers.utils import PaddingStrategy

from hf_bpe._utils.processes import default_threads
from hf_bpe.encoding._batch_layout import MAX_IDS
from hf_bpe.encoding._encoder import AnyText, Padding
from hf_bpe.encoding._lazy_encodings import DeferredEncodings
from hf_bpe.formats._double_start import check_start
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.tokenizer._calls.results import DIRECT_TENSORS, as_tensor, batch_encoding, encode_again, warn_of_too_long

_VALUES: dict[str, tuple[object, ...]] = {
    "add_special_tokens": (True, False),
    "padding": (False, True, "longest", "max_length"),
    "truncation": (None, False, True, "longest_first"),
    "return_tensors": (None, *DIRECT_TENSORS),
    "return_attention_mask": (None, True, False),
}
"""Option → the values with which a call is answered here; besides these there is `max_length`."""

_FEW, _SHORT = 16, 1 << 16  # texts, and characters of them all


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
    threads = 1 if len(texts) <= _FEW and sum(map(len, texts)) < _SHORT else default_threads()
    options = pipeline.options(as_text)
    check_start(texts[0], template, pipeline.added_tokens, options)
    arguments = texts, options, threads, template, limit, padded
    if kind is None:
        rows, masks = pipeline.encoder.encode_to_rows(*arguments)
        lengths = [*map(len, rows)]
        ids, mask = (rows, masks) if texts is text else (rows[0], masks[0])
    else:
        arrays = pipeline.encoder.encode_to_row_arrays(*arguments)
        if arrays is None:
            return None
        lengths = [arrays[0].shape[1]]
        ids, mask = (as_tensor(array, kind) for array in arrays)
    if max_length is None:
        warn_of_too_long(tokenizer, lengths)
    data = {"input_ids": ids, "attention_mask": mask}
    if kwargs.get("return_attention_mask") is False:
        del data["attention_mask"]
    again = partial(encode_again, tokenizer, pipeline, texts, as_text, adds, limit, padded)
    return batch_encoding(data, DeferredEncodings(again))
