"""The pictures of a page, as SVG with the colors and the font of the page.

Colors are drawn as stand-ins, which become variables of the page's style sheet, so one picture works in light and
dark.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_bpe.analysis._report.compression_curve import CompressionCurve
from hf_bpe.analysis._report.contents import binned, length_name, shown_groups, shown_scripts
from hf_bpe.analysis._report.figures import Figures
from hf_bpe.analysis._report.results import ComparisonValues, ReportValues
from hf_bpe.analysis._report.scripts import UNNAMED
from hf_bpe.analysis._report.series import STAND_INS, lane_offset, lanes, series_color, series_shape, series_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _DIM, _LINE, _PAGE = "#010101", "#020202", "#030303", "#050505"
_VARIABLES = {
    **{_INK: "var(--ink)", _DIM: "var(--dim)", _LINE: "var(--line)", _PAGE: "var(--page)"},
    **{stand_in: f"var(--c{number})" for number, stand_in in enumerate(STAND_INS)},
}
_WIDTH = 4.5  # inches, of 72 units each
_MAX_LINES = 6  # of groups, besides the line of all texts
_ROW, _LANE = 0.23, 0.1  # heights in inches
_DOT = 0.035  # the size of a dot, relative to the axis
_SETTINGS: Any = {
    "text.parse_math": False,  # names may have dollar signs
    "svg.hashsalt": "hf_bpe",  # for reproducible output
    "svg.fonttype": "none",  # text stays text
    "font.family": "DejaVu Sans",  # wider than the fonts of pages, so that labels have room
    "font.size": 9.5,
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), _DIM),
    "axes.edgecolor": _LINE,
    **{f"axes.spines.{side}": False for side in ("top", "right", "left")},
    **{f"{axis}tick.{which}.size": 0 for axis in "xy" for which in ("major", "minor")},
    "grid.color": _LINE,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
}


class Picture(NamedTuple):
    """A title, and an SVG element."""

    title: str
    svg: str


def draw(name: str, shown: ReportValues | ComparisonValues) -> Picture | None:
    """Return one picture, None if there is nothing to draw.

    Args:
        name: "groups", "group parity", "scripts", "script parity", "compression curve" or "lengths".
        shown: a Report or a Comparison.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("the pictures of a report need matplotlib; pip install 'hf_bpe[report]'") from error
    drawing = _DRAWINGS[name]([*shown.reports] if isinstance(shown, ComparisonValues) else [shown])
    if drawing is None:
        return None
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # missing only from the font for measuring
        figure = Figure(figsize=(_WIDTH, drawing.height), layout="constrained")
        drawing.paint(figure.subplots())
        file = io.StringIO()
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(file, format="svg", transparent=True, metadata=no_metadata)
    return Picture(drawing.title, _for_page(file.getvalue(), drawing.title, prefix=name.replace(" ", "-")))


class _Drawing(NamedTuple):
    """A drawing; heights are in inches."""

    title: str
    height: float
    paint: Callable[[Axes], None]


_Drawer = Callable[[Sequence[ReportValues]], "_Drawing | None"]
_Column = Mapping[str, "float | None"]


def _rows(
    title: str, parts: Callable[[Sequence[ReportValues]], list[list[Figures]]], figure: str, at: float | None = None
) -> _Drawer:
    """Return a function that draws a row for each part of the texts, and a reference line `at` a number."""

    def drawing(reports: Sequence[ReportValues]) -> _Drawing | None:
        columns = [{part.name: getattr(part, figure) for part in column} for column in parts(reports)]
        labels = [*dict.fromkeys(label for column in columns for label in column)]
        rows = [{number: of[label] for number, of in enumerate(columns) if of.get(label)} for label in labels]
        values = [value for row in rows for value in row.values()]
        if not values:
            return None
        right = max(values) * (1.15 if len(columns) == 1 else 1.06)
        rows_of_lanes = [lanes([*row.values()], _DOT * right) for row in rows]
        heights = [_ROW + _LANE * max(of, default=0) for of in rows_of_lanes]
        places = [sum(heights[:number]) + height / 2 for number, height in enumerate(heights)]

        def paint(axes: Axes) -> None:
            axes.set_yticks(places, [*map(_short, labels)])
            axes.set_ylim(sum(heights), 0)
            axes.set_xlim(0, right)
            axes.tick_params(axis="y", labelcolor=_INK)
            axes.spines["bottom"].set_visible(False)
            for place, row, of_dots in zip(places, rows, rows_of_lanes, strict=True):
                if len(columns) == 1:
                    _bar(axes, place, row.get(0, 0.0))
                else:
                    _dots(axes, place, row, of_dots)
            if len(columns) == 1:
                axes.set_xticks([])
            else:
                axes.grid(axis="x")
            if at is not None:
                axes.axvline(at, color=_DIM, linewidth=0.8, dashes=(3, 2), zorder=1.5)

        return _Drawing(title, 0.35 + sum(heights), paint)

    return drawing


