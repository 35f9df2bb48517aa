"""Deprecated: `hf_bpe.analysis` under its former name, for one release."""

import warnings

from hf_bpe.analysis import Shown, ShownToken, merge_tree, show

__all__ = ["Shown", "ShownToken", "merge_tree", "show"]

warnings.warn(
    "hf_bpe.show is now hf_bpe.analysis; the old name will be removed in the next release",
    DeprecationWarning,
    stacklevel=2,
)
