"""Analysis of tokenizers: text shown as tokens, merge trees, and reports of how well tokenizers fit texts."""

from hf_bpe.analysis._merge_tree import MergeTree, merge_tree
from hf_bpe.analysis._report import Comparison, Report, compare, report
from hf_bpe.analysis._report.figures import CompressionCurve, Figures
from hf_bpe.analysis._report.results import OnlyIn, Token
from hf_bpe.analysis._show import Shown, ShownToken, show

__all__ = [
    "Comparison",
    "CompressionCurve",
    "Figures",
    "MergeTree",
    "OnlyIn",
    "Report",
    "Shown",
    "ShownToken",
    "Token",
    "compare",
    "merge_tree",
    "report",
    "show",
]
