"""Deprecated: `hf_bpe.editing.embeddings` under its former name, for one release."""

import warnings

from hf_bpe.editing.embeddings import remap_embeddings

__all__ = ["remap_embeddings"]

warnings.warn(
    "hf_bpe.embeddings is now hf_bpe.editing.embeddings; the old name will be removed in the next release",
    DeprecationWarning,
    stacklevel=2,
)
