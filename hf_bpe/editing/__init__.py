"""Edits of a model: each returns the new model and a `Remap` from old ids to new ids."""

from hf_bpe._utils.lazy_exports import lazy_exports
from hf_bpe.editing._edits import (
    Edited,
    add_special_tokens,
    extend,
    pad_to_multiple_of,
    prune,
    renumber,
    truncate,
)
from hf_bpe.editing._remap import Remap

__all__ = [
    "Edited",
    "Remap",
    "add_special_tokens",
    "extend",
    "pad_to_multiple_of",
    "prune",
    "renumber",
    "truncate",
]

__getattr__, __dir__ = lazy_exports(__name__, {}, ["embeddings"])  # which needs torch
