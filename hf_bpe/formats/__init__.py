"""The definition of a tokenizer, and the files that transformers reads and writes."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.formats._pipeline import Pipeline
    from hf_bpe.formats._template import Template, TemplatePiece

__all__ = ["Pipeline", "Template", "TemplatePiece"]

# Other modules of this package do not need these.
__getattr__, __dir__ = lazy_exports(__name__, {"_pipeline": "Pipeline", "_template": "Template TemplatePiece"})
