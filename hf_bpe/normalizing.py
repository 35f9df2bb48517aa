"""Deprecated: `hf_bpe.engine` under its former name, for one release."""

import warnings

from hf_bpe.engine import NormalizedTexts, to_nfc

__all__ = ["NormalizedTexts", "to_nfc"]

warnings.warn(
    "hf_bpe.normalizing is now hf_bpe.engine; the old name will be removed in the next release",
    DeprecationWarning,
    stacklevel=2,
)
