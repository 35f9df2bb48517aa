"""The definition of a tokenizer, and the files that transformers reads and writes."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.formats._pipeline import Pipeline
    from hf_bpe.formats._template import Piece, Template

__all__ = ["Piece", "Pipeline", "Template"]

# Other modules of this package do not need these.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Piece": "hf_bpe.formats._template",
        "Pipeline": "hf_bpe.formats._pipeline",
        "Template": "hf_bpe.formats._template",
    },
)
