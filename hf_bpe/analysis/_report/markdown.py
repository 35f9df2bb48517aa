"""Tables as Markdown, to paste into documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hf_bpe._utils.visible import printable
from hf_bpe.analysis._report.tables import Lines, Table, table_note

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")


def as_markdown(lines: Lines, tables: Sequence[Table]) -> str:
    """Return tables with their titles and notes as Markdown."""

    def escape(text: str) -> str:
        return _MARKDOWN.sub(r"\\\1", _in_one_line(text))

    blocks = [f"# {escape(lines.title)}", "\n".join(f"- {escape(line)}" for line in lines.head)]
    for table in tables:
        blocks.append(f"## {escape(table.title)}")
        cells = _cells(table, escape)
        rule = ["---" if number in table.left else "--:" for number in range(len(table.columns))]
        rows = [cells[0], rule, *cells[1:]]
        blocks.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
        blocks.append(escape(table_note(table, "bold: the best of a row")))
    blocks.append("\n".join(f"    {_in_one_line(line)}" for line in lines.foot))
    return "\n\n".join(filter(None, blocks))


def _cells(table: Table, escape: Callable[[str], str]) -> list[list[str]]:
    """Return the columns and rows of a table, escaped, with totals and the best of each row made strong."""
    cells = [[*map(escape, table.columns)]]
    for number, row in enumerate(table.rows):
        is_strong = [number in table.strong or (number, column) in table.best for column in range(len(row))]
        pairs = zip(map(escape, row), is_strong, strict=True)
        cells.append([f"**{cell}**" if cell and is_ else cell for cell, is_ in pairs])
    return cells


def _in_one_line(text: str) -> str:
    return printable(re.sub(r"/\n", "/", text)).replace("\n", " ")
