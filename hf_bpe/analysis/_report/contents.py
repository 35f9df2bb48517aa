"""The contents of results: the table of figures, lists of tokens, and sentences that say what stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hf_bpe._utils.memory import format_bytes
from hf_bpe._version import __version__
from hf_bpe.analysis._report.figures import BETTER, Figures, ratio
from hf_bpe.analysis._report.measuring import UNNAMED
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues, Results, Token, shown_scripts
from hf_bpe.analysis._report.tables import NOTHING, Contents, Table, number, share, shortened

_FEWEST = 100  # characters of a script that say something about it
_LEAST_SHARE = 0.01  # of the text, for scripts that the summary is about, each or together
_WIDE = 1.5  # bytes per character of a script whose characters take several bytes
_ONE = 1.005  # prints as 1.00
_MAX_NAMES = 6
_Row = tuple[str, ...]


def contents(results: Results) -> Contents:
    """Return what is shown of results, whatever renders it."""
    if isinstance(results, ReportValues):
        head, table = [about(results), others(results)], _table_of_report(results)
    else:
        head, table = [], _table_of_comparison(results)
    made = f"hf_bpe {__version__}, {results.reports[0].date}"
    citations = [report.citation for report in results.reports]
    return Contents(results.title, [*head, *summary(results)], table, _lists(results), made, citations, results.trees)


def key_figures(report: ReportValues) -> list[tuple[str, str]]:
    """Return names and values of the most important figures."""
    total = report.total
    return [
        ("bytes per token", number(total.bytes_per_token, 3)),
        ("characters per token", number(total.characters_per_token, 3)),
        ("tokens per word", number(total.tokens_per_word, 3)),
        ("words in one token", share(total.share_in_one_token)),
    ]


def other_figures(report: ReportValues) -> list[tuple[str, str]]:
    """Return names and values of the other figures."""
    total = report.total
    rows = [
        ("text", format_bytes(round(total.bytes))),
        ("words", number(total.words)),
        ("tokens", number(total.tokens)),
        ("Rényi efficiency", number(report.efficiency, 3)),
        ("vocabulary", number(report.size)),
        ("never used", number(len(report.never_used))),
        ("unreachable", number(len(report.unreachable))),
    ]
    if report.superwords:
        rows.append(("superwords", number(len(report.superwords))))
        rows.append(("superwords in the text", share(report.share_of_superwords)))
    return [*rows, ("bytes without a token", number(report.unknown))] if report.unknown else rows


def others(report: ReportValues) -> str:
    """Return the other figures in a line."""
    return ", ".join(f"{name} {value}" for name, value in other_figures(report) if name != "vocabulary")


def about(report: ReportValues) -> str:
    """Return the size of the vocabulary and the pattern."""
    pattern = report.model.pattern or "none"
    return f"{report.size:,} tokens, pattern {pattern if len(pattern) < 20 else 'custom'}"


_COLUMNS = ("bytes/\ntoken", "chars/\ntoken", "tokens/\nword", "words in\none token", "parity", "bytes", "tokens")


def _cells(figures: Figures) -> _Row:
    return (
        figures.name,
        number(figures.bytes_per_token, 2),
        number(figures.characters_per_token, 2),
        number(figures.tokens_per_word, 2),
        share(figures.share_in_one_token),
        number(figures.parity, 2) if figures.parity is not None else "",
        format_bytes(round(figures.bytes)),
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
            rows.append((f"first {size:,} tokens", number(ratio(curve.bytes, tokens), 2), *[""] * 5, number(tokens)))
    rows.append(_cells(report.total))
    notes = ["higher is better, but for tokens per word and parity", *_notes(report)]
    return Table(("", *_COLUMNS), rows, frozenset({len(rows) - 1}), note="; ".join(notes))


def _table_of_comparison(comparison: ComparisonValues) -> Table:
    """Return the figures side by side: overall, by text, by script, by vocabulary size."""
    reports = comparison.reports
    rows = [*_rows_of_comparison(comparison)]
    same = [row for row in rows if row[0] in ("text", "words") and len({*row[1:]}) == 1]
    rows = [row for row in rows if row not in same]
    best = {(place, column) for place, row in enumerate(rows) for column in _best(row)}
    notes = [", ".join(f"{row[1]} of text" if row[0] == "text" else f"{row[1]} words" for row in same)]
    lower = [name for name, better in BETTER.items() if better == "lower"]
    notes.append(f"higher is better, but for {', '.join(lower[:-1])} and {lower[-1]}")
    if len({report.model.pattern for report in reports}) > 1:
        notes.append("words are pre-tokens with a letter or number, so they differ by pattern")
    notes += [*_notes(*reports)]
    return Table(("", *comparison.names), rows, best=frozenset(best), note="; ".join(filter(None, notes)))


def _rows_of_comparison(comparison: ComparisonValues) -> Iterator[_Row]:
    reports = comparison.reports
    columns = [dict([*key_figures(report), *other_figures(report)]) for report in reports]
    for key in dict.fromkeys(key for column in columns for key in column):
        yield (key, *(column.get(key, "0") for column in columns))
    yield ("tokens that only it has", *(number(only.tokens) for only in comparison.only_in))
    yield ("these tokens in the text", *(share(only.share) for only in comparison.only_in))
    for parts, figures in (
        ([report.groups for report in reports], ("bytes_per_token", "parity", "tokens_per_word")),
        (shown_scripts(reports), ("bytes_per_token", "parity")),
    ):
        known = [{part.name: part for part in column} for column in parts]
        names = [*dict.fromkeys(name for column in known for name in column)]
        for figure in figures if len(names) > 1 else ():
            for name in names:
                values = (getattr(column[name], figure) if name in column else None for column in known)
                yield (f"{figure.replace('_', ' ')}, {name}", *(number(value, 2) for value in values))
    curves = [report.compression_curve for report in reports]
    for size in sorted({size for curve in curves if curve for size in curve.round_sizes()}):
        row = (
            number(ratio(curve.bytes, curve.tokens_at(size)), 2)
            if curve and curve.smallest <= size <= curve.largest
            else NOTHING
            for curve in curves
        )
        yield (f"bytes per token, first {size:,} tokens", *row)


def _best(row: _Row) -> list[int]:
    """Return the columns of the best figures as printed, so that figures that look equal are marked alike."""
    better = BETTER.get(row[0].partition(", ")[0])
    known = {
        column: float(cell.replace(",", "").removesuffix(" %"))
        for column, cell in enumerate(row)
        if better and column and cell[:1].isdigit()
    }
    if len({*known.values()}) < 2:
        return []
    best = max(known.values()) if better == "higher" else min(known.values())
    return [column for column, value in known.items() if value == best]


def _notes(*reports: ReportValues) -> Iterator[str]:
    """Yield what the rows of a table mean."""
    first = reports[0]
    if len(first.groups) > 1:
        cost = "tokens" if first.translations else "tokens per character"
        yield f"parity of texts: {cost}, relative to {first.reference[0]}"
    if len(first.scripts) > 1:
        rare = len(first.scripts) - len(shown_scripts([first])[0])
        left_out = f", {rare} rarer {'script is' if rare == 1 else 'scripts are'} left out" if rare else ""
        yield f"scripts are those of a pre-token's first letter, most text first{left_out}"
        yield f"parity of scripts: tokens per character, relative to {first.reference[1]}"
    for report in reports:
        if report.why_no_compression_curve:
            yield f"by vocabulary size not given: {report.name}: {report.why_no_compression_curve}"


def _lists(results: Results) -> list[tuple[str, str]]:
    """Return lists of tokens in words."""
    if isinstance(results, ComparisonValues):
        used = [(only.name, [token for token in only.most_used if token.count]) for only in results.only_in]
        return [(f"only in {name}, used most", _listed(tokens)) for name, tokens in used if tokens]
    end = len(results.longest)
    lists = [
        ("used most", _listed(results.most_used)),
        ("superwords used most", _listed(results.superwords[:end])),
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
    """Return what a report says about a tokenizer, in sentences."""
    scripts = _scripts(report)
    wide = [script for script in scripts if script.bytes > _WIDE * script.characters]
    missing = [script.name for script in _weighty(report, [script for script in wide if _is_missing(script)])]
    dear = [script for script in wide if script.tokens > script.characters and not _is_missing(script)]
    costly = _weighty(report, dear)
    said = []
    if missing:
        said.append(
            f"{_join(missing)} {'are' if len(missing) > 1 else 'is'} not in this vocabulary: 1.00 byte per token."
        )
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


def _summary_of_comparison(comparison: ComparisonValues) -> list[str]:
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
        are, ies = ("are" if len(missing_there) > 1 else "is"), ("ies" if len(names) > 1 else "y")
        said.append(f"{_join(missing_there)} {are} not in the vocabular{ies} of {_join(names)}.")
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


def _join(names: Sequence[str]) -> str:
    """Return a list in words, cut if it is long.

    >>> _join(["a", "b", "c"]), _join("abcdefghi")
    ('a, b and c', 'a, b, c, d, e, f and 3 others')
    """
    names = [*names]
    if len(names) > _MAX_NAMES + 1:
        names = [*names[:_MAX_NAMES], f"{len(names) - _MAX_NAMES} others"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
