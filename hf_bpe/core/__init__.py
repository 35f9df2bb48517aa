"""BPEModel: vocabulary, merges, special tokens, pattern, normalizer and alphabet as one value."""

from hf_bpe.core._alphabet import ByteAlphabet, CharacterAlphabet
from hf_bpe.core._model import BPEModel

__all__ = ["BPEModel", "ByteAlphabet", "CharacterAlphabet"]
