"""The contents of reports: which tables of which figures they show, and what the figures mean."""

from __future__ import annotations

from collections.abc import Sequence

from hf_bpe._utils.memory import format_bytes
from hf_bpe.analysis._report.figures import CompressionCurve, Figures, ratio
from hf_bpe.analysis._report.measuring import UNNAMED
from hf_bpe.analysis._report.results import ReportValues, Token
from hf_bpe.analysis._report.tables import NOTHING, Table, number, share, shortened

_MAX_SCRIPTS = 12
_MAX_LENGTHS = 12
_Row = tuple[str, ...]

BETTER = {
    "bytes per token": "higher",
    "characters per token": "higher",
    "tokens per word": "lower",
    "words in one token": "higher",
    "tokens": "lower",
    "parity": "lower",
}
"""Which direction of a figure means fewer tokens."""

MEANINGS = {
    "bytes per token": "bytes of UTF-8 divided by tokens: the compression.",
    "characters per token": "Unicode characters divided by tokens, to compare scripts.",
    "tokens per word": "tokens of words divided by words: the fertility. Words are pre-tokens with a letter or number.",
    "words in one token": "the share of words that are a single token.",
    "parity": "tokens relative to the reference, for as many characters or for the translation of the same text. Above "
    "1 a text costs more than the reference.",
    "by vocabulary size": "the compression with the first merges only, as if trained to that size.",
    "Rényi efficiency": "how evenly the tokens are used: 1 if all are equally frequent.",
    "never used": "tokens that do not occur in the text.",
    "superwords": "tokens of several words, and their share of the tokens of the text.",
    "unreachable": "tokens that no text becomes.",
    "special tokens": "are left out of text and tokens.",
}
"""What the figures mean."""


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


def about(report: ReportValues) -> str:
    """Return the size of the vocabulary and the pattern."""
    pattern = report.model.pattern or "none"
    return f"{report.size:,} tokens, pattern {pattern if len(pattern) < 20 else 'custom'}"


def tables_of_report(report: ReportValues) -> list[Table]:
    """Return the tables of a report."""
    tables = [Table("Overall", ("", ""), [*key_figures(report), *other_figures(report)])]
    if len(report.groups) > 1:
        tables.append(_groups(report))
    if len(report.scripts) > 1:
        tables.append(_scripts(report))
    tables.append(by_size([report]))
    tables.append(lengths([report]))
    tables.append(_tokens("Tokens used most", report.most_used))
    if report.superwords:
        tables.append(
            _tokens("Superwords used most", report.superwords[: len(report.longest)], "tokens of several words")
        )
    tables.append(_tokens("Longest tokens", report.longest))
    if report.never_used:
        last = report.never_used[-len(report.longest) :]
        tables.append(_tokens("Never used", last[::-1], "the highest ids", has_count=False))
    return tables


_DIRECTIONS = "higher is better, but for tokens per word and parity"
BY_SCRIPT = "script of a pre-token's first letter"
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
    of = "tokens" if report.translations else "tokens per character"
    note = f"{_DIRECTIONS}; parity: {of}, relative to {report.reference[0]}"
    strong = frozenset({len(rows) - 1})
    return Table("By text", ("", *_COLUMNS), rows, strong=strong, note=note, charts=("groups", "group parity"))


def shown_groups(reports: Sequence[ReportValues]) -> list[list[Figures]]:
    """Return the groups of each report, which are the same for all reports."""
    return [[*report.groups] for report in reports]


def shown_scripts(reports: Sequence[ReportValues]) -> list[list[Figures]]:
    """Return the scripts to show for each report: the commonest of the first report, then the unnamed ones."""
    named = [figures.name for figures in reports[0].scripts if figures.name not in UNNAMED]
    names = [*named[:_MAX_SCRIPTS], *UNNAMED]
    known = [{figures.name: figures for figures in report.scripts} for report in reports]
    return [[of[name] for name in names if name in of] for of in known]


def _scripts(report: ReportValues) -> Table:
    [shown] = shown_scripts([report])
    note = f"{BY_SCRIPT}{left_out(report)}; parity: tokens per character, relative to {report.reference[1]}"
    charts = ("scripts", "script parity")
    return Table("By script", ("", *_COLUMNS), [*map(_cells, shown)], note=note, charts=charts)


def left_out(report: ReportValues) -> str:
    """Return the end of a note on scripts: their order, and how many are left out."""
    number_of_rare = len(report.scripts) - len(shown_scripts([report])[0])
    scripts = "script is" if number_of_rare == 1 else "scripts are"
    return "; most text first" + (f"; {number_of_rare} rarer {scripts} left out" if number_of_rare else "")


def by_size(reports: Sequence[ReportValues]) -> Table:
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
    note = "; ".join(part for part in ("higher is better", note) if part)
    return Table(title, columns, rows, frozenset(), note=note, charts=("compression curve",))


def _by_size_of_one(title: str, curve: CompressionCurve) -> Table:
    rows = []
    for size in curve.round_sizes():
        tokens = curve.tokens_at(size)
        relative = ratio(tokens, curve.tokens_at(curve.largest))
        rows.append((number(size), number(ratio(curve.bytes, tokens), 2), number(tokens), number(relative, 2)))
    columns = ("vocabulary", "bytes/\ntoken", "tokens", "relative\ntokens")
    return Table(title, columns, rows, frozenset(), frozenset({len(rows) - 1}), charts=("compression curve",))


def lengths(reports: Sequence[ReportValues]) -> Table:
    shares = [binned(report.lengths_in_text) for report in reports]
    columns = [report.name for report in reports]
    if len(reports) == 1:
        shares.insert(0, binned(reports[0].lengths_in_vocabulary))
        columns = ["of the\nvocabulary", "of the\ntext"]
    bins = range(_MAX_LENGTHS)
    rows = [(length_name(bin), *(share(of[bin]) for of in shares)) for bin in bins if any(of[bin] for of in shares)]
    return Table("Tokens by length in bytes", ("bytes", *columns), rows, frozenset(), charts=("lengths",))


def binned(histogram: dict[int, float]) -> list[float]:
    """Return the shares of tokens of 1, 2, … bytes, and of all longer tokens as the last share."""
    total = sum(histogram.values()) or 1
    shares = [histogram.get(length, 0) / total for length in range(1, _MAX_LENGTHS)]
    return [*shares, sum(count for length, count in histogram.items() if length >= _MAX_LENGTHS) / total]


def length_name(bin: int) -> str:
    """Return the label of a bin of `binned`."""
    return str(bin + 1) if bin + 1 < _MAX_LENGTHS else f"{_MAX_LENGTHS}+"


def _tokens(title: str, tokens: Sequence[Token], note: str = "", *, has_count: bool = True) -> Table:
    rows = [
        (shortened(token.text), str(token.id), str(token.bytes), *([number(token.count)] if has_count else []))
        for token in tokens
    ]
    if not note and any("×" in row[0] for row in rows):
        note = "·×83 is a run of 83 spaces"
    return Table(title, ("token", "id", "bytes", *(["times"] if has_count else [])), rows, note=note)
