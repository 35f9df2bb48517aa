"""What reports and comparisons show, whatever renders it: tables, and lines of text around them."""

from __future__ import annotations

from hf_bpe._utils.memory import format_bytes
from hf_bpe._version import __version__
from hf_bpe.analysis._report.contents import about, tables_of_report
from hf_bpe.analysis._report.contents_of_comparison import tables_of_comparison
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues
from hf_bpe.analysis._report.summary import summary_of_comparison, summary_of_report
from hf_bpe.analysis._report.tables import Lines, Table

_MAX_FILES = 40


def tables_of(results: ReportValues | ComparisonValues) -> list[Table]:
    """Return the tables that show results."""
    return tables_of_report(results) if isinstance(results, ReportValues) else tables_of_comparison(results)


def reports_of(results: ReportValues | ComparisonValues) -> list[ReportValues]:
    """Return the report, or all reports of a comparison."""
    return [results] if isinstance(results, ReportValues) else [*results.reports]


def summary_of(results: ReportValues | ComparisonValues) -> list[str]:
    """Return what the figures say, in sentences."""
    return summary_of_report(results) if isinstance(results, ReportValues) else summary_of_comparison(results)


def lines_of(results: ReportValues | ComparisonValues) -> Lines:
    """Return the lines of text above and below the tables."""
    head = [about(results)] if isinstance(results, ReportValues) else []
    return Lines(results.title, [*head, *summary_of(results)], [made(results), *citations_of(results)])


def made(results: ReportValues | ComparisonValues) -> str:
    """Return when and by what results were made."""
    return f"hf_bpe {__version__}, {reports_of(results)[0].date}"


def citations_of(results: ReportValues | ComparisonValues) -> list[str]:
    """Return a line for each tokenizer that a paper can cite."""
    return [report.citation for report in reports_of(results)]


def files_of(results: ReportValues | ComparisonValues) -> str:
    """Return the names and sizes of the files that were read."""
    files = reports_of(results)[0].files
    if len(files) > _MAX_FILES:
        return f"{len(files):,} files, {format_bytes(sum(files.values()))}"
    return ", ".join(f"{name} ({format_bytes(size)})" for name, size in files.items())
