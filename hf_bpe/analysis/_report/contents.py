"""The contents of reports and comparisons: which tables of which figures they show."""

from __future__ import annotations

from collections.abc import Sequence

from hf_bpe._utils.memory import format_bytes
from hf_bpe.analysis._report.compression_curve import CompressionCurve
from hf_bpe.analysis._report.figures import Figures, ratio
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues, Token
from hf_bpe.analysis._report.scripts import UNNAMED
from hf_bpe.analysis._report.tables import NOTHING, Table, number, share, shortened

_MOST_SCRIPTS = 12
_MOST_LENGTHS = 12
_Row = tuple[str, ...]


def key_figures(report: ReportValues) -> list[tuple[str, str]]:
    """Return names and values of the most important figures."""
    total = report.total
    return [
        ("bytes per token", number(total.bytes_per_token, 3)),
        ("characters per token", number(total.characters_per_token, 3)),
        ("tokens per word", number(total.tokens_per_word, 3)),
        ("words in one token", share(total.share_in_one_token)),
    ]


def _other_figures(report: ReportValues) -> list[tuple[str, str]]:
    total = report.total
    rows = [
        ("text", format_bytes(round(total.bytes))),
        ("words", number(total.words)),
        ("tokens", number(total.tokens)),
        ("Rényi efficiency", number(report.efficiency, 3)),
        ("vocabulary", number(report.model.vocab_size)),
        ("never used", number(len(report.never_used))),
        ("unreachable", number(len(report.unreachable))),
    ]
    return [*rows, ("bytes without a token", number(report.unknown))] if report.unknown else rows


def about(report: ReportValues) -> str:
    """Return the other figures as a line."""
    total = report.total
    unknown = f" · {number(report.unknown)} bytes without a token" if report.unknown else ""
    return (
        f"{format_bytes(round(total.bytes))} of text · {number(total.tokens)} tokens · Rényi efficiency "
        f"{number(report.efficiency, 3)} · {number(len(report.never_used))} tokens of the vocabulary never used · "
        f"{number(len(report.unreachable))} unreachable{unknown}"
    )


def tables_of(results: ReportValues | ComparisonValues) -> list[Table]:
    """Return the tables that show results."""
    return tables_of_report(results) if isinstance(results, ReportValues) else tables_of_comparison(results)


def tables_of_report(report: ReportValues) -> list[Table]:
    """Return the tables of a report."""
    tables = [Table("Overall", ("", ""), [*key_figures(report), *_other_figures(report)])]
    if len(report.groups) > 1:
        tables.append(_groups(report))
    if len(report.scripts) > 1:
        tables.append(_scripts(report))
    tables.append(_by_size([report]))
    tables.append(_lengths([report]))
    tables.append(_tokens("Tokens used most", report.most_used))
    tables.append(_tokens("Longest tokens", report.longest))
    if report.never_used:
        last = report.never_used[-len(report.longest) :]
        tables.append(_tokens("Never used", last[::-1], "the highest ids", has_count=False))
    return tables


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


def _groups(report: ReportValues) -> Table:
    rows = [*map(_cells, report.groups), _cells(report.total)]
    of = "tokens" if report.parallel else "tokens per character"
    note = f"parity: {of}, relative to {report.reference[0]}"
    strong = frozenset({len(rows) - 1})
    return Table("By text", ("", *_COLUMNS), rows, strong=strong, note=note, pictures=("groups", "group parity"))


def shown_groups(reports: Sequence[ReportValues]) -> list[list[Figures]]:
    """Return the groups of each report, which are the same for all reports."""
    return [[*report.groups] for report in reports]


def shown_scripts(reports: Sequence[ReportValues]) -> list[list[Figures]]:
    """Return the scripts to show for each report: the commonest of the first report, then the unnamed ones."""
    named = [figures.name for figures in reports[0].scripts if figures.name not in UNNAMED]
    names = [*named[:_MOST_SCRIPTS], *UNNAMED]
    known = [{figures.name: figures for figures in report.scripts} for report in reports]
    return [[of[name] for name in names if name in of] for of in known]


def _scripts(report: ReportValues) -> Table:
    [shown] = shown_scripts([report])
    note = f"script of a pre-token's first letter; parity: tokens per character, relative to {report.reference[1]}"
    note += _left_out(report)
    pictures = ("scripts", "script parity")
    return Table("By script", ("", *_COLUMNS), [*map(_cells, shown)], note=note, pictures=pictures)


def _left_out(report: ReportValues) -> str:
    left_out = len(report.scripts) - len(shown_scripts([report])[0])
    return f"; {left_out} rarer scripts are left out" if left_out else ""


def _by_size(reports: Sequence[ReportValues]) -> Table:
    """Return the table of compression by vocabulary size, for one or more reports."""
    title = "Bytes per token by vocabulary size"
    why = [f"{report.name}: {report.why_no_compression_curve}" for report in reports if report.why_no_compression_curve]
    note = f"not given: {'; '.join(why)}" if why else ""
    curves = [report.compression_curve for report in reports]
    known = [curve for curve in curves if curve is not None]
    if not known:
        return Table(title, ("",), [], note=note)
    if len(reports) == 1:
        return _by_size_of_one(title, known[0])
    rows = []
    for size in sorted({size for curve in known for size in curve.round_sizes()}):
        row = [number(size)]
        for of in curves:
            is_in = of is not None and of.smallest <= size <= of.largest
            row.append(number(ratio(of.bytes, of.tokens_at(size)), 2) if of and is_in else NOTHING)
        rows.append(tuple(row))
    columns = ("vocabulary", *(report.name for report in reports))
    return Table(title, columns, rows, frozenset(), note=note, pictures=("compression curve",))


