"""Analysis of tokenizers: text shown as tokens, merge trees, and reports of how well tokenizers fit texts."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports
from hf_bpe.analysis._merge_tree import MergeTree, merge_tree
from hf_bpe.analysis._show import Shown, ShownToken, show

if TYPE_CHECKING:
    from hf_bpe.analysis._report import Comparison, Report, compare, report
    from hf_bpe.analysis._report.figures import CompressionCurve, Figures
    from hf_bpe.analysis._report.results import OnlyIn, Token

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

# Reports import numpy, which the others do not need.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_report": "Comparison Report compare report",
        "_report.figures": "CompressionCurve Figures",
        "_report.results": "OnlyIn Token",
    },
)
