"""BPEModel: vocabulary, merges, special tokens, pattern, normalizer and alphabet as one value."""

from hf_bpe.core._characters import Characters
from hf_bpe.core._model import BPEModel

__all__ = ["BPEModel", "Characters"]
