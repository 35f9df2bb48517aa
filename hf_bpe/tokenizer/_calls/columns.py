"""Calls of the tokenizer: encode all texts at once, and lay out the ids in rows.

transformers routes every `__call__` and `encode` to `_encode_plus`. This implementation returns what transformers'
Python tokenizers return, and also what fast tokenizers return: offsets, words, overflowing windows. Ids given instead
of texts are handled by transformers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from transformers.tokenization_utils_base import BatchEncoding
from transformers.utils import PaddingStrategy

from hf_bpe._utils.arguments import check_choice
from hf_bpe.encoding._encoder import TemplateIds
from hf_bpe.encoding._layout import Layout, Padding
from hf_bpe.encoding._lazy_encodings import EncodedTexts, Encodings
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._template import check_start
from hf_bpe.tokenizer._calls.arguments import CALL_NAMES, Call, Inputs
from hf_bpe.tokenizer._calls.results import TypeIdsMaker, as_tensor, row_type_ids, warn_of_too_long


def encode_call(
    tokenizer: Any,
    pipeline: Pipeline,
    source: EncodedTexts,
    inputs: Inputs,
    template: TemplateIds,
    kwargs: dict[str, Any],
    make_type_ids: TypeIdsMaker | None = None,
) -> BatchEncoding:
    """Return the result of a call for texts, with the ids of a template around them.

    The tokenizer decides on sides, padding and columns; without `make_type_ids`, its template on token type ids.
    """
    names = tokenizer.model_input_names
    type_ids = partial(row_type_ids, tokenizer, pipeline, make_type_ids, kwargs.get("add_special_tokens", True))
    to_tokens = tokenizer.convert_ids_to_tokens
    call = Call(**{name: value for name, value in kwargs.items() if name in CALL_NAMES})
    layout = source.layout(inputs.per_row, template)
    if inputs.texts:
        check_start(inputs.texts[0], template, pipeline.added_tokens, source.options)
    if call.limit is None and call.max_length is None and call.verbose:
        warn_of_too_long(tokenizer, layout.lengths.tolist())
    layout, samples = _arrange(layout, call, tokenizer)
    encodings = pipeline.lazy_encodings(source, lambda: layout, type_ids, to_tokens)
    data = _columns(layout, encodings, type_ids, call, names, inputs.is_batched)
    if call.return_overflowing_tokens:
        data["overflow_to_sample_mapping"] = samples
    if not (inputs.is_batched or call.return_tensors or call.return_overflowing_tokens):
        data = {name: values[0] for name, values in data.items()}
    return BatchEncoding(data, encodings, call.return_tensors, n_sequences=inputs.per_row)


def _arrange(layout: Layout, call: Call, tokenizer: Any) -> tuple[Layout, list[int]]:
    """Truncate and pad rows; return them and the index of each row's text, which may overflow into several rows."""
    samples = [*range(len(layout.spans))]
    if call.limit is not None:
        how, from_left = (call.limit, call.truncation_strategy.value), tokenizer.truncation_side == "left"
        if call.return_overflowing_tokens:
            layout, samples = layout.windows(*how, call.stride, from_left=from_left)
        else:
            layout = layout.truncated(*how, from_left=from_left)
    if call.padding_strategy != PaddingStrategy.DO_NOT_PAD:
        length = call.max_length if call.padding_strategy == PaddingStrategy.MAX_LENGTH else None
        side = tokenizer.padding_side if call.padding_side is None else call.padding_side
        check_choice("padding_side", side, ("left", "right"))
        layout = layout.padded(Padding(length, tokenizer.pad_token_id, side == "left"), call.pad_to_multiple_of)
    return layout, samples


def _columns(
    layout: Layout,
    encodings: Encodings,
    type_ids: Callable[[Layout, int], list[int]],
    call: Call,
    names: Collection[str],
    is_batched: bool,
) -> dict[str, Any]:
    """Return the requested columns by name, each with a value for each row; `names` are those given by default."""
    rows = range(len(layout.spans))
    with_mask = _gives("attention_mask", call.return_attention_mask, names)
    data: dict[str, Any] = {}
    arrays = layout.to_arrays() if call.return_tensors else None
    tensors = layout.to_lists() if arrays is None else (as_tensor(each, call.return_tensors) for each in arrays)
    data["input_ids"], mask = tensors
    if _gives("token_type_ids", call.return_token_type_ids, names):
        data["token_type_ids"] = [type_ids(layout, row) for row in rows]
    if call.return_special_tokens_mask:
        sizes = layout.sequence_lengths.tolist()
        data["special_tokens_mask"] = [layout.column(1, [[0] * size for size in row], 1) for row in sizes]
    if call.return_offsets_mapping:
        data["offset_mapping"] = [encodings.offsets(row) for row in rows]
    if call.return_length:
        # As in transformers' Python tokenizers, lengths of rows in a batch exclude padding.
        is_padding_left_out = is_batched and not call.return_overflowing_tokens
        data["length"] = (layout.lengths if is_padding_left_out else layout.padded_lengths).tolist()
    if with_mask:
        data["attention_mask"] = mask
    return data


def _gives(name: str, wanted: bool | None, names: Collection[str]) -> bool:
    return name in names if wanted is None else wanted
