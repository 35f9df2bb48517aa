"""The tokenizers that analysis takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Union

from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._pipeline import Pipeline

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

AnyTokenizer = Union[BPEModel, "BPETokenizer"]


def as_pipeline(tokenizer: AnyTokenizer) -> Pipeline:
    """Return the pipeline of a tokenizer, or of a model, whose special tokens are found in text.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(tokenizer, BPEModel):
        return Pipeline.of(Definition(tokenizer))
    pipeline = getattr(tokenizer, "pipeline", None)
    if not isinstance(pipeline, Pipeline):
        raise TypeError(
            f"expected a BPETokenizer or a BPEModel, got {type(tokenizer).__name__}; give "
            "BPETokenizer.from_pretrained(path), or BPETokenizer.convert_from(tokenizer) for another kind"
        )
    return pipeline
