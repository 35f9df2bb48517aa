"""Calls of `BPETokenizerFast`, with the results of `PreTrainedTokenizerFast`."""

from __future__ import annotations

from typing import Any

from transformers.tokenization_utils_base import BatchEncoding, TruncationStrategy
from transformers.utils import PaddingStrategy, TensorType

from hf_bpe.encoding._lazy_encodings import EncodedTexts
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.tokenizer._calls.arguments import CALL_NAMES, Inputs
from hf_bpe.tokenizer._calls.columns import encode_call

_FIRST = ("input_ids", "token_type_ids", "attention_mask")
_TENSORS = (None, "pt", "np", TensorType.PYTORCH, TensorType.NUMPY)


def encode_fast_call(
    tokenizer: Any, pipeline: Pipeline, text: Any, text_pair: Any, kwargs: dict[str, Any]
) -> BatchEncoding | None:
    """Return the result of a call; None for what is left to the backend: rare options, and everything invalid."""
    in_words = bool(kwargs.get("is_split_into_words"))
    is_batched = isinstance(text, (list, tuple)) and not (in_words and (not text or isinstance(text[0], str)))
    if not is_batched and not text_pair:  # tokenizers takes an empty second text for none
        text_pair = None
    inputs = Inputs.of(text, text_pair, in_words)
    if inputs is None or (is_batched and not text) or inputs.is_batched != is_batched:
        return None
    if inputs.per_row > 1 and kwargs.get("return_overflowing_tokens"):  # differs where a text is empty
        return None
    kwargs = {name: value for name, value in kwargs.items() if name in CALL_NAMES}
    template = pipeline.template_ids(inputs.per_row, kwargs.get("add_special_tokens", True))
    if not _is_common(kwargs, sum(map(len, template))):
        return None
    as_text = kwargs.get("split_special_tokens")
    as_text = tokenizer.split_special_tokens if as_text is None else as_text
    source = EncodedTexts(pipeline.encoder, inputs.texts, pipeline.options(as_text), inputs.bounds)
    encoded = encode_call(tokenizer, pipeline, source, inputs, template, kwargs)
    # In another order than that of Python tokenizers.
    encoded.data = {name: encoded.data[name] for name in sorted(encoded.data, key=lambda name: name not in _FIRST)}
    return encoded


def _is_common(kwargs: dict[str, Any], num_special: int) -> bool:
    """Return whether the options of a call are valid, and among those that `encode_call` does like tokenizers."""
    if kwargs.get("return_length") or kwargs.get("return_tensors") not in _TENSORS:
        return False
    if type(kwargs.get("add_special_tokens", True)) is not bool:
        return False
    if kwargs.get("padding_side") not in (None, "left", "right"):
        return False
    multiple, length, stride = (kwargs.get(name) for name in ("pad_to_multiple_of", "max_length", "stride"))
    if multiple is not None and not (type(multiple) is int and multiple > 0):
        return False
    if kwargs.get("padding_strategy", PaddingStrategy.DO_NOT_PAD) == PaddingStrategy.MAX_LENGTH and length is None:
        return False
    if kwargs.get("truncation_strategy", TruncationStrategy.DO_NOT_TRUNCATE) == TruncationStrategy.DO_NOT_TRUNCATE:
        return True
    return type(length) is int and length > num_special + (stride or 0)
