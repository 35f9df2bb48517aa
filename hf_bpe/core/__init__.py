"""BPEModel: vocabulary, merges, special tokens, pattern and normalizer as one value."""

from hf_bpe.core._model import BPEModel

__all__ = ["BPEModel"]
