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


def result_tables(results: ReportValues | ComparisonValues) -> list[Table]:
    """Return the tables that show results."""
    return tables_of_report(results) if isinstance(results, ReportValues) else tables_of_comparison(results)


def result_reports(results: ReportValues | ComparisonValues) -> list[ReportValues]:
    """Return the report, or all reports of a comparison."""
    return [results] if isinstance(results, ReportValues) else [*results.reports]


def result_summary(results: ReportValues | ComparisonValues) -> list[str]:
    """Return what the figures say, in sentences."""
    return summary_of_report(results) if isinstance(results, ReportValues) else summary_of_comparison(results)


def result_lines(results: ReportValues | ComparisonValues) -> Lines:
    """Return the lines of text above and below the tables."""
    head = [about(results)] if isinstance(results, ReportValues) else []
    return Lines(results.title, [*head, *result_summary(results)], [made(results), *result_citations(results)])


def made(results: ReportValues | ComparisonValues) -> str:
    """Return when and by what results were made."""
    return f"hf_bpe {__version__}, {result_reports(results)[0].date}"


def result_citations(results: ReportValues | ComparisonValues) -> list[str]:
    """Return a line for each tokenizer that a paper can cite."""
    return [report.citation for report in result_reports(results)]


def result_files(results: ReportValues | ComparisonValues) -> str:
    """Return the names and sizes of the files that were read."""
    files = result_reports(results)[0].files
    if len(files) > _MAX_FILES:
        return f"{len(files):,} files, {format_bytes(sum(files.values()))}"
    return ", ".join(f"{name} ({format_bytes(size)})" for name, size in files.items())
