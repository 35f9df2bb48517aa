"""A self-contained HTML page: tables, charts, and a style for light and dark, wide and narrow screens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import starmap

from hf_bpe._utils.memory import format_bytes
from hf_bpe.analysis._report.charts import DARK, LIGHT, Chart, draw, swatch
from hf_bpe.analysis._report.contents import about, contents, key_figures, other_figures, summary
from hf_bpe.analysis._report.figures import BETTER, MEANINGS
from hf_bpe.analysis._report.results import ComparisonValues, Results
from hf_bpe.analysis._report.tables import as_html

_MAX_FILES = 40


def _colors(colors: tuple[str, ...]) -> str:
    return " ".join(f"--c{number}: {color};" for number, color in enumerate(colors))


# Important, because JupyterLab aligns cells with a selector that outweighs one of a class.
_STYLE = f"""
.hf-report {{
  --ink: #1c2126; --dim: #5d6771; --line: #dfe3e7; --page: #ffffff; {_colors(LIGHT)}
}}
@media (prefers-color-scheme: dark) {{
  .hf-report {{
    --ink: #e4e8ec; --dim: #99a3ad; --line: #343b42; --page: #14181c; {_colors(DARK)}
  }}
}}
.hf-report {{
  color: var(--ink); background: var(--page);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}}
