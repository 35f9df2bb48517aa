"""The contents of comparisons: which tables they show, and which tokenizer is best at what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from hf_bpe.analysis._report.contents import (
    BETTER,
    BY_SCRIPT,
    by_size,
    key_figures,
    left_out,
    lengths,
    other_figures,
    shown_groups,
    shown_scripts,
)
from hf_bpe.analysis._report.figures import Figures
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues
from hf_bpe.analysis._report.tables import Table, number, share, shortened

_OF_TEXT = (*BETTER, "text", "words")


def tables_of_comparison(comparison: ComparisonValues) -> list[Table]:
    """Return the tables of a comparison."""
    reports, names = comparison.reports, comparison.names
    first = reports[0]
    tables = [*_overall(reports, names)]
    if len(first.groups) > 1:
        groups = shown_groups(reports)
        tables.append(_side_by_side("Bytes per token by text", names, groups, "bytes_per_token", "", ("groups",)))
        of = "tokens" if first.translations else "tokens per character"
        note = f"{of}, relative to {first.reference[0]}"
        tables.append(_side_by_side("Parity by text", names, groups, "parity", note, ("group parity",)))
        tables.append(_side_by_side("Tokens per word by text", names, groups, "tokens_per_word"))
    if len(first.scripts) > 1:
        scripts = shown_scripts(reports)
        note = f"{BY_SCRIPT}{left_out(first)}"
        tables.append(_side_by_side("Bytes per token by script", names, scripts, "bytes_per_token", note, ("scripts",)))
        note = f"tokens per character, relative to {first.reference[1]}{left_out(first)}"
        tables.append(_side_by_side("Parity by script", names, scripts, "parity", note, ("script parity",)))
    return [*tables, by_size(reports), lengths(reports), _only_in(comparison)]


def _overall(reports: Sequence[ReportValues], names: Sequence[str]) -> Iterable[Table]:
    """Yield a table of the figures that depend on the text, with the best of each marked, and one of the others."""
    columns = [dict([*key_figures(report), *other_figures(report)]) for report in reports]
    keys = [*dict.fromkeys(key for column in columns for key in column)]
    rows = {key: [column.get(key, "0") for column in columns] for key in keys}
    same = [f"{rows[key][0]} of {key}" if key == "text" else f"{rows[key][0]} {key}" for key in _same(rows)]
    figures = [_exact(report) for report in reports]
    shown = [key for key in rows if key in _OF_TEXT and key not in _same(rows)]
    best = {
        (row, 1 + place)
        for row, key in enumerate(shown)
        for place in _best([figure.get(key) for figure in figures], BETTER.get(key, ""))
    }
    lower = [key for key in shown if BETTER.get(key) == "lower"]
    notes = [", ".join(same), f"higher is better, but for {' and '.join(lower)}"]
    if len({report.model.pattern for report in reports}) > 1:
        notes.append("words are pre-tokens with a letter or number, so they differ by pattern")
    note = "; ".join(filter(None, notes))
    yield Table("Overall", ("", *names), [(key, *rows[key]) for key in shown], best=frozenset(best), note=note)
    yield Table("Vocabularies", ("", *names), [(key, *rows[key]) for key in rows if key not in _OF_TEXT])


def _same(rows: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the sizes of the text that are the same for all tokenizers."""
    return [key for key in ("text", "words") if len({*rows[key]}) == 1]


def _exact(report: ReportValues) -> dict[str, float | None]:
    total = report.total
    return {
        "bytes per token": total.bytes_per_token,
        "characters per token": total.characters_per_token,
        "tokens per word": total.tokens_per_word,
        "words in one token": total.share_in_one_token,
        "tokens": total.tokens,
    }


def _best(values: Sequence[float | None], better: str) -> list[int]:
    """Return the places of the best values, none if all are equal."""
    known = [value for value in values if value is not None]
    if not better or len({*known}) < 2:
        return []
    best = max(known) if better == "higher" else min(known)
    return [place for place, value in enumerate(values) if value == best]


def _side_by_side(
    title: str,
    names: Sequence[str],
    parts: Sequence[Sequence[Figures]],
    figure: str,
    note: str = "",
    charts: tuple[str, ...] = (),
) -> Table:
    """Return a table of one figure for each part of the texts, with a column for each tokenizer."""
    known = [{part.name: getattr(part, figure) for part in column} for column in parts]
    keys = [*dict.fromkeys(name for column in known for name in column)]
    rows = [(key, *(number(column.get(key), 2) for column in known)) for key in keys]
    better = BETTER[figure.replace("_", " ")]
    # As printed, so that figures that look equal are marked alike.
    printed = [[float(cell.replace(",", "")) if cell[0].isdigit() else None for cell in row[1:]] for row in rows]
    best = {(row, 1 + place) for row, values in enumerate(printed) for place in _best(values, better)}
    note = f"{better} is better{'; ' if note else ''}{note}"
    return Table(title, ("", *names), rows, best=frozenset(best), note=note, charts=charts)


def _only_in(comparison: ComparisonValues) -> Table:
    rows = [
        (
            only.name,
            number(only.tokens),
            share(only.share),
            "  ".join(shortened(token.text) for token in only.most_used if token.count),
        )
        for only in comparison.only_in
    ]
    columns = ("", "tokens", "of text", "used most")
    return Table("Tokens that only one has", columns, rows, frozenset({0, 3}))
