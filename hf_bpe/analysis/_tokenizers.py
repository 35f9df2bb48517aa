"""The tokenizers that analysis takes."""

from __future__ import annotations

from typing import Protocol

from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._pipeline import Pipeline


class HasPipeline(Protocol):
    """A tokenizer that has a pipeline, such as a BPETokenizer."""

    @property
    def pipeline(self) -> Pipeline: ...


AnyTokenizer = BPEModel | Definition | Pipeline | HasPipeline


def as_pipeline(tokenizer: AnyTokenizer) -> Pipeline:
    """Return the pipeline of a tokenizer, of a definition, or of a model, whose special tokens are found in text.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(tokenizer, (BPEModel, Definition)):
        return Pipeline.from_definition(Definition(tokenizer) if isinstance(tokenizer, BPEModel) else tokenizer)
    pipeline = tokenizer if isinstance(tokenizer, Pipeline) else getattr(tokenizer, "pipeline", None)
    if not isinstance(pipeline, Pipeline):
        raise TypeError(
            f"expected a BPETokenizer or a BPEModel, got {type(tokenizer).__name__}; give "
            "BPETokenizer.from_pretrained(path), or BPETokenizer.convert_from(tokenizer) for another kind"
        )
    return pipeline
