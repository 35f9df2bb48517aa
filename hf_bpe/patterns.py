"""Deprecated: `hf_bpe.core.pretokenizers` under its former name, for one release."""

import warnings

from hf_bpe.core.pretokenizers import PATTERNS, canonical_pattern, split

__all__ = ["PATTERNS", "canonical_pattern", "split"]

warnings.warn(
    "hf_bpe.patterns is now hf_bpe.core.pretokenizers; the old name will be removed in the next release",
    DeprecationWarning,
    stacklevel=2,
)
