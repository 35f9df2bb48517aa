"""What is shown of results, whatever renders it: tables, and around them a few sentences that say what stands out."""

from __future__ import annotations

from collections.abc import Sequence

from hf_bpe._utils.memory import format_bytes
from hf_bpe._version import __version__
from hf_bpe.analysis._report.contents import about, tables_of_report
from hf_bpe.analysis._report.contents_of_comparison import tables_of_comparison
from hf_bpe.analysis._report.figures import Figures
from hf_bpe.analysis._report.measuring import UNNAMED
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues
from hf_bpe.analysis._report.tables import Lines, Table, number, share

_FEWEST = 100  # characters of a script that say something about it
_LEAST_SHARE = 0.01  # of the text, for scripts that the summary is about, each or together
_WIDE = 1.5  # bytes per character of a script whose characters take several bytes
_ONE = 1.005  # prints as 1.00
_MAX_NAMES = 6
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


def summary_of_report(report: ReportValues) -> list[str]:
    """Return what a report says about a tokenizer, in sentences."""
    scripts = _scripts(report)
    wide = [script for script in scripts if script.bytes > _WIDE * script.characters]
    missing = [script.name for script in _weighty(report, [script for script in wide if _is_missing(script)])]
    dear = [script for script in wide if script.tokens > script.characters and not _is_missing(script)]
    costly = _weighty(report, dear)
    said = []
    if missing:
        said.append(f"{_join(missing)} {_are(missing)} not in this vocabulary: 1.00 byte per token.")
    if costly:
        names = [script.name for script in costly]
        said.append(f"{_join(names)} {'take' if len(names) > 1 else 'takes'} more than one token per character.")
    common = [script for script in scripts if script.characters >= _LEAST_SHARE * report.total.characters]
    dearest = max(common, key=lambda script: script.parity or 0, default=None)
    if dearest is not None and dearest.parity is not None and dearest.parity > 1.5:
        times = number(dearest.parity, 1)
        said.append(f"{dearest.name} takes {times} times as many tokens per character as {report.reference[1]}.")
    curve = report.compression_curve
    half = report.model.vocab_size // 2
    if curve is not None and curve.smallest <= half < curve.largest and curve.tokens_at(curve.largest):
        more = curve.tokens_at(half) / curve.tokens_at(curve.largest) - 1
        said.append(f"With half the vocabulary, the text would take {share(more)} more tokens.")
    return said


def summary_of_comparison(comparison: ComparisonValues) -> list[str]:
    """Return what a comparison says, in sentences."""
    ranked = sorted(comparison.reports, key=lambda report: report.total.tokens)
    best = ranked[0]
    said = [_summarize_total(ranked)] if best.total.tokens else []
    if len(best.groups) > 1:
        said += _summarize_groups(comparison)
    lacking: dict[tuple[str, ...], list[str]] = {}
    for report in comparison.reports:
        wide = [script for script in _scripts(report) if script.bytes > _WIDE * script.characters]
        if missing := _weighty(report, [script for script in wide if _is_missing(script)]):
            lacking.setdefault(tuple(script.name for script in missing), []).append(report.name)
    for missing_there, names in lacking.items():
        vocabularies = "vocabularies" if len(names) > 1 else "vocabulary"
        said.append(f"{_join(missing_there)} {_are(missing_there)} not in the {vocabularies} of {_join(names)}.")
    return said


def _summarize_total(ranked: Sequence[ReportValues]) -> str:
    best, others = ranked[0], [ranked[1], *ranked[2:][-1:]]
    if best.total.tokens == ranked[1].total.tokens:
        alike = [report.name for report in ranked if report.total.tokens == best.total.tokens]
        return f"{_join(alike)} take equally few tokens: {number(best.total.tokens)}."
    fewer = [f"{share(1 - best.total.tokens / other.total.tokens)} fewer than {other.name}" for other in others]
    return f"{best.name} takes the fewest tokens, {number(best.total.tokens)}: {_join(fewer)}."


def _summarize_groups(comparison: ComparisonValues) -> list[str]:
    """Return which tokenizer is best on which texts, where no other is as good."""
    won: dict[str, list[str]] = {}
    for place, group in enumerate(comparison.reports[0].groups):
        tokens = [report.groups[place].tokens for report in comparison.reports]
        if tokens.count(min(tokens)) == 1:
            won.setdefault(comparison.names[tokens.index(min(tokens))], []).append(group.name)
    number_of_groups = len(comparison.reports[0].groups)
    return [
        f"{name} takes the fewest on {'every text' if len(groups) == number_of_groups else _join(groups)}."
        for name, groups in won.items()
    ]


def _scripts(report: ReportValues) -> list[Figures]:
    """Return the scripts with enough text to say something about them."""
    return [script for script in report.scripts if script.name not in UNNAMED and script.characters >= _FEWEST]


def _is_missing(script: Figures) -> bool:
    return script.bytes_per_token is not None and script.bytes_per_token < _ONE


def _weighty(report: ReportValues, scripts: Sequence[Figures]) -> list[Figures]:
    """Return the scripts that have a share of the text which matters; those that are too rare only all together."""
    least = _LEAST_SHARE * report.total.characters
    rare = [script for script in scripts if script.characters < least]
    if sum(script.characters for script in rare) >= least:
        return [*scripts]
    return [script for script in scripts if script.characters >= least]


def _are(names: Sequence[str]) -> str:
    return "are" if len(names) > 1 else "is"


def _join(names: Sequence[str]) -> str:
    """Return a list in words, cut if it is long.

    >>> _join(["a", "b", "c"]), _join("abcdefghi")
    ('a, b and c', 'a, b, c, d, e, f and 3 others')
    """
    names = [*names]
    if len(names) > _MAX_NAMES + 1:
        names = [*names[:_MAX_NAMES], f"{len(names) - _MAX_NAMES} others"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
