r"""Tables as Markdown and LaTeX, to paste into documents and papers.

The LaTeX needs `\usepackage{booktabs}`; signs such as `·` need LuaLaTeX or XeLaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hf_bpe._utils.visible import printable
from hf_bpe.analysis._report.tables import Lines, Table, note_of

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_LATEX = {
    **{char: f"\\{char}" for char in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "–": "--"},
}


def as_markdown(lines: Lines, tables: Sequence[Table]) -> str:
    """Return tables with their titles and notes as Markdown."""

    def escape(text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", _in_one_line(text))

    blocks = [f"# {escape(lines.title)}", "\n".join(f"- {escape(line)}" for line in lines.head)]
    for table in tables:
        blocks.append(f"## {escape(table.title)}")
        cells = _cells(table, escape, "**{}**")
        rule = ["---" if number in table.left else "--:" for number in range(len(table.columns))]
        rows = [cells[0], rule, *cells[1:]]
        blocks.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
        blocks.append(escape(note_of(table, "bold: the best of a row")))
    blocks.append("\n".join(f"    {_in_one_line(line)}" for line in lines.foot))
    return "\n\n".join(filter(None, blocks))


def as_latex(lines: Lines, tables: Sequence[Table]) -> str:
    """Return tables with their titles and notes as LaTeX."""

    def escape(text: str) -> str:
        return "".join(_LATEX.get(char, char) for char in _in_one_line(text))

    blocks = ["\n".join(f"% {_in_one_line(line)}" for line in (lines.title, *lines.head, *lines.foot))]
    for table in tables:
        sides = "".join("l" if number in table.left else "r" for number in range(len(table.columns)))
        head, *rows = (f"{' & '.join(row)} \\\\" for row in _cells(table, escape, r"\textbf{{{}}}"))
        note = note_of(table, "bold: the best of a row")
        blocks.append(
            "\n".join(
                [
                    r"\begin{table}",
                    rf"\caption{{{escape(': '.join(filter(None, [table.title, note])))}.}}",
                    rf"\begin{{tabular}}{{{sides}}}",
                    r"\toprule",
                    *([head, r"\midrule"] if any(table.columns) else []),
                    *rows,
                    r"\bottomrule",
                    r"\end{tabular}",
                    r"\end{table}",
                ]
            )
        )
    return "\n\n".join(blocks)


def _cells(table: Table, escape: Callable[[str], str], strong: str) -> list[list[str]]:
    """Return the columns and rows of a table, escaped, with totals and the best of each row made strong."""
    cells = [[*map(escape, table.columns)]]
    for number, row in enumerate(table.rows):
        is_strong = [number in table.strong or (number, column) in table.best for column in range(len(row))]
        pairs = zip(map(escape, row), is_strong, strict=True)
        cells.append([strong.format(cell) if cell and is_ else cell for cell, is_ in pairs])
    return cells


def _in_one_line(text: str) -> str:
    return printable(re.sub(r"/\n", "/", text)).replace("\n", " ")
