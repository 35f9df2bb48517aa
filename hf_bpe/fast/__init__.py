"""BPETokenizerFast, and the acceleration of fast tokenizers of transformers."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.fast._accelerated import accelerate, patch_transformers, unpatch_transformers
    from hf_bpe.fast._tokenization_fast import BPETokenizerFast

__all__ = ["BPETokenizerFast", "accelerate", "patch_transformers", "unpatch_transformers"]

# Importing transformers takes a second.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_accelerated": "accelerate patch_transformers unpatch_transformers",
        "_tokenization_fast": "BPETokenizerFast",
    },
)
