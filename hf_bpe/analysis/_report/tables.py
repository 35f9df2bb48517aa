"""Tables as values, with renderings for a terminal, plain text and HTML."""

from __future__ import annotations

import html
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hf_bpe._utils.visible import printable

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hf_bpe.analysis._show import MergeTree

NOTHING = "–"
_WIDTH = 100  # columns of plain text
_LONGEST = 24  # characters to show of a token


@dataclass(frozen=True)
class Table:
    """A table of text cells.

    Attributes:
        title: the title.
        columns: the heading of each column, in one line or two.
        rows: the rows, each with one cell per column.
        left: the left-aligned columns; numbers are right-aligned.
        strong: the rows for totals.
        note: a note below the table; may be empty.
        pictures: the names of pictures to show with the table on a page, see `pictures.draw`.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    left: frozenset[int] = frozenset({0})
    strong: frozenset[int] = frozenset()
    note: str = ""
    pictures: tuple[str, ...] = ()


def as_rich(title: str, tables: Sequence[Table], trees: Sequence[MergeTree] = ()) -> RenderableType:
    """Return the tables as a `rich` renderable."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table as RichTable
    from rich.text import Text

    def text(content: str, style: str = "") -> Text:
        return Text(printable(content), style=style)

    parts: list[RenderableType] = [text(title, style="bold")]
    for table in tables:
        parts.append(Padding(text(table.title, style="bold"), (1, 0, 0, 0)))
        has_header = any(table.columns)
        shown = RichTable(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0), show_header=has_header)
        for number, column in enumerate(table.columns):
            is_left = number in table.left
            side: Literal["left", "right"] = "left" if is_left else "right"
            shown.add_column(text(column), justify=side, vertical="bottom", no_wrap=not is_left, overflow="fold")
        for number, row in enumerate(table.rows):
            shown.add_row(*map(text, row), style="bold" if number in table.strong else None)
        parts.append(shown)
        if table.note:
            parts.append(text(table.note, style="dim"))
    for tree in trees:
        parts += [Padding(Text(f"Merges of token {tree.id}", style="bold"), (1, 0, 0, 0)), tree]
    return Group(*parts)


def as_text(title: str, tables: Sequence[Table], trees: Sequence[MergeTree] = ()) -> str:
    """Return the tables as plain text, in lines of at most a hundred characters."""
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, width=_WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    console.print(as_rich(title, tables, trees))
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines())


def as_html(table: Table) -> str:
    """Return a table as HTML without its title; cells are escaped."""

    def cells(row: Sequence[str], tag: str) -> str:
        parts = []
        for number, cell in enumerate(row):
            kind = ' class="left"' if number in table.left else ""
            parts.append(f"<{tag}{kind}><bdi>{html.escape(cell).replace(chr(10), '<br>')}</bdi></{tag}>")
        return "".join(parts)

    head = f"<thead><tr>{cells(table.columns, 'th')}</tr></thead>" if any(table.columns) else ""
    rows = [
        f"<tr{' class=strong' if number in table.strong else ''}>{cells(row, 'td')}</tr>"
        for number, row in enumerate(table.rows)
    ]
    note = f'<p class="note">{html.escape(table.note)}</p>' if table.note else ""
    return f'<div class="scroll"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>{note}'


# Cells.


def number(value: float | None, decimals: int = 0) -> str:
    """Return a number with commas, such as 12,345.

    >>> number(12345), number(2.5, 2), number(1 / 3), number(None)
    ('12,345', '2.50', '0.333', '–')
    """
    if value is None:
        return NOTHING
    if decimals == 0 and value != int(value):
        decimals = 3  # for weighted texts
    return f"{value:,.{decimals}f}"


def share(value: float | None) -> str:
    """Return a share as a percentage."""
    return NOTHING if value is None else f"{100 * value:.1f} %"


def shortened(text: str) -> str:
    """Return a text, shortened if it is long.

    >>> shortened("=" * 100) == "=" * 23 + "…"
    True
    """
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
