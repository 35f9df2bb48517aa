"""File formats of other tools, each a reader and a writer of a `Definition`."""

from hf_bpe.conversion._formats import FORMATS, definition_of, detect, read, write
from hf_bpe.conversion._inspection import Inspection, inspect
from hf_bpe.conversion._tiktoken import model_of_ranks, recover_merges
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._features import FEATURES, Feature
from hf_bpe.formats._files.vocab_and_merges import read_gpt2, write_gpt2
from hf_bpe.formats._format import Format, Hints, Peer

__all__ = [
    "FEATURES",
    "FORMATS",
    "Definition",
    "Feature",
    "Format",
    "Hints",
    "Inspection",
    "Peer",
    "definition_of",
    "detect",
    "inspect",
    "model_of_ranks",
    "read",
    "read_gpt2",
    "recover_merges",
    "write",
    "write_gpt2",
]
