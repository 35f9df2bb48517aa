"""Results of calls: `BatchEncoding` objects, and the encodings in them, which cost little if nobody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from transformers.tokenization_utils_base import BatchEncoding
from transformers.utils import TensorType, is_torch_available

from hf_bpe.encoding._encoder import AnyText, Numbers
from hf_bpe.encoding._layout import Layout, Limit, Padding
from hf_bpe.encoding._lazy_encodings import DeferredEncodings, EncodedTexts, Encodings
from hf_bpe.formats._pipeline import Pipeline

TypeIdsMaker = Callable[..., list[int]]

DIRECT_TENSORS = ("np", *(["pt"] if is_torch_available() else []))
"""Tensor types of calls without `BatchEncoding`, which makes other tensors, or says which library is missing."""

_new = object.__new__


def batch_encoding(data: dict[str, Any], encodings: Encodings) -> BatchEncoding:
    """Return the result of a call for rows of one text each; it takes the dict."""
    if not _SETS_ATTRIBUTES_ONLY:
        return BatchEncoding(data, encodings, n_sequences=1)
    made: Any = _new(BatchEncoding)
    made.data, made._encodings, made._n_sequences = data, encodings, 1
    return made


def _sets_attributes_only() -> bool:
    """Say whether the constructor of BatchEncoding only sets three attributes, for which it takes a microsecond."""
    data, encodings = {"input_ids": [0]}, _new(DeferredEncodings)
    made: Any = BatchEncoding(data, encodings, n_sequences=1)
    is_plain = BatchEncoding.__new__ is object.__new__ and BatchEncoding.__setattr__ is object.__setattr__
    expected = {"data": data, "_encodings": encodings, "_n_sequences": 1}
    return is_plain and type(made.data) is dict and vars(made).keys() == expected.keys() and vars(made) == expected


_SETS_ATTRIBUTES_ONLY = _sets_attributes_only()


def encode_again(
    tokenizer: Any,
    pipeline: Pipeline,
    texts: list[AnyText],
    as_text: bool,
    adds: bool,
    limit: Limit | None = None,
    padding: Padding | None = None,
) -> Encodings:
    """Return the encodings of rows of one text each, with the tokens and token type ids that the tokenizer gives.

    Nobody else has the list of texts. `as_text` says whether special tokens are split, `adds` whether those of the
    template are added; `limit` and `padding` are those of `encode_to_rows`.
    """
    source = EncodedTexts(pipeline.encoder, texts, pipeline.options(as_text), None)
    layout = source.layout(1, pipeline.template_ids(1, adds)).arranged(limit, padding)
    type_ids = partial(row_type_ids, tokenizer, pipeline, tokenizer._type_ids_maker(), adds)
    return pipeline.lazy_encodings(source, lambda: layout, type_ids, tokenizer.convert_ids_to_tokens)


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


def warn_of_too_long(tokenizer: Any, lengths: Sequence[int]) -> None:
    """Warn once of the first row that is longer than the model takes, as transformers does."""
    limit = tokenizer.model_max_length
    if max(lengths, default=0) > limit:
        length = next(each for each in lengths if each > limit)
        tokenizer._eventual_warn_about_too_long_sequence(range(length), None, True)


def as_tensor(array: Numbers, kind: Any) -> Any:
    """Return a torch tensor that shares the memory of an array, if torch tensors are requested."""
    if TensorType(kind) != TensorType.PYTORCH or not is_torch_available():
        return array  # BatchEncoding makes other tensors of it, or raises an error for a missing library
    import torch

    return torch.from_numpy(array)