.hf-report main, div.hf-report {{ box-sizing: border-box; width: fit-content; max-width: min(100%, 68rem); }}
.hf-report h1 {{ font-size: 1.7rem; line-height: 1.2; font-weight: 650; margin: 0 0 .3rem; }}
.hf-report h2 {{ font-size: 1.08rem; font-weight: 650; margin: 0 0 .9rem; }}
.hf-report p {{ margin: 0; }}
.hf-report :is(.about, .note, figcaption, th, .key dt, .key small, footer) {{ color: var(--dim); }}
.hf-report :is(.note, footer) {{ font-size: .84rem; margin-top: .6rem; }}
.hf-report :is(header, .summary, .charts, .terms, .note, footer) {{ max-width: 48rem; }}
.hf-report .summary {{ margin: 1rem 0 0; padding: 0; list-style: none; }}
.hf-report .summary li {{ margin: 0 0 .2rem; }}
.hf-report .summary li:first-child {{ font-weight: 600; }}
.hf-report summary {{ cursor: pointer; font-size: .92rem; width: fit-content; }}
.hf-report header details {{ margin-top: 1.4rem; }}
.hf-report .terms {{ font-size: .92rem; margin: .8rem 0 0; }}
.hf-report .terms dt {{ font-weight: 600; }}
.hf-report .terms dd {{ margin: 0 0 .4rem; }}
.hf-report .tokens dd {{ font-family: ui-monospace, "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }}
.hf-report footer p {{ margin: 0 0 .3rem; overflow-wrap: anywhere; }}
.hf-report .key {{
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: 1.2rem 1rem; margin: 1.8rem 0 0;
}}
.hf-report .key + .about {{ font-size: .84rem; margin-top: .9rem; }}
.hf-report .key dt {{ font-size: .84rem; }}
.hf-report .key dd {{ margin: 0; font-size: 1.75rem; line-height: 1.25; font-weight: 600; }}
.hf-report .key small {{ font-size: .84rem; }}
.hf-report section {{ border-top: 1px solid var(--line); margin-top: 2.2rem; padding-top: 1.5rem; }}
.hf-report .legend + section {{ border-top: 0; margin-top: 0; }}
.hf-report .charts {{ display: flex; flex-wrap: wrap; gap: 1.4rem 2rem; margin-bottom: 1.3rem; }}
.hf-report figure {{ flex: 1 1 20rem; min-width: 0; margin: 0; }}
.hf-report figcaption {{ font-size: .84rem; margin-bottom: .4rem; }}
.hf-report svg {{ display: block; width: 100%; height: auto; }}
.hf-report .legend {{
  position: sticky; top: 0; z-index: 1; display: flex; flex-wrap: wrap; gap: .1rem 1.3rem;
  margin: 1rem 0 0; padding: .4rem 0; background: var(--page); border-bottom: 1px solid var(--line);
}}
.hf-report .legend li {{ list-style: none; }}
.hf-report .legend svg {{ display: inline-block; width: .9em; height: .9em; margin: 0 .4em -.08em 0; }}
.hf-report .scroll {{ overflow-x: auto; }}
.hf-report :is(.scroll, summary):focus-visible {{ outline: 2px solid var(--c0); outline-offset: 2px; }}
.hf-report table {{ border-collapse: collapse; border: 0; margin: 0; font-size: .92rem; }}
.hf-report th, .hf-report td {{
  padding: .24rem 0 .24rem 1.8rem; text-align: right !important; white-space: nowrap; background: none; border: 0;
}}
.hf-report :is(th, td):first-child {{
  text-align: left !important; padding-left: 0; position: sticky; left: 0; background: var(--page);
}}
.hf-report th {{ font-weight: 400; font-size: .84rem; line-height: 1.25; vertical-align: bottom; }}
.hf-report td {{ border-top: 1px solid var(--line); }}
.hf-report tr:first-child td {{ border-top-color: var(--dim); }}
.hf-report :is(.strong td, td.best) {{ font-weight: 700; }}
@media (max-width: 40rem) {{
  .hf-report table {{ font-size: .86rem; }}
  .hf-report th, .hf-report td {{ padding-left: .9rem; }}
}}
"""
_PAGE_STYLE = """
html { color-scheme: light dark; -webkit-text-size-adjust: 100%; }
body { margin: 0; }
body.hf-report main { margin: 0 auto; padding: 2.4rem clamp(1rem, 4vw, 2.5rem) 3rem; }
"""


def page(results: Results, command: str = "") -> str:
    """Return a whole page with charts."""
    charts = starmap(_section, draw(results.reports).items())
    body = "\n".join([_head(results), *charts, _figures(results), _foot(results, command)])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(results.title)}</title>\n<style>{_STYLE}{_PAGE_STYLE}</style>\n</head>\n"
        f'<body class="hf-report">\n<main>\n{body}\n</main>\n</body>\n</html>\n'
    )


def fragment(results: Results) -> str:
    """Return the page without charts as an HTML fragment, for example for a notebook."""
    head = f"<h1>{escape(results.title)}</h1>{_summary(results)}"
    return f'<div class="hf-report"><style>{_STYLE}</style>{head}{_figures(results)}</div>'


def _figures(results: Results) -> str:
    """Return the table, the lists of tokens and the merge trees."""
    shown = contents(results)
    parts = [f"<h2>Figures</h2>{as_html(shown.table)}"]
    if shown.tokens:
        parts.append(f"<h2>Tokens</h2>{_terms(shown.tokens, 'terms tokens')}")
    parts += (f"<h2>Merges of token {tree.id}</h2>{tree._repr_html_()}" for tree in shown.trees)
    return "".join(f"<section>{part}</section>" for part in parts)


def _section(title: str, charts: Sequence[Chart]) -> str:
    figures = "".join(f"<figure><figcaption>{escape(chart.title)}</figcaption>{chart.svg}</figure>" for chart in charts)
    return f'<section><h2>{title}</h2><div class="charts">{figures}</div></section>'


def _head(results: Results) -> str:
    title = f"<h1>{escape(results.title)}</h1>"
    meanings = f"<details><summary>What the figures mean</summary>{_terms(MEANINGS.items())}</details>"
    if isinstance(results, ComparisonValues):
        items = "".join(f"<li>{swatch(number)}{escape(name)}</li>" for number, name in enumerate(results.names))
        legend = f'<ul class="legend" aria-label="Legend">{items}</ul>'
        return f"<header>{title}{_summary(results)}{meanings}</header>{legend}"
    figures = "".join(
        f"<div><dt>{row.name}</dt><dd>{row.cells[0]}</dd><small>{BETTER[row.name]} is better</small></div>"
        for row in key_figures(results)
    )
    return (
        f'<header>{title}<p class="about">{escape(about(results))}</p>{_summary(results)}<dl class="key">{figures}</dl>'
        f'<p class="about">{escape(other_figures(results))}</p>{meanings}</header>'
    )


def _summary(results: Results) -> str:
    items = "".join(f"<li>{escape(sentence)}</li>" for sentence in summary(results))
    return f'<ul class="summary">{items}</ul>' if items else ""


def _terms(terms: Iterable[tuple[str, str]], kind: str = "terms") -> str:
    items = "".join(f"<dt>{escape(name)}</dt><dd><bdi>{escape(text)}</bdi></dd>" for name, text in terms)
    return f'<dl class="{kind}">{items}</dl>'


def _foot(results: Results, command: str) -> str:
    shown, files = contents(results), results.reports[0].files
    names = ", ".join(f"{name} ({format_bytes(size)})" for name, size in files.items())
    if len(files) > _MAX_FILES:
        names = f"{len(files):,} files, {format_bytes(sum(files.values()))}"
    lines = [
        escape(shown.made) + (f": <code>{escape(command)}</code>" if command else ""),
        f"Files: {escape(names)}" if names else "",
        *map(escape, shown.citations),
    ]
    return f"<footer><section>{''.join(f'<p>{line}</p>' for line in lines if line)}</section></footer>"
