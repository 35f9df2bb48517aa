"""A self-contained HTML page: tables, charts, and a style for light and dark, wide and narrow screens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby

from hf_bpe.analysis._report.charts import DARK, LIGHT, draw, swatch
from hf_bpe.analysis._report.contents import BETTER, MEANINGS, about, key_figures, other_figures
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues
from hf_bpe.analysis._report.summary import made, result_citations, result_files, result_summary, result_tables
from hf_bpe.analysis._report.tables import Table, as_html


def _colors(colors: tuple[str, ...]) -> str:
    return " ".join(f"--c{number}: {color};" for number, color in enumerate(colors))


# Important, because JupyterLab aligns cells with a selector that outweighs one of a class.
_STYLE = f"""
.hf-report {{
  --ink: #1c2126; --dim: #5d6771; --line: #dfe3e7; --page: #ffffff; --shade: #0004; {_colors(LIGHT)}
}}
@media (prefers-color-scheme: dark) {{
  .hf-report {{
    --ink: #e4e8ec; --dim: #99a3ad; --line: #343b42; --page: #14181c; --shade: #fff5; {_colors(DARK)}
  }}
}}
.hf-report {{
  color: var(--ink); background: var(--page);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}}
.hf-report h1 {{ font-size: 1.7rem; line-height: 1.2; font-weight: 650; margin: 0 0 .3rem; }}
.hf-report h2 {{ font-size: 1.08rem; font-weight: 650; margin: 0 0 .9rem; }}
.hf-report p {{ margin: 0; }}
.hf-report :is(.about, .note, figcaption, th, .key dt, .key small, footer) {{ color: var(--dim); }}
.hf-report :is(.note, footer) {{ font-size: .84rem; margin-top: .6rem; max-width: 46rem; }}
.hf-report .summary {{ margin: 1rem 0 0; padding: 0; max-width: 46rem; list-style: none; }}
.hf-report .summary li {{ margin: 0 0 .2rem; }}
.hf-report .summary li:first-child {{ font-weight: 600; }}
.hf-report summary {{ cursor: pointer; font-size: .92rem; width: fit-content; }}
.hf-report details > :nth-child(2) {{ margin-top: .8rem; }}
.hf-report header details {{ margin-top: 1.4rem; max-width: 46rem; }}
.hf-report .terms {{ font-size: .92rem; margin: .8rem 0 0; }}
.hf-report .terms dt {{ font-weight: 600; }}
.hf-report .terms dd {{ margin: 0 0 .4rem; }}
.hf-report footer p {{ margin: 0 0 .3rem; overflow-wrap: anywhere; }}
.hf-report .key {{
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1.2rem 1rem; margin: 1.8rem 0 0;
  max-width: 48rem;
}}
.hf-report .key + .about {{ font-size: .84rem; margin-top: .9rem; }}
.hf-report .key dt {{ font-size: .84rem; }}
.hf-report .key dd {{ margin: 0; font-size: 1.75rem; line-height: 1.25; font-weight: 600; }}
.hf-report .key small {{ font-size: .84rem; }}
.hf-report section {{ border-top: 1px solid var(--line); margin-top: 2.2rem; padding-top: 1.5rem; }}
.hf-report .pairs {{
  display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 0 3rem;
}}
.hf-report .pairs section {{ min-width: 0; }}
.hf-report .legend + section {{ border-top: 0; margin-top: 0; }}
.hf-report .charts {{ display: flex; flex-wrap: wrap; gap: 1.4rem 3.4rem; margin-bottom: 1.3rem; }}
.hf-report figure {{ flex: 1 1 20rem; min-width: 0; max-width: 29rem; margin: 0; }}
.hf-report figcaption {{ font-size: .84rem; margin-bottom: .4rem; }}
.hf-report svg {{ display: block; width: 100%; height: auto; font-family: inherit; }}
.hf-report .legend {{
  position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .1rem 1.3rem;
  margin: 1rem 0 0; padding: .4rem 0; background: var(--page); border-bottom: 1px solid var(--line);
}}
.hf-report .legend li {{ list-style: none; }}
.hf-report .legend svg {{ display: inline-block; width: .9em; height: .9em; margin: 0 .4em -.08em 0; }}
.hf-report .columns {{ display: flex; flex-wrap: wrap; gap: 2rem 3rem; align-items: flex-start; }}
.hf-report .columns > div {{ min-width: 0; max-width: 100%; }}
.hf-report .columns .note {{ width: 0; min-width: 100%; }}
.hf-report .scroll {{
  overflow-x: auto; background:
    linear-gradient(to left, var(--page) 1.5rem, transparent) right / 3rem 100% local no-repeat,
    linear-gradient(to left, var(--shade), transparent) right / 1rem 100% scroll no-repeat;
}}
.hf-report :is(.scroll, summary):focus-visible {{ outline: 2px solid var(--c0); outline-offset: 2px; }}
.hf-report table {{ border-collapse: collapse; border: 0; margin: 0; font-size: .92rem; }}
.hf-report th, .hf-report td {{
  padding: .24rem 0 .24rem 1.8rem; text-align: right !important; white-space: nowrap; background: none; border: 0;
}}
.hf-report :is(th, td):first-child {{ padding-left: 0; position: sticky; left: 0; background: var(--page); }}
.hf-report th {{ font-weight: 400; font-size: .84rem; line-height: 1.25; vertical-align: bottom; }}
.hf-report td {{ border-top: 1px solid var(--line); }}
.hf-report tr:first-child td {{ border-top-color: var(--dim); }}
.hf-report table:not(:has(thead)) tr:first-child td {{ border-top: 0; }}
.hf-report th.left, .hf-report td.left {{ text-align: left !important; }}
.hf-report td.left ~ td.left {{ white-space: pre-wrap; min-width: 16rem; }}
.hf-report .tokens td:first-child {{ font-family: ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre; }}
.hf-report :is(.strong td, td.best) {{ font-weight: 700; }}
@media (max-width: 40rem) {{
  .hf-report table {{ font-size: .86rem; }}
  .hf-report th, .hf-report td {{ padding-left: .9rem; }}
}}
"""
_PAGE_STYLE = """
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { margin: 0; }
body.hf-report main { max-width: 68rem; margin: 0 auto; padding: 2.4rem clamp(1rem, 4vw, 2.5rem) 3rem; }
"""


def page(shown: ReportValues | ComparisonValues, command: str = "") -> str:
    """Return a whole page with charts."""
    tables = result_tables(shown)
    is_report = isinstance(shown, ReportValues)
    sections = [*_sections(shown, [table for table in tables[is_report:] if not _is_list(table)])]
    lists = "".join(_titled(table) for table in tables if _is_list(table))
    if lists:
        sections.append(f'<section><div class="columns">{lists}</div></section>')
    for tree in shown.trees:
        sections.append(f"<section><h2>Merges of token {tree.id}</h2>{tree._repr_html_()}</section>")
    body = "\n".join([_head(shown), *sections, _foot(shown, command)])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(shown.title)}</title>\n<style>{_STYLE}{_PAGE_STYLE}</style>\n</head>\n"
        f'<body class="hf-report">\n<main>\n{body}\n</main>\n</body>\n</html>\n'
    )


def fragment(shown: ReportValues | ComparisonValues) -> str:
    """Return the tables as an HTML fragment, for example for a notebook."""
    trees = (f"<div><h2>Merges of token {tree.id}</h2>{tree._repr_html_()}</div>" for tree in shown.trees)
    parts = [*map(_titled, result_tables(shown)), *trees]
    return (
        f'<div class="hf-report"><style>{_STYLE}</style><h1>{escape(shown.title)}</h1>{_summary(shown)}'
        f'<section><div class="columns">{"".join(parts)}</div></section></div>'
    )


def _titled(table: Table) -> str:
    kind = " class=tokens" if _is_list(table) else ""
    return f"<div{kind}><h2>{escape(table.title)}</h2>{as_html(table)}</div>"


def _is_list(table: Table) -> bool:
    """Return whether a table is a list of tokens, which is shown next to other lists."""
    return table.columns[0] == "token"


def _head(shown: ReportValues | ComparisonValues) -> str:
    title = f"<h1>{escape(shown.title)}</h1>"
    reports = shown.reports if isinstance(shown, ComparisonValues) else [shown]
    has_superwords = any(report.superwords for report in reports)
    shown_terms = {name: text for name, text in MEANINGS.items() if name != "superwords" or has_superwords}
    meanings = _folded("What the figures mean", _terms(shown_terms))
    if isinstance(shown, ComparisonValues):
        return f"<header>{title}{_summary(shown)}{meanings}</header>{_legend(shown)}"
    assert isinstance(shown, ReportValues)
    figures = "".join(
        f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd><small>{BETTER[name]} is better</small></div>"
        for name, value in key_figures(shown)
    )
    others = ", ".join(f"{name} {value}" for name, value in other_figures(shown) if name != "vocabulary")
    return (
        f'<header>{title}<p class="about">{escape(about(shown))}</p>{_summary(shown)}<dl class="key">{figures}</dl>'
        f'<p class="about">{escape(others)}</p>{meanings}</header>'
    )


def _summary(shown: ReportValues | ComparisonValues) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in result_summary(shown))
    return f'<ul class="summary">{items}</ul>' if items else ""


def _terms(meanings: Mapping[str, str]) -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>" for name, meaning in meanings.items())
    return f'<dl class="terms">{items}</dl>'


def _folded(summary: str, content: str) -> str:
    return f"<details><summary>{summary}</summary>{content}</details>"


def _sections(shown: ReportValues | ComparisonValues, tables: Sequence[Table]) -> Iterator[str]:
    """Yield the tables, each folded below its charts if it has any, and side by side where there is room."""
    for number, group in groupby(tables, lambda table: len(table.charts)):
        if number == 0:
            yield f'<section><div class="columns">{"".join(map(_titled, group))}</div></section>'
        else:
            sections = "".join(_section(shown, table) for table in group)
            yield f'<div class="pairs">{sections}</div>' if number == 1 else sections


def _section(shown: ReportValues | ComparisonValues, table: Table) -> str:
    charts = [chart for chart in (draw(name, shown) for name in table.charts) if chart is not None]
    head = f"<h2>{escape(table.title)}</h2>"
    if not charts:  # nothing to draw
        return f"<section>{head}{as_html(table)}</section>"
    figures = ""
    for chart in charts:
        more = chart.title.removeprefix(table.title).lstrip(": ")
        figures += f"<figure>{f'<figcaption>{escape(more)}</figcaption>' if more else ''}{chart.svg}</figure>"
    table_of_figures = _folded("The figures as a table", as_html(table))
    return f'<section>{head}<div class="charts">{figures}</div>{table_of_figures}</section>'


def _foot(shown: ReportValues | ComparisonValues, command: str) -> str:
    files = result_files(shown)
    lines = [
        escape(made(shown)) + (f": <code>{escape(command)}</code>" if command else ""),
        f"Files: {escape(files)}" if files else "",
        *map(escape, result_citations(shown)),
    ]
    return f"<footer><section>{''.join(f'<p>{line}</p>' for line in lines if line)}</section></footer>"


def _legend(comparison: ComparisonValues) -> str:
    items = "".join(f"<li>{swatch(number)}{escape(name)}</li>" for number, name in enumerate(comparison.names))
    return f'<ul class="legend" aria-label="Legend">{items}</ul>'
