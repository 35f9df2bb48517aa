"""Models and pre-tokenizers as values, and the reference algorithms in plain Python."""

from hf_bpe.core._byte_level import from_printable, to_printable
from hf_bpe.core._model import BPEModel

__all__ = ["BPEModel", "from_printable", "to_printable"]
