"""The table of results, the text around it, and their renderings for a terminal, plain text and HTML."""

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

    from hf_bpe.analysis._merge_tree import MergeTree

NOTHING = "–"
_WIDTH = 100  # columns of plain text
_LONGEST = 24  # characters to show of a token
_HEADING = 16  # columns of a heading in a line
_BEST = "*"
_RUN = re.compile(r"(<[^<>]+>|.{1,4}?)\1{7,}", re.DOTALL)


@dataclass(frozen=True)
class Table:
    """A table of text cells."""

    # The heading of each column, in one line or two; the first column has the names of the rows
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]  # the rows, each with one cell per column
    strong: frozenset[int] = frozenset()  # the rows for totals
    best: frozenset[tuple[int, int]] = frozenset()  # the row and column of each cell that is the best of its row
    note: str = ""  # a note below the table; may be empty


@dataclass(frozen=True)
class Contents:
    """The table of results with the text around it; citations are lines for papers, which plain text does not break."""

    title: str
    summary: Sequence[str]
    table: Table
    tokens: Sequence[tuple[str, str]] = ()
    made: str = ""
    citations: Sequence[str] = ()
    trees: Sequence[MergeTree] = ()


@dataclass(frozen=True)
class AsRich:
    """Contents as a `rich` renderable; a table that is too wide is printed in several parts."""

    contents: Contents

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        from rich.text import Text

        shown = self.contents
        yield Text(printable(shown.title), style="bold")
        for line in shown.summary:
            yield Text(printable(line))
        for columns in _parts(shown.table, options.max_width):
            yield Text()
            yield _rich_table(shown.table, columns)
        if note := table_note(shown.table, f"{_BEST} the best of a row"):
            yield Text(printable(note), style="dim")
        yield Text()
        for name, tokens in shown.tokens:
            yield Text(printable(f"{name}: {tokens}"))
        for tree in shown.trees:
            yield Text(f"\nMerges of token {tree.id}", style="bold")
            yield tree
        yield Text(f"\n{shown.made}", style="dim")
        for line in shown.citations:
            yield Text(printable(line), style="dim", overflow="fold")


def _parts(table: Table, width: int) -> list[list[int]]:
    """Return the columns to print next to each other, always with the first."""
    from rich.cells import cell_len

    room = used = min(max((cell_len(row[0]) for row in table.rows), default=0), width // 3)
    parts = [[0]]
    for number, (heading, *cells) in enumerate(zip(table.columns, *table.rows, strict=True)):
        wide = 2 + len(_BEST) + max(map(cell_len, [*_lines(heading), *cells]), default=0)
        if number == 0:
            continue
        if used + wide > width and len(parts[-1]) > 1:
            parts.append([0])
            used = room
        used += wide
        parts[-1].append(number)
    return parts


def _lines(heading: str) -> list[str]:
    return [part for line in heading.splitlines() for part in textwrap.wrap(line, _HEADING)]


def _rich_table(table: Table, columns: Sequence[int]) -> RichTable:
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for number in columns:
        heading = Text(printable("\n".join(_lines(table.columns[number]))))
        side: Literal["left", "right"] = "right" if number else "left"
        shown.add_column(heading, justify=side, vertical="bottom", no_wrap=number > 0, overflow="fold")
    for row, cells in enumerate(table.rows):
        best = [(row, number) in table.best for number in columns]
        texts = [
            Text(printable(_BEST * is_best + cells[number]), style="bold" if is_best else "")
            for number, is_best in zip(columns, best, strict=True)
        ]
        shown.add_row(*texts, style="bold" if row in table.strong else None)
    return shown


def table_note(table: Table, of_best: str) -> str:
    """Return the note of a table, with what marks the best of a row if anything is marked."""
    return "; ".join(part for part in (table.note, of_best if table.best else "") if part)


def as_text(contents: Contents) -> str:
    """Return contents as plain text of a hundred columns; only citations may be longer."""
    from rich.console import Console

    file = io.StringIO()
    console = Console(file=file, width=_WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    console.print(AsRich(replace(contents, citations=())))
    printed = [line.rstrip() for line in file.getvalue().splitlines()]
    return "\n".join([*printed, *map(printable, contents.citations)])


def as_html(table: Table) -> str:
    """Return a table as HTML; cells are escaped."""

    def cells(row: Sequence[str], tag: str, number_of_row: int = -1) -> str:
        return "".join(
            f"<{tag}{' class=best' if (number_of_row, number) in table.best else ''}>"
            f"<bdi>{html.escape(cell).replace(chr(10), '<br>')}</bdi></{tag}>"
            for number, cell in enumerate(row)
        )

    rows = [
        f"<tr{' class=strong' if number in table.strong else ''}>{cells(row, 'td', number)}</tr>"
        for number, row in enumerate(table.rows)
    ]
    said = table_note(table, "bold: the best of a row")
    note = f'<p class="note">{html.escape(said)}</p>' if said else ""
    head = f"<thead><tr>{cells(table.columns, 'th')}</tr></thead>"
    region = 'class="scroll" role="region" aria-label="Figures" tabindex="0"'
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
