"""A self-contained HTML page: tables, pictures, and a style for light and dark, wide and narrow screens."""

from __future__ import annotations

from html import escape

from hf_bpe.analysis._report.contents import about, key_figures, tables_of
from hf_bpe.analysis._report.pictures import NUMBER_OF_COLORS, draw
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues
from hf_bpe.analysis._report.tables import Table, as_html

# Colours of lines and bars that colour-blind people can distinguish: after Okabe and Ito, darker or lighter to stand
# out from the page.
_LIGHT = ("#1f6fa8", "#c8590a", "#137a5c", "#b0578d", "#8a6d00", "#5a6b7b")
_DARK = ("#62b2e6", "#f0944d", "#43c59e", "#dd92bf", "#d9b93b", "#9fb0c0")


def _colors(colors: tuple[str, ...]) -> str:
    assert len(colors) == NUMBER_OF_COLORS
    return " ".join(f"--c{number}: {color};" for number, color in enumerate(colors))


_STYLE = f"""
.hf-report {{ --ink: #1c2126; --dim: #626c76; --line: #dfe3e7; --page: #ffffff; {_colors(_LIGHT)} }}
@media (prefers-color-scheme: dark) {{
  .hf-report {{ --ink: #e4e8ec; --dim: #99a3ad; --line: #343b42; --page: #14181c; {_colors(_DARK)} }}
}}
.hf-report {{
  color: var(--ink); background: var(--page);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  font-variant-numeric: tabular-nums;
}}
.hf-report h1 {{ font-size: 1.7rem; line-height: 1.2; font-weight: 650; margin: 0 0 .3rem; }}
.hf-report h2 {{ font-size: 1.08rem; font-weight: 650; margin: 0 0 .9rem; }}
.hf-report p {{ margin: 0; }}
.hf-report :is(.about, .note, figcaption, th, dt, footer) {{ color: var(--dim); }}
.hf-report .note, .hf-report footer {{ font-size: .84rem; margin-top: .6rem; max-width: 46rem; }}
.hf-report .key {{
  display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 11rem)); gap: 1.2rem 1rem; margin: 1.8rem 0 0;
}}
.hf-report .key + .about {{ font-size: .84rem; margin-top: .9rem; }}
.hf-report .key dt {{ font-size: .84rem; }}
.hf-report .key dd {{ margin: 0; font-size: 1.75rem; line-height: 1.25; font-weight: 600; }}
.hf-report section {{ border-top: 1px solid var(--line); margin-top: 2.2rem; padding-top: 1.5rem; }}
.hf-report .pictures {{ display: flex; flex-wrap: wrap; gap: 1.4rem 3.4rem; margin-bottom: 1.3rem; }}
.hf-report figure {{ flex: 1 1 20rem; min-width: 0; max-width: 29rem; margin: 0; }}
.hf-report .side-by-side {{ flex: 1 1 20rem; min-width: 0; max-width: 100%; }}
.hf-report figcaption {{ font-size: .84rem; margin-bottom: .4rem; }}
.hf-report svg {{ display: block; width: 100%; height: auto; font-family: inherit; }}
.hf-report .legend {{ display: flex; flex-wrap: wrap; gap: .2rem 1.3rem; margin: 0 0 1rem; padding: 0; }}
.hf-report .legend li {{ list-style: none; }}
.hf-report .legend i {{
  display: inline-block; width: .62em; height: .62em; margin-right: .5em; border-radius: 50%; background: var(--c);
}}
.hf-report .columns {{ display: flex; flex-wrap: wrap; gap: 2rem 3rem; align-items: flex-start; }}
.hf-report .columns > div {{ min-width: 0; max-width: 100%; }}
.hf-report .scroll {{ overflow-x: auto; }}
.hf-report table {{ border-collapse: collapse; border: 0; margin: 0; font-size: .92rem; }}
.hf-report th, .hf-report td {{
  padding: .24rem 0 .24rem 1.8rem; text-align: right; white-space: nowrap; background: none; border: 0;
}}
.hf-report th:first-child, .hf-report td:first-child {{ padding-left: 0; }}
.hf-report th {{ font-weight: 400; font-size: .84rem; line-height: 1.25; vertical-align: bottom; }}
.hf-report td {{ border-top: 1px solid var(--line); }}
.hf-report tr:first-child td {{ border-top-color: var(--dim); }}
.hf-report table:not(:has(thead)) tr:first-child td {{ border-top: 0; }}
.hf-report th.left, .hf-report td.left {{ text-align: left; }}
.hf-report td.left ~ td.left {{ white-space: pre-wrap; min-width: 16rem; }}
.hf-report .tokens td:first-child {{ font-family: ui-monospace, "DejaVu Sans Mono", monospace; white-space: pre; }}
.hf-report .strong td {{ font-weight: 600; }}
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
_FOOTER = (
    "Special tokens in the text are left out. A word is a pre-token that holds a letter or a number; “words in one "
    "token” is the share that becomes one. Parity above 1 takes more tokens than the reference. Compression by "
    "vocabulary size is that of the first merges only."
)


def page(shown: ReportValues | ComparisonValues) -> str:
    """Return a whole page with pictures; raise an ImportError if matplotlib is not installed."""
    tables = tables_of(shown)
    sections = [_section(shown, table) for table in tables[1:] if not _is_list(table)]
    lists = "".join(_titled(table) for table in tables if _is_list(table))
    if lists:
        sections.append(f'<section><div class="columns">{lists}</div></section>')
    for tree in shown.trees:
        sections.append(f"<section><h2>Merges of token {tree.id}</h2>{tree._repr_html_()}</section>")
    body = "\n".join([_head(shown, tables[0]), *sections, f"<footer><section>{_FOOTER}</section></footer>"])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(shown.title)}</title>\n<style>{_STYLE}{_PAGE_STYLE}</style>\n</head>\n"
        f'<body class="hf-report">\n<main>\n{body}\n</main>\n</body>\n</html>\n'
    )


def fragment(shown: ReportValues | ComparisonValues) -> str:
    """Return the tables as an HTML fragment, for example for a notebook."""
    trees = (f"<div><h2>Merges of token {tree.id}</h2>{tree._repr_html_()}</div>" for tree in shown.trees)
    parts = [*map(_titled, tables_of(shown)), *trees]
    return (
        f'<div class="hf-report"><style>{_STYLE}</style><h1>{escape(shown.title)}</h1>'
        f'<div class="columns">{"".join(parts)}</div></div>'
    )


def _titled(table: Table) -> str:
    kind = " class=tokens" if _is_list(table) else ""
    return f"<div{kind}><h2>{escape(table.title)}</h2>{as_html(table)}</div>"


def _is_list(table: Table) -> bool:
    """Return whether a table is a list of tokens, which is shown next to other lists."""
    return table.columns[0] == "token"


def _head(shown: ReportValues | ComparisonValues, overall: Table) -> str:
    if isinstance(shown, ComparisonValues):
        return f"<header><h1>{escape(shown.title)}</h1></header><section>{_legend(shown)}{as_html(overall)}</section>"
    assert isinstance(shown, ReportValues)
    key = key_figures(shown)
    title = shown.title.removeprefix(f"{shown.name}: ")
    figures = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in key)
    return (
        f'<header><h1>{escape(shown.name)}</h1><p class="about">{escape(title)}</p><dl class="key">{figures}</dl>'
        f'<p class="about">{escape(about(shown))}</p></header>'
    )


def _section(shown: ReportValues | ComparisonValues, table: Table) -> str:
    """Return a table with its pictures: one next to it where there is room, or two above it."""
    pictures = [picture for picture in (draw(name, shown) for name in table.pictures) if picture is not None]
    head = f"<h2>{escape(table.title)}</h2>"
    if pictures and isinstance(shown, ComparisonValues):
        head += _legend(shown)
    figures = ""
    for picture in pictures:
        says_more = not table.title.startswith(picture.title)
        caption = f"<figcaption>{escape(picture.title)}</figcaption>" if says_more else ""
        figures += f"<figure>{caption}{picture.svg}</figure>"
    if len(pictures) == 1:
        inside = f'{figures}<div class="side-by-side">{as_html(table)}</div>'
        return f'<section>{head}<div class="pictures">{inside}</div></section>'
    above = f'<div class="pictures">{figures}</div>' if pictures else ""
    return f"<section>{head}{above}{as_html(table)}</section>"


def _legend(comparison: ComparisonValues) -> str:
    items = "".join(
        f'<li><i style="--c: var(--c{number % NUMBER_OF_COLORS})"></i>{escape(name)}</li>'
        for number, name in enumerate(comparison.names)
    )
    return f'<ul class="legend">{items}</ul>'
