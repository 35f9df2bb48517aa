"""Deprecated: `hf_bpe.analysis` under its former name, for one release."""

import warnings

from hf_bpe.analysis import Comparison, CompressionCurve, Figures, OnlyIn, Report, Token, compare, report

Ladder = CompressionCurve

__all__ = ["Comparison", "Figures", "Ladder", "OnlyIn", "Report", "Token", "compare", "report"]

warnings.warn(
    "hf_bpe.report is now hf_bpe.analysis; the old name will be removed in the next release",
    DeprecationWarning,
    stacklevel=2,
)