def _bar(axes: Axes, place: float, value: float) -> None:
    axes.barh(place, value, height=0.56 * _ROW, color=series_color(0))
    _write(axes, f"{value:.2f}", (value, place), (4, 0), va="center", color=_INK)


def _dots(axes: Axes, place: float, row: Mapping[int, float], of_dots: Sequence[int]) -> None:
    """Draw a dot for each tokenizer, and a line from the least to the greatest."""
    if row:
        axes.plot([min(row.values()), max(row.values())], [place, place], color=_LINE, linewidth=2.5)
    for (number, value), lane in zip(row.items(), of_dots, strict=True):
        axes.plot([value], [place + _LANE * lane_offset(lane)], **_marked(number))


def _marked(number: int) -> dict[str, Any]:
    """Return the settings that draw the shape of a tokenizer."""
    edge = {"markeredgecolor": _PAGE, "markeredgewidth": 0.5}
    return {"marker": series_shape(number), "markersize": series_size(number), "color": series_color(number), **edge}


def _compression_curve(reports: Sequence[ReportValues]) -> _Drawing | None:
    lines: list[tuple[str, CompressionCurve | None, dict[str, Any]]] = []  # name, curve, settings
    if len(reports) == 1:
        [report] = reports
        if 1 < len(report.compression_curves) <= _MAX_LINES:
            dim = {"color": _DIM, "linewidth": 0.9}
            lines = [(name, curve, dim) for name, curve in report.compression_curves.items()]
        lines.append(("all", report.compression_curve, {"color": series_color(0), "linewidth": 2.2}))
    else:
        lines = [
            (report.name, report.compression_curve, {"linewidth": 1.4, "markevery": [-1], **_marked(number)})
            for number, report in enumerate(reports)
        ]
    drawn = [(name, of, how) for name, of, how in lines if of and of.bytes and of.largest > of.smallest]
    if not drawn:
        return None

    def paint(axes: Axes) -> None:
        ends: list[tuple[float, str, dict[str, Any]]] = []
        for name, curve, how in drawn:
            sizes = curve.sizes()
            values = [curve.bytes / curve.tokens_at(size) for size in sizes]
            axes.plot(sizes, values, solid_capstyle="round", **how)
            ends.append((values[-1], name, how))
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        smallest, largest = min(of.smallest for _, of, _ in drawn), max(of.largest for _, of, _ in drawn)
        ticks = [size for size in (125 << power for power in range(20)) if smallest <= size <= largest]
        ticks = ticks[:: 1 + len(ticks) // 6]
        axes.set_xticks(ticks, [f"{size / 1000:g}k" if size >= 1000 else f"{size}" for size in ticks])
        axes.set_xticks([], minor=True)
        if len(drawn) > 1:
            _name_ends(axes, ends, largest)

    return _Drawing("Bytes per token by vocabulary size: higher is better", 2.9, paint)


def _name_ends(axes: Axes, ends: Sequence[tuple[float, str, dict[str, Any]]], right: int) -> None:
    """Write the names of lines to the right of their ends, with their shapes, without overlaps."""
    from matplotlib.transforms import ScaledTranslation

    ends = sorted(ends, key=lambda end: end[:2])
    shifted = axes.transData + ScaledTranslation(9 / 72, 0, axes.figure.dpi_scale_trans)
    heights = spread([value for value, _, _ in ends], 0.062 * axes.get_ylim()[1])
    for height, (_, name, how) in zip(heights, ends, strict=True):
        if "marker" in how:
            axes.plot([right], [height], transform=shifted, clip_on=False, **how)
        _write(axes, _short(name), (right, height), (18 if "marker" in how else 8, 0), va="center", color=_INK)
    axes.set_ylim(top=max(axes.get_ylim()[1], heights[-1]))


def spread(values: Sequence[float], room: float) -> list[float]:
    """Return the closest numbers, in order, with at least `room` between any two.

    This is least squares by pooling adjacent violators: numbers that are too close are spread about their mean.

    >>> spread([1, 1, 5], 1)
    [0.5, 1.5, 5.0]
    """
    pools: list[list[float]] = []  # sum and size of each pool, less the room before it
    for number, value in enumerate(values):
        pools.append([value - number * room, 1])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, size = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += size
    means = [total / size for total, size in pools for _ in range(int(size))]
    return [mean + number * room for number, mean in enumerate(means)]


def _lengths(reports: Sequence[ReportValues]) -> _Drawing | None:
    columns = [binned(report.lengths_in_text) for report in reports]
    vocabulary = binned(reports[0].lengths_in_vocabulary)
    bins = range(len(vocabulary))

    def paint(axes: Axes) -> None:
        if len(columns) == 1:
            axes.bar(bins, columns[0], width=0.72, color=series_color(0))
            axes.plot(bins, vocabulary, color=_INK, linewidth=1, marker="o", markersize=3.5)
            top = 1.05 * max(*columns[0], *vocabulary)
            axes.set_ylim(top=top)
            for line, (name, color) in enumerate(
                [("bars: of the text", series_color(0)), ("line: of the vocabulary", _INK)]
            ):
                _write(axes, name, (bins[-1] + 0.4, top), (0, -6 - 14 * line), ha="right", va="top", color=color)
        else:
            for number, values in enumerate(columns):
                axes.plot(bins, values, linewidth=1.2, **_marked(number))
        axes.set_xticks(bins, [*map(length_name, bins)])
        axes.set_ylim(bottom=0)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
        axes.grid(axis="y")

    return _Drawing("Tokens by length in bytes", 2.9, paint)


def _named_scripts(reports: Sequence[ReportValues]) -> list[list[Figures]]:
    return [[figures for figures in column if figures.name not in UNNAMED] for column in shown_scripts(reports)]


_DRAWINGS: Mapping[str, _Drawer] = {
    "groups": _rows("Bytes per token: higher is better", shown_groups, "bytes_per_token"),
    "group parity": _rows("Parity: below 1 is cheaper", shown_groups, "parity", 1),
    "scripts": _rows("Bytes per token: higher is better", _named_scripts, "bytes_per_token"),
    "script parity": _rows("Parity: below 1 is cheaper", _named_scripts, "parity", 1),
    "compression curve": _compression_curve,
    "lengths": _lengths,
}


def _write(axes: Axes, text: str, place: tuple[float, float], moved: tuple[float, float], **settings: Any) -> None:
    axes.annotate(text, place, moved, textcoords="offset points", **settings)


def _short(text: str) -> str:
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text)  # SVG may not contain others
    return shown if len(shown) <= 20 else f"{shown[:19]}…"


def _for_page(svg: str, title: str, prefix: str) -> str:
    """Return matplotlib's SVG as an element for a page with others."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', rf'<svg \1 role="img" aria-label="{title}">', svg, count=1)
    # The page sets the font; older matplotlib writes size and family as one property.
    svg = re.sub(r"font: ([\d.]+px) [^;\"]*", r"font-size: \1", svg)
    svg = re.sub(r"font-family: [^;\"]*;?", "", svg)
    used = {*re.findall(r"url\(#([^)]+)\)|href=\"#([^\"]+)\"", svg)}
    names = {name for pair in used for name in pair if name}
    svg = re.sub(r' id="([^"]*)"', lambda match: f' id="{prefix}-{match[1]}"' if match[1] in names else "", svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\1{prefix}-", svg)
    for stand_in, variable in _VARIABLES.items():
        svg = svg.replace(stand_in, variable)
    return svg.strip()
