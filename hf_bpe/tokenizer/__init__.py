"""BPETokenizer, the `PreTrainedTokenizer` of this package."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

__all__ = ["BPETokenizer"]

# Importing transformers takes a second, and `_auto` does not need it.
__getattr__, __dir__ = lazy_exports(__name__, {"_tokenization_bpe": "BPETokenizer"})
