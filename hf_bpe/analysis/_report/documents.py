"""Report and Comparison: results with renderings as terminal tables, plain text, HTML or a whole page."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hf_bpe._utils.arguments import optional
from hf_bpe._utils.files import write_atomically
from hf_bpe._utils.paths import check_output
from hf_bpe.analysis._report.markdown import as_markdown
from hf_bpe.analysis._report.page import fragment, page
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues
from hf_bpe.analysis._report.tables import AsRich, Table, as_text
from hf_bpe.analysis._report.views import result_lines, result_tables

if TYPE_CHECKING:
    from rich.console import RenderableType

    _Results = ReportValues | ComparisonValues
else:
    _Results = object


class _Rendering:
    """The renderings of results."""

    def tables(self: _Results) -> list[Table]:  # type: ignore[misc]
        """Return the tables to show."""
        return result_tables(self)

    def to_html(  # type: ignore[misc]
        self: _Results, path: str | os.PathLike[str] | None = None, *, command: str = ""
    ) -> str:
        """Return a self-contained HTML page with pictures.

        Args:
            path: a file to write the page to, atomically.
            command: the command that made the report, to show at the end of the page.

        Raises:
            ImportError: matplotlib is not installed; it comes with the extra `report`.
            ValueError: the path is a URL.
            OSError: the file cannot be written.
        """
        path = optional(check_output)("path", path)
        html = page(self, command)
        if path is not None:
            write_atomically(Path(path), html)
        return html

    def to_markdown(self: _Results) -> str:  # type: ignore[misc]
        """Return the tables as Markdown."""
        return as_markdown(result_lines(self), result_tables(self))

    def _repr_html_(self: _Results) -> str:  # type: ignore[misc]
        return fragment(self)

    def __rich__(self: _Results) -> RenderableType:  # type: ignore[misc]
        return AsRich(result_lines(self), result_tables(self), self.trees)

    def __str__(self: _Results) -> str:  # type: ignore[misc]
        return as_text(result_lines(self), result_tables(self), self.trees)


@dataclass(frozen=True, eq=False, repr=False)
class Report(_Rendering, ReportValues):
    __doc__ = ReportValues.__doc__

    def __repr__(self) -> str:
        compression = self.total.bytes_per_token
        shown = "None" if compression is None else f"{compression:.3f}"
        return f"Report(name={self.name!r}, tokens={self.total.tokens}, bytes_per_token={shown})"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(_Rendering, ComparisonValues):
    __doc__ = ComparisonValues.__doc__

    def __repr__(self) -> str:
        return f"Comparison({', '.join(map(repr, self.reports))})"
