"""Calls with any options: encode all texts at once, lay out the ids in rows, and return a `BatchEncoding`.

transformers routes every `__call__` and `encode` to `_encode_plus`. This implementation returns what transformers'
Python tokenizers return, and also what fast tokenizers return: offsets, words, overflowing windows. Ids given instead
of texts are handled by transformers. The encodings in a result cost little if nobody looks at them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from transformers.tokenization_utils_base import BatchEncoding
from transformers.utils import PaddingStrategy, TensorType, is_torch_available

from hf_bpe._utils.arguments import check_choice
from hf_bpe.encoding._encoder import AnyText, Numbers, TemplateIds
from hf_bpe.encoding._layout import Layout, Padding
from hf_bpe.encoding._lazy_encodings import DeferredEncodings, EncodedTexts, Encodings, TypeIds
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._template import check_start
from hf_bpe.tokenizer._calls.arguments import Call

if TYPE_CHECKING:
    from hf_bpe.tokenizer._self_types import AnyTokenizer

DIRECT_TENSORS = ("np", *(["pt"] if is_torch_available() else []))
"""Tensor types of calls without `BatchEncoding`, which makes other tensors, or says which library is missing."""

_new = object.__new__


def encode_call(
    tokenizer: AnyTokenizer, pipeline: Pipeline, source: EncodedTexts, template: TemplateIds, call: Call
) -> BatchEncoding:
    """Return the result of a call for texts, with the ids of a template around them.

    The tokenizer decides on sides, padding, columns and token type ids.
    """
    layout = source.layout(call.inputs.per_row, template)
    if source.texts:
        check_start(source.texts[0], template, pipeline.added_tokens, source.options)
    if call.limit is None and call.max_length is None and call.verbose:
        warn_of_too_long(tokenizer, layout.lengths.tolist())
    layout, samples = _arrange(layout, call, tokenizer)
    encodings = lazy_encodings(tokenizer, pipeline, source, layout, call.add_special_tokens)
    data = _columns(tokenizer, pipeline, layout, encodings, call)
    if call.return_overflowing_tokens:
        data["overflow_to_sample_mapping"] = samples
    is_one_row = not (call.inputs.is_batched or call.return_tensors or call.return_overflowing_tokens)
    columns = {name: values[0] for name, values in data.items()} if is_one_row else data
    return BatchEncoding(columns, encodings, call.return_tensors, n_sequences=call.inputs.per_row)


def _arrange(layout: Layout, call: Call, tokenizer: AnyTokenizer) -> tuple[Layout, list[int]]:
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
        pad_id = tokenizer.pad_token_id
        assert pad_id is not None  # or transformers has refused to pad
        layout = layout.padded(Padding(length, pad_id, side == "left"), call.pad_to_multiple_of)
    return layout, samples


def _columns(
    tokenizer: AnyTokenizer, pipeline: Pipeline, layout: Layout, encodings: Encodings, call: Call
) -> dict[str, Sequence[object]]:
    """Return the requested columns by name, each with a value for each row."""
    rows, names = range(len(layout.spans)), tokenizer.model_input_names
    arrays = layout.to_arrays() if call.return_tensors else None
    tensors = layout.to_lists() if arrays is None else (as_tensor(each, call.return_tensors) for each in arrays)
    ids, mask = tensors
    data: dict[str, Sequence[object]] = {"input_ids": ids}
    if _gives("token_type_ids", call.return_token_type_ids, names):
        type_ids = _type_ids(tokenizer, pipeline, call.add_special_tokens)
        data["token_type_ids"] = [type_ids(layout, row) for row in rows]
    if call.return_special_tokens_mask:
        sizes = layout.sequence_lengths.tolist()
        data["special_tokens_mask"] = [layout.column(1, [[0] * size for size in row], 1) for row in sizes]
    if call.return_offsets_mapping:
        data["offset_mapping"] = [*map(encodings.offsets, rows)]
    if call.return_length:
        # As in transformers' Python tokenizers, lengths of rows in a batch exclude padding.
        is_padding_left_out = call.inputs.is_batched and not call.return_overflowing_tokens
        data["length"] = (layout.lengths if is_padding_left_out else layout.padded_lengths).tolist()
    if _gives("attention_mask", call.return_attention_mask, names):
        data["attention_mask"] = mask
    return data


def _gives(name: str, wanted: bool | None, names: Collection[str]) -> bool:
    return name in names if wanted is None else wanted


def batch_encoding(data: Mapping[str, object], encodings: Encodings) -> BatchEncoding:
    """Return the result of a call for rows of one text each; it takes the dict."""
    if not _SETS_ATTRIBUTES_ONLY:
        return BatchEncoding(data, encodings, n_sequences=1)
    made = _new(BatchEncoding)
    made.data, made._encodings, made._n_sequences = data, encodings, 1
    return made


def _sets_attributes_only() -> bool:
    """Say whether the constructor of BatchEncoding only sets three attributes, for which it takes a microsecond."""
    data, encodings = {"input_ids": [0]}, _new(DeferredEncodings)
    made = BatchEncoding(data, encodings, n_sequences=1)
    is_plain = BatchEncoding.__new__ is object.__new__ and BatchEncoding.__setattr__ is object.__setattr__
    expected = {"data": data, "_encodings": encodings, "_n_sequences": 1}
    return is_plain and type(made.data) is dict and vars(made).keys() == expected.keys() and vars(made) == expected


_SETS_ATTRIBUTES_ONLY = _sets_attributes_only()


def encode_again(
    tokenizer: AnyTokenizer, pipeline: Pipeline, texts: list[AnyText], as_text: bool, adds: bool
) -> Encodings:
    """Return the encodings of rows of one text each, neither truncated nor padded.

    Nobody else has the list of texts. `as_text` says whether special tokens are split, `adds` whether those of the
    template are added.
    """
    source = EncodedTexts(pipeline.encoder, texts, pipeline.options(as_text), None)
    return lazy_encodings(tokenizer, pipeline, source, source.layout(1, pipeline.template_ids(1, adds)), adds)


def lazy_encodings(
    tokenizer: AnyTokenizer, pipeline: Pipeline, source: EncodedTexts, layout: Layout, adds: bool
) -> Encodings:
    """Return the encodings of a layout, with the tokens and token type ids that the tokenizer gives."""
    type_ids = _type_ids(tokenizer, pipeline, adds)
    return pipeline.lazy_encodings(source, lambda: layout, type_ids, tokenizer.convert_ids_to_tokens)


def _type_ids(tokenizer: AnyTokenizer, pipeline: Pipeline, adds: bool) -> TypeIds:
    """Return the function that gives the token type ids of a row of a layout, with those of padding."""
    is_of_template = pipeline.template is not None and pipeline.template.has_type_ids
    make = None if is_of_template or not adds else tokenizer._type_ids_maker()
    pad_type_id = tokenizer.pad_token_type_id
    if make is None:
        return partial(pipeline.type_ids, adds, pad_type_id=pad_type_id)

    def type_ids(layout: Layout, row: int) -> list[int]:
        return layout.filled_up(make(*([0] * size for size in layout.sequence_lengths[row].tolist())), pad_type_id)

    return type_ids


def warn_of_too_long(tokenizer: AnyTokenizer, lengths: Sequence[int]) -> None:
    """Warn once of the first row that is longer than the model takes, as transformers does."""
    limit = tokenizer.model_max_length
    if max(lengths, default=0) > limit:
        length = next(each for each in lengths if each > limit)
        tokenizer._eventual_warn_about_too_long_sequence(range(length), None, True)


def as_tensor(array: Numbers, kind: object) -> Any:
    """Return a torch tensor that shares the memory of an array, if torch tensors are requested."""
    if TensorType(kind) != TensorType.PYTORCH or not is_torch_available():
        return array  # BatchEncoding makes other tensors of it, or raises an error for a missing library
    import torch

    return torch.from_numpy(array)
