"""Results of calls: `BatchEncoding` objects, and the encodings in them, which cost little if nobody looks at them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from transformers.tokenization_utils_base import BatchEncoding
from transformers.utils import TensorType, is_torch_available

from hf_bpe.encoding._batch_layout import Layout
from hf_bpe.encoding._encoder import Numbers
from hf_bpe.encoding._lazy_encodings import NO_ID, DeferredEncodings, Encodings, Source
from hf_bpe.formats._pipeline import Pipeline

TypeIdsMaker = Callable[..., list[int]]


def batch_encoding(data: dict[str, Any], encodings: Encodings) -> BatchEncoding:
    """Return the result of a call for rows of one text each; it takes the dict."""
    if not _SETS_ATTRIBUTES_ONLY:
        return BatchEncoding(data, encodings, n_sequences=1)
    made: Any = _new(BatchEncoding)
    made.data, made._encodings, made._n_sequences = data, encodings, 1
    result: BatchEncoding = made
    return result


def _sets_attributes_only() -> bool:
    """Say whether the constructor of BatchEncoding only sets three attributes, for which it takes a microsecond."""
    data, encodings = {"input_ids": [0]}, DeferredEncodings(_of_nothing)
    made: Any = BatchEncoding(data, encodings, n_sequences=1)
    is_plain = BatchEncoding.__new__ is object.__new__ and BatchEncoding.__setattr__ is object.__setattr__
    expected = {"data": data, "_encodings": encodings, "_n_sequences": 1}
    return is_plain and type(made.data) is dict and vars(made).keys() == expected.keys() and vars(made) == expected


def _of_nothing() -> Encodings:
    raise NotImplementedError


_new = object.__new__
_SETS_ATTRIBUTES_ONLY = _sets_attributes_only()


def deferred_encodings(
    tokenizer: Any, pipeline: Pipeline, texts: list[Any], as_text: bool, add_special_tokens: bool
) -> Encodings:
    """Return the encodings of texts that are neither truncated nor padded; the texts are encoded again for them."""
    return DeferredEncodings(partial(_complete, tokenizer, pipeline, texts, as_text, add_special_tokens))


def _complete(
    tokenizer: Any, pipeline: Pipeline, texts: list[Any], as_text: bool, add_special_tokens: bool
) -> Encodings:
    source = Source(pipeline.encoder, texts, pipeline.options(as_text), None)
    template = pipeline.template_ids(1, add_special_tokens)
    layout = partial(source.layout, 1, template)
    return encodings_of(tokenizer, pipeline, source, layout, NO_ID, add_special_tokens)


def encodings_of(
    tokenizer: Any,
    pipeline: Pipeline,
    source: Source,
    layout: Callable[[], Layout],
    pad_id: int,
    add_special_tokens: bool,
) -> Encodings:
    """Return the encodings of a call, with the tokens and token type ids that the tokenizer gives."""
    type_ids = partial(row_type_ids, tokenizer, pipeline, tokenizer._type_ids_maker(), add_special_tokens)
    return pipeline.lazy_encodings(source, layout, pad_id, type_ids, tokenizer.convert_ids_to_tokens)


def row_type_ids(
    tokenizer: Any,
    pipeline: Pipeline,
    make_type_ids: TypeIdsMaker | None,
    add_special_tokens: bool,
    layout: Layout,
    row: int,
) -> list[int]:
    """Return the token type ids of a row of a layout, with those of padding."""
    is_of_template = pipeline.template is not None and pipeline.template.has_type_ids
    if is_of_template or make_type_ids is None or not add_special_tokens:
        return pipeline.type_ids(add_special_tokens, layout, row, tokenizer.pad_token_type_id)
    values = make_type_ids(*([0] * size for size in layout.sequence_lengths[row].tolist()))
    return layout.filled_up(values, tokenizer.pad_token_type_id)


def as_tensor(array: Numbers, kind: Any) -> Any:
    """Return a torch tensor that shares the memory of an array, if torch tensors are requested."""
    if TensorType(kind) != TensorType.PYTORCH or not is_torch_available():
        return array  # BatchEncoding makes other tensors of it, or raises an error for a missing library
    import torch

    return torch.from_numpy(array)
