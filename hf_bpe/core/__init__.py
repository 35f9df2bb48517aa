"""Models and pre-tokenizers as values, and the algorithms in plain Python that say what is right."""

from hf_bpe.core._byte_level import from_printable, to_printable
from hf_bpe.core._model import BPEModel

__all__ = ["BPEModel", "from_printable", "to_printable"]
