"""Deprecated: `hf_bpe.counting.on_ray` under its former name, for one release."""

import warnings

from hf_bpe.counting.on_ray import count

__all__ = ["count"]

warnings.warn(
    "hf_bpe.distributed is now hf_bpe.counting.on_ray; the old name will be removed in the next release",
    DeprecationWarning,
    stacklevel=2,
)
