"""The contents of results: the table of figures, lists of tokens, and sentences that say what stands out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from hf_bpe._utils.memory import format_bytes
from hf_bpe._utils.visible import with_noun
from hf_bpe._version import __version__
from hf_bpe.analysis._report.figures import BETTER, Figures, ratio
from hf_bpe.analysis._report.measuring import UNNAMED
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues, Results, Token, shown_scripts
from hf_bpe.analysis._report.tables import Contents, Table, number, share, shortened

_FEWEST = 100  # characters of a script that say something about it
_MIN_SHARE = 0.01  # of the text, for scripts that the summary is about, each or together
_WIDE = 1.5  # bytes per character of a script whose characters take several bytes
_ONE = 1.005  # prints as 1.00
_MAX_NAMES = 6
_two, _three = partial(number, decimals=2), partial(number, decimals=3)


class Figure(NamedTuple):
    """A named figure of each tokenizer, None where it is undefined, and how it is printed."""

    name: str
    values: Sequence[float | None]
    show: Callable[[float | None], str] = number

    @property
    def cells(self) -> tuple[str, ...]:
        """The values as they are printed."""
        return tuple(map(self.show, self.values))


def contents(results: Results) -> Contents:
    """Return what is shown of results, whatever renders it."""
    if isinstance(results, ReportValues):
        head, table = [about(results), other_figures(results)], _table_of_report(results)
    else:
        head, table = [], _table_of_comparison(results)
    made = f"hf_bpe {__version__}, {results.reports[0].date}"
    citations = [report.citation for report in results.reports]
    return Contents(results.title, [*head, *summary(results)], table, _lists(results), made, citations, results.trees)


def key_figures(report: ReportValues) -> list[Figure]:
    """Return the most important figures."""
    total = report.total
    return [
        Figure("bytes per token", [total.bytes_per_token], _three),
        Figure("characters per token", [total.characters_per_token], _three),
        Figure("tokens per word", [total.tokens_per_word], _three),
        Figure("words in one token", [total.share_in_one_token], share),
    ]


def _other_figures(report: ReportValues) -> list[Figure]:
    total = report.total
    rows = [
        Figure("text", [total.bytes], _size),
        Figure("words", [total.words]),
        Figure("tokens", [total.tokens]),
        Figure("vocabulary", [report.size]),
        Figure("never used", [len(report.never_used)]),
        Figure("unreachable", [len(report.unreachable)]),
    ]
    return [*rows, Figure("bytes without a token", [report.unknown])] if report.unknown else rows


def _size(value: float | None) -> str:
    return format_bytes(round(value or 0))


def other_figures(report: ReportValues) -> str:
    """Return the other figures in a line."""
    return ", ".join(f"{row.name} {row.cells[0]}" for row in _other_figures(report) if row.name != "vocabulary")


def about(report: ReportValues) -> str:
    """Return the size of the vocabulary and the pattern."""
    pattern = report.model.pattern or "none"
    return f"{report.size:,} tokens, pattern {pattern if len(pattern) < 20 else 'custom'}"


_COLUMNS = ("bytes/\ntoken", "chars/\ntoken", "tokens/\nword", "words in\none token", "parity", "bytes", "tokens")


def _cells(figures: Figures) -> tuple[str, ...]:
    return (
        figures.name,
        *map(_two, (figures.bytes_per_token, figures.characters_per_token, figures.tokens_per_word)),
        share(figures.share_in_one_token),
        _two(figures.parity) if figures.parity is not None else "",
        _size(figures.bytes),
        number(figures.tokens),
    )


def _table_of_report(report: ReportValues) -> Table:
    """Return the figures by text, by script, by vocabulary size, and of all text."""
    curve = report.compression_curve
    groups = report.groups if len(report.groups) > 1 else ()
    scripts = shown_scripts([report])[0] if len(report.scripts) > 1 else []
    rows = [*map(_cells, groups), *map(_cells, scripts)]
    if curve:
        for size in curve.round_sizes()[:-1]:
            tokens = curve.tokens_at(size)
            rows.append((f"first {size:,} tokens", _two(ratio(curve.bytes, tokens)), *[""] * 5, number(tokens)))
    rows.append(_cells(report.total))
    notes = ["higher is better, but for tokens per word and parity", *_notes(report)]
    return Table(("", *_COLUMNS), rows, frozenset({len(rows) - 1}), note="; ".join(notes))


def _table_of_comparison(comparison: ComparisonValues) -> Table:
    """Return the figures side by side: overall, by text, by script, by vocabulary size."""
    reports = comparison.reports
    rows = [*_rows_of_comparison(comparison)]
    same = [row for row in rows if row.name in ("text", "words") and len({*row.cells}) == 1]
    rows = [row for row in rows if row not in same]
    best = {(place, column) for place, row in enumerate(rows) for column in _best(row)}
    notes = [", ".join(f"{row.cells[0]} {'of text' if row.name == 'text' else row.name}" for row in same)]
    lower = [name for name, better in BETTER.items() if better == "lower"]
    notes.append(f"higher is better, but for {', '.join(lower[:-1])} and {lower[-1]}")
    if len({report.model.pattern for report in reports}) > 1:
        notes.append("words are pre-tokens with a letter or number, so they differ by pattern")
    notes += [*_notes(*reports)]
    cells = [(row.name, *row.cells) for row in rows]
    return Table(("", *comparison.names), cells, best=frozenset(best), note="; ".join(filter(None, notes)))


def _rows_of_comparison(comparison: ComparisonValues) -> Iterator[Figure]:
    reports = comparison.reports
    columns = [{row.name: row for row in (*key_figures(report), *_other_figures(report))} for report in reports]
    for name, row in {name: row for column in columns for name, row in column.items()}.items():
        yield row._replace(values=[column[name].values[0] if name in column else 0 for column in columns])
    yield Figure("tokens that only it has", [only.tokens for only in comparison.only_in])
    yield Figure("these tokens in the text", [only.share for only in comparison.only_in], share)
    for parts, figures in (
        ([report.groups for report in reports], ("bytes_per_token", "parity", "tokens_per_word")),
        (shown_scripts(reports), ("bytes_per_token", "parity")),
    ):
        by_name = [{part.name: part for part in column} for column in parts]
        names = [*dict.fromkeys(name for column in by_name for name in column)]
        for figure in figures if len(names) > 1 else ():
            for name in names:
                values = [getattr(column[name], figure) if name in column else None for column in by_name]
                yield Figure(f"{figure.replace('_', ' ')}, {name}", values, _two)
    curves = [report.compression_curve for report in reports]
    for size in sorted({size for curve in curves if curve for size in curve.round_sizes()}):
        values = [
            ratio(curve.bytes, curve.tokens_at(size)) if curve and curve.smallest <= size <= curve.largest else None
            for curve in curves
        ]
        yield Figure(f"bytes per token, first {size:,} tokens", values, _two)


def _best(row: Figure) -> list[int]:
    """Return the columns of the best figure; figures that are printed alike are marked alike."""
    better = BETTER.get(row.name.partition(", ")[0])
    values = [value for value in row.values if better and value is not None]
    if len({*map(row.show, values)}) < 2:
        return []
    best = row.show(max(values) if better == "higher" else min(values))
    return [column for column, cell in enumerate(row.cells, start=1) if cell == best]


def _notes(*reports: ReportValues) -> Iterator[str]:
    """Yield what the rows of a table mean."""
    first = reports[0]
    if len(first.groups) > 1:
        yield f"parity of texts: tokens per character, relative to {first.reference[0]}"
    if len(first.scripts) > 1:
        rare = len(first.scripts) - len(shown_scripts([first])[0])
        left_out = f", {rare} rarer {'script is' if rare == 1 else 'scripts are'} left out" if rare else ""
        yield f"scripts are those of a pre-token's first letter, most text first{left_out}"
        yield f"parity of scripts: tokens per character, relative to {first.reference[1]}"
    for report in reports:
        if report.why_no_compression_curve:
            yield f"by vocabulary size not given: {report.name}: {report.why_no_compression_curve}"


def _lists(results: Results) -> list[tuple[str, str]]:
    if isinstance(results, ComparisonValues):
        used = [(only.name, [token for token in only.most_used if token.count]) for only in results.only_in]
        return [(f"only in {name}, used most", _listed(tokens)) for name, tokens in used if tokens]
    end = len(results.longest)
    lists = [
        ("used most", _listed(results.most_used)),
        ("longest", _listed(results.longest)),
        ("never used, highest ids", _listed(results.never_used[-end:][::-1] if end else ())),
    ]
    return [(name, tokens) for name, tokens in lists if tokens]


def _listed(tokens: Sequence[Token]) -> str:
    """Return tokens with how often each occurs, if it does."""
    return "  ".join(shortened(token.text) + (f" ({number(token.count)})" if token.count else "") for token in tokens)


def summary(results: Results) -> list[str]:
    """Return what the figures say, in sentences."""
    return _summary_of_report(results) if isinstance(results, ReportValues) else _summary_of_comparison(results)


def _summary_of_report(report: ReportValues) -> list[str]:
    common = [script for script in _scripts(report) if script.characters >= _min_characters(report)]
    dear = [script for script in _wide_scripts(report) if script.tokens > script.characters and not _is_missing(script)]
    missing, costly, said = _missing_scripts(report), _weighty_names(report, dear), []
    if missing:
        said.append(f"{_join(missing)} {_are(missing)} not in this vocabulary: 1.00 byte per token.")
    if costly:
        said.append(f"{_join(costly)} {'take' if len(costly) > 1 else 'takes'} more than one token per character.")
    dearest = max(common, key=lambda script: script.parity or 0, default=None)
    if dearest is not None and dearest.parity is not None and dearest.parity > 1.5:
        times = number(dearest.parity, 1)
        said.append(f"{dearest.name} takes {times} times as many tokens per character as {report.reference[1]}.")
    curve, half = report.compression_curve, report.model.vocab_size // 2
    if curve is not None and curve.smallest <= half < curve.largest and curve.tokens_at(curve.largest):
        more = curve.tokens_at(half) / curve.tokens_at(curve.largest) - 1
        said.append(f"With half the vocabulary, the text would take {share(more)} more tokens.")
    if lost := report.unreachable:
        said.append(f"{with_noun(len(lost), 'token')} unreachable: no merges make such a token from its own bytes.")
    return said


def _summary_of_comparison(comparison: ComparisonValues) -> list[str]:
    ranked = sorted(comparison.reports, key=lambda report: report.total.tokens)
    said = [_summarize_total(ranked)] if ranked[0].total.tokens else []
    if len(ranked[0].groups) > 1:
        said += _summarize_groups(comparison)
    lacking: dict[tuple[str, ...], list[str]] = {}
    for report in comparison.reports:
        if missing := _missing_scripts(report):
            lacking.setdefault(tuple(missing), []).append(report.name)
    for scripts, names in lacking.items():
        ies = "ies" if len(names) > 1 else "y"
        said.append(f"{_join(scripts)} {_are(scripts)} not in the vocabular{ies} of {_join(names)}.")
    return said


def _summarize_total(ranked: Sequence[ReportValues]) -> str:
    best, compared = ranked[0], [ranked[1], *ranked[2:][-1:]]
    if best.total.tokens == ranked[1].total.tokens:
        alike = [report.name for report in ranked if report.total.tokens == best.total.tokens]
        return f"{_join(alike)} take equally few tokens: {number(best.total.tokens)}."
    fewer = [f"{share(1 - best.total.tokens / other.total.tokens)} fewer than {other.name}" for other in compared]
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


def _wide_scripts(report: ReportValues) -> list[Figures]:
    return [script for script in _scripts(report) if script.bytes > _WIDE * script.characters]


def _missing_scripts(report: ReportValues) -> list[str]:
    return _weighty_names(report, [*filter(_is_missing, _wide_scripts(report))])


def _is_missing(script: Figures) -> bool:
    return script.bytes_per_token is not None and script.bytes_per_token < _ONE


def _min_characters(report: ReportValues) -> float:
    return _MIN_SHARE * report.total.characters


def _weighty_names(report: ReportValues, scripts: Sequence[Figures]) -> list[str]:
    """Return the names of scripts with a share of the text that matters; rare scripts count together."""
    minimum = _min_characters(report)
    counts_rare = sum(script.characters for script in scripts if script.characters < minimum) >= minimum
    return [script.name for script in scripts if counts_rare or script.characters >= minimum]


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
