"""Tables as values, with renderings for a terminal, plain text and HTML."""

from __future__ import annotations

import html
import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from hf_bpe._utils.visible import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table as RichTable

    from hf_bpe.analysis._show import MergeTree

NOTHING = "–"
_WIDTH = 100  # columns of plain text
_LONGEST = 24  # characters to show of a token
_HEADING = 16  # columns of a heading in a line
_BEST = "*"
_RUN = re.compile(r"(<[^<>]+>|.{1,4}?)\1{7,}", re.DOTALL)


@dataclass(frozen=True)
class Table:
    """A table of text cells.

    Attributes:
        title: the title.
        columns: the heading of each column, in one line or two.
        rows: the rows, each with one cell per column.
        left: the left-aligned columns; numbers are right-aligned.
        strong: the rows for totals.
        best: the row and column of each cell that is the best of its row.
        note: a note below the table; may be empty.
        charts: the names of charts to show with the table on a page, see `charts.draw`.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    left: frozenset[int] = frozenset({0})
    strong: frozenset[int] = frozenset()
    best: frozenset[tuple[int, int]] = frozenset()
    note: str = ""
    charts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lines:
    """Lines of text around tables.

    Attributes:
        title: the title, above the tables.
        head: sentences below the title.
        foot: lines below the tables, which plain text does not break, so that they can be copied.
    """

    title: str
    head: Sequence[str] = ()
    foot: Sequence[str] = ()


@dataclass(frozen=True)
class AsRich:
    """Tables as a `rich` renderable; a table that is too wide is printed in several parts."""

    lines: Lines
    tables: Sequence[Table]
    trees: Sequence[MergeTree] = ()

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        def heading(title: str) -> Text:
            return Text(f"\n{printable(title)}", style="bold")

        yield Text(printable(self.lines.title), style="bold")
        for line in self.lines.head:
            yield Text(printable(line))
        for table in self.tables:
            yield heading(table.title)
            for columns in _parts(table, options.max_width):
                yield _rich_table(table, columns)
            if note := table_note(table, f"{_BEST} the best of a row"):
                yield Text(printable(note), style="dim")
        for tree in self.trees:
            yield heading(f"Merges of token {tree.id}")
            yield tree
        for number, line in enumerate(self.lines.foot):
            start = "" if number else "\n"
            yield Text(start + printable(line), style="dim", overflow="fold")


def _parts(table: Table, width: int) -> list[list[int]]:
    """Return the columns to print next to each other, always with the first."""
    columns = zip(table.columns, *table.rows, strict=True)
    first, *others = ([*map(_lines, cells)] for cells in columns)
    if len(table.left) > 1:  # long text, which is wrapped
        return [[*range(len(table.columns))]]
    used = room = min(_widest(first), width // 3)
    parts = [[0]]
    for number, cells in enumerate(others, start=1):
        used += 2 + len(_BEST) + _widest(cells)
        if used > width and len(parts[-1]) > 1:
            parts.append([0])
            used = room + 2 + len(_BEST) + _widest(cells)
        parts[-1].append(number)
    return parts


def _lines(cell: str) -> list[str]:
    return [part for line in cell.splitlines() for part in textwrap.wrap(line, _HEADING)]


def _widest(cells: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len

    return max((cell_len(line) for lines in cells for line in lines), default=0)


def _rich_table(table: Table, columns: Sequence[int]) -> RichTable:
    from rich.table import Table as RichTable
    from rich.text import Text

    has_header = any(table.columns)
    shown = RichTable(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0), show_header=has_header)
    for number in columns:
        is_left = number in table.left
        side: Literal["left", "right"] = "left" if is_left else "right"
        heading = Text(printable("\n".join(_lines(table.columns[number]))))
        vertical: Literal["top", "bottom"] = "top" if len(table.left) > 1 else "bottom"
        shown.add_column(heading, justify=side, vertical=vertical, no_wrap=not is_left, overflow="fold")
    for row, cells in enumerate(table.rows):
        marked = [_BEST + cells[number] if (row, number) in table.best else cells[number] for number in columns]
        styles = ["bold" if (row, number) in table.best else "" for number in columns]
        texts = [Text(printable(cell), style=style) for cell, style in zip(marked, styles, strict=True)]
        shown.add_row(*texts, style="bold" if row in table.strong else None)
    return shown


def table_note(table: Table, of_best: str) -> str:
    """Return the note of a table, with what marks the best of a row if anything is marked."""
    return "; ".join(part for part in (table.note, of_best if table.best else "") if part)


def as_text(lines: Lines, tables: Sequence[Table], trees: Sequence[MergeTree] = ()) -> str:
    """Return the tables as plain text of a hundred columns; only lines of the foot may be longer."""
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, width=_WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    console.print(AsRich(replace(lines, foot=()), tables, trees))
    printed = [line.rstrip() for line in file.getvalue().splitlines()]
    return "\n".join([*printed, "", *map(printable, lines.foot)])


def as_html(table: Table) -> str:
    """Return a table as HTML without its title; cells are escaped."""

    def cells(row: Sequence[str], tag: str, number_of_row: int = -1) -> str:
        parts = []
        for number, cell in enumerate(row):
            kinds = ["left"] * (number in table.left) + ["best"] * ((number_of_row, number) in table.best)
            kind = f' class="{" ".join(kinds)}"' if kinds else ""
            parts.append(f"<{tag}{kind}><bdi>{html.escape(cell).replace(chr(10), '<br>')}</bdi></{tag}>")
        return "".join(parts)

    head = f"<thead><tr>{cells(table.columns, 'th')}</tr></thead>" if any(table.columns) else ""
    rows = [
        f"<tr{' class=strong' if number in table.strong else ''}>{cells(row, 'td', number)}</tr>"
        for number, row in enumerate(table.rows)
    ]
    said = table_note(table, "bold: the best of a row")
    note = f'<p class="note">{html.escape(said)}</p>' if said else ""
    region = f'class="scroll" role="region" aria-label="{html.escape(table.title)}" tabindex="0"'
    return f"<div {region}><table>{head}<tbody>{''.join(rows)}</tbody></table></div>{note}"


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
    """Return the visible form of a token, with its long runs folded, shortened if it is long.

    >>> shortened("x" + "·" * 83), shortened("<e4>" * 9), shortened("no" * 32)
    ('x·×83', '<e4>×9', '(no)×32')
    """
    folded = _RUN.sub(_folded, text)
    return folded if len(folded) <= _LONGEST else folded[: _LONGEST - 1] + "…"


def _folded(run: re.Match[str]) -> str:
    unit, times = run[1], len(run[0]) // len(run[1])
    return f"{unit}×{times}" if len(unit) == 1 or unit.startswith("<") else f"({unit})×{times}"