def _by_size_of_one(title: str, curve: CompressionCurve) -> Table:
    rows = []
    for size in curve.round_sizes():
        tokens = curve.tokens_at(size)
        relative = ratio(tokens, curve.tokens_at(curve.largest))
        rows.append((number(size), number(ratio(curve.bytes, tokens), 2), number(tokens), number(relative, 2)))
    columns = ("vocabulary", "bytes/\ntoken", "tokens", "relative\ntokens")
    return Table(title, columns, rows, frozenset(), frozenset({len(rows) - 1}), pictures=("compression curve",))


def _lengths(reports: Sequence[ReportValues]) -> Table:
    shares = [binned(report.lengths_in_text) for report in reports]
    columns = [report.name for report in reports]
    if len(reports) == 1:
        shares.insert(0, binned(reports[0].lengths_in_vocabulary))
        columns = ["of the\nvocabulary", "of the\ntext"]
    bins = range(_MOST_LENGTHS)
    rows = [(length_name(bin), *(share(of[bin]) for of in shares)) for bin in bins if any(of[bin] for of in shares)]
    return Table("Tokens by length in bytes", ("bytes", *columns), rows, frozenset(), pictures=("lengths",))


def binned(histogram: dict[int, float]) -> list[float]:
    """Return the shares of tokens of 1, 2, … bytes, and of all longer tokens as the last share."""
    total = sum(histogram.values()) or 1
    shares = [histogram.get(length, 0) / total for length in range(1, _MOST_LENGTHS)]
    return [*shares, sum(count for length, count in histogram.items() if length >= _MOST_LENGTHS) / total]


def length_name(bin: int) -> str:
    """Return the label of a bin of `binned`."""
    return str(bin + 1) if bin + 1 < _MOST_LENGTHS else f"{_MOST_LENGTHS}+"


def _tokens(title: str, tokens: Sequence[Token], note: str = "", *, has_count: bool = True) -> Table:
    rows = [
        (shortened(token.text), str(token.id), str(token.bytes), *([number(token.count)] if has_count else []))
        for token in tokens
    ]
    return Table(title, ("token", "id", "bytes", *(["times"] if has_count else [])), rows, note=note)


# Comparisons.


def tables_of_comparison(comparison: ComparisonValues) -> list[Table]:
    """Return the tables of a comparison."""
    reports, names = comparison.reports, comparison.names
    first = reports[0]
    columns = [dict([*key_figures(report), *_other_figures(report)]) for report in reports]
    keys = dict.fromkeys(key for column in columns for key in column)
    rows = [(key, *(column.get(key, "0") for column in columns)) for key in keys]
    patterns = {report.model.pattern for report in reports}
    note = "words are pre-tokens with a letter or number, so they differ by pattern" if len(patterns) > 1 else ""
    tables = [Table("Overall", ("", *names), rows, note=note)]
    if len(first.groups) > 1:
        groups = shown_groups(reports)
        tables.append(_side_by_side("Bytes per token by text", names, groups, "bytes_per_token", "", ("groups",)))
        tables.append(_side_by_side("Tokens per word by text", names, groups, "tokens_per_word"))
        of = "tokens" if first.parallel else "tokens per character"
        note = f"{of}, relative to {first.reference[0]}"
        tables.append(_side_by_side("Parity by text", names, groups, "parity", note, ("group parity",)))
    if len(first.scripts) > 1:
        scripts = shown_scripts(reports)
        note = f"script of a pre-token's first letter{_left_out(first)}"
        tables.append(_side_by_side("Bytes per token by script", names, scripts, "bytes_per_token", note, ("scripts",)))
        note = f"tokens per character, relative to {first.reference[1]}{_left_out(first)}"
        tables.append(_side_by_side("Parity by script", names, scripts, "parity", note, ("script parity",)))
    tables.append(_by_size(reports))
    tables.append(_lengths(reports))
    rows = [
        (
            only.name,
            number(only.tokens),
            share(only.share),
            "  ".join(shortened(token.text) for token in only.most_used if token.count),
        )
        for only in comparison.only_in
    ]
    columns_of_only = ("", "tokens", "of text", "used most")
    return [*tables, Table("Tokens that only one has", columns_of_only, rows, frozenset({0, 3}))]


def _side_by_side(
    title: str,
    names: Sequence[str],
    parts: Sequence[Sequence[Figures]],
    figure: str,
    note: str = "",
    pictures: tuple[str, ...] = (),
) -> Table:
    """Return a table of one figure for each part of the texts, with a column for each tokenizer."""
    known = [{part.name: getattr(part, figure) for part in column} for column in parts]
    keys = dict.fromkeys(name for column in known for name in column)
    rows = [(key, *(number(column.get(key), 2) for column in known)) for key in keys]
    return Table(title, ("", *names), rows, note=note, pictures=pictures)
