"""The charts of a page: bars and lines as inline SVG, with the font and the color variables of its style sheet."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import accumulate
from typing import NamedTuple

from hf_bpe.analysis._report.figures import Figures
from hf_bpe.analysis._report.measuring import UNNAMED
from hf_bpe.analysis._report.results import ReportValues, shown_scripts

# They differ for people without red, green or blue cones, too (CIEDE2000 of at least 13), and have a contrast of at
# least 3 with the page.
LIGHT = ("#1f6fa8", "#c8590a", "#5e0f60", "#9779ff", "#923f66", "#270ec6", "#a21a01", "#0e9f8c")
DARK = ("#62b2e6", "#f0944d", "#ba4988", "#e11309", "#915cf3", "#35f4ab", "#ad8d75", "#ffda00")

_WIDTH, _HEIGHT = 450, 220
_LEFT, _RIGHT = 130, 60  # room for the labels of bars, and for the numbers at their ends
_MARGINS = (40, 130, 12, 24)  # of lines: left, right (for names), top, bottom
_LINE_STEP = 14  # between the names of lines
_MAX_LINES = 6  # of groups, besides the line of all texts
_LONGEST_NAME = 20
_MAX_LENGTH = 12  # bytes of a token; longer ones are drawn together


class Chart(NamedTuple):
    """A title, and an SVG element."""

    title: str
    svg: str


class _Series(NamedTuple):
    name: str
    color: str
    points: Sequence[tuple[float, float]]


def draw(reports: Sequence[ReportValues]) -> dict[str, list[Chart]]:
    """Return the charts of one or more reports by the title of their section; nothing to draw gives no chart."""
    sections: dict[str, list[Chart | None]] = {}
    if len(reports[0].groups) > 1:
        sections["By text"] = _pair_of_bars([report.groups for report in reports])
    if len(reports[0].scripts) > 1:
        columns = shown_scripts(reports)
        named = [[figures for figures in column if figures.name not in UNNAMED] for column in columns]
        sections["By script"] = _pair_of_bars(named)
    sections["Vocabulary"] = [_compression_curve(reports), _lengths(reports)]
    drawn = {title: [chart for chart in charts if chart] for title, charts in sections.items()}
    return {title: charts for title, charts in drawn.items() if charts}


def color(number: int) -> str:
    """Return the color of a tokenizer."""
    return f"var(--c{number % len(LIGHT)})"


def swatch(number: int) -> str:
    """Return the color of a tokenizer as a small SVG image, for a legend."""
    return (
        f'<svg class="swatch" viewBox="0 0 1 1" aria-hidden="true"><path fill="{color(number)}" d="M0 0h1v1H0z"/></svg>'
    )


def _pair_of_bars(parts: Sequence[Sequence[Figures]]) -> list[Chart | None]:
    """Return bars of compression and bars of parity for parts of the texts, given one list for each tokenizer."""
    compression = _bars("Bytes per token: higher is better", parts, "bytes_per_token")
    return [compression, _bars("Parity: below 1 is cheaper", parts, "parity", 1)]


def _bars(title: str, parts: Sequence[Sequence[Figures]], figure: str, at: float | None = None) -> Chart | None:
    """Return bars for each part of the texts, with a reference line `at` a number."""
    columns = [{part.name: getattr(part, figure) for part in column} for column in parts]
    labels = [*dict.fromkeys(label for column in columns for label in column)]
    values = [value for column in columns for value in column.values() if value]
    if not values:
        return None
    scale = (_WIDTH - _LEFT - _RIGHT) / max(*values, at or 0)
    thick = 13 if len(columns) == 1 else 11
    body, top = [], 0.0
    for label in labels:
        rows = [(number, column[label]) for number, column in enumerate(columns) if column.get(label)]
        middle = top + thick * max(len(rows), 1) / 2
        body.append(_text(_LEFT - 8, middle, _short(label), "ink", anchor="end"))
        for number, value in rows:
            end = _LEFT + value * scale
            edge = f"M{_LEFT} {top + 1:.1f}H{end:.1f}v{thick - 2}H{_LEFT}z"
            body.append(f'<path fill="{color(number)}" d="{edge}"/>')
            body.append(_text(end + 5, top + thick / 2, f"{value:.2f}", "ink"))
            top += thick
        top += thick if not rows else 8
    if at is not None:
        x = _LEFT + at * scale
        body.insert(0, f'<path stroke="var(--dim)" stroke-dasharray="3 2" d="M{x:.1f} 0V{top:.0f}"/>')
    return Chart(title, _svg(title, top, body))


def _compression_curve(reports: Sequence[ReportValues]) -> Chart | None:
    curves = [(report.name, color(number), report.compression_curve) for number, report in enumerate(reports)]
    if len(reports) == 1 and 1 < len(reports[0].compression_curves) <= _MAX_LINES:
        of_groups = reports[0].compression_curves.items()
        curves = [*((name, "var(--dim)", curve) for name, curve in of_groups), ("all", *curves[0][1:])]
    lines = [
        _Series(name, of, [(math.log(size), curve.bytes / curve.tokens_at(size)) for size in curve.sizes()])
        for name, of, curve in curves
        if curve is not None and curve.bytes and curve.largest > curve.smallest
    ]
    if not lines:
        return None
    first, last = (math.exp(edge(x for line in lines for x, _ in line.points)) for edge in (min, max))
    sizes = [size for size in (125 << power for power in range(20)) if first <= size <= last * 1.0001]
    ticks = {math.log(size): f"{size:,}" for size in sizes[:: 1 + len(sizes) // 6]}
    return _lines("Bytes per token by vocabulary size: higher is better", lines, ticks, "{:g}")


def _lengths(reports: Sequence[ReportValues]) -> Chart | None:
    columns = [(report.name, color(number), report.lengths_in_text) for number, report in enumerate(reports)]
    if len(reports) == 1:
        columns = [
            ("of the text", color(0), reports[0].lengths_in_text),
            ("of the vocabulary", "var(--dim)", reports[0].lengths_in_vocabulary),
        ]
    lines = [_Series(name, of, [*enumerate(_binned(lengths))]) for name, of, lengths in columns]
    ticks = {float(place): str(place + 1) for place in range(_MAX_LENGTH - 1)} | {_MAX_LENGTH - 1.0: f"{_MAX_LENGTH}+"}
    return _lines("Tokens by length in bytes", lines, ticks, "{:.0%}")


def _lines(title: str, lines: Sequence[_Series], ticks: Mapping[float, str], form: str) -> Chart:
    """Return a chart of lines from 0 on, with their names at their ends."""
    left, right, top, bottom = _MARGINS
    xs, ys = ([point[axis] for line in lines for point in line.points] for axis in (0, 1))
    highest = max(ys) or 1
    wide, high = _WIDTH - left - right, _HEIGHT - top - bottom

    def place(x: float, y: float) -> tuple[float, float]:
        return left + wide * (x - min(xs)) / ((max(xs) - min(xs)) or 1), top + high * (1 - y / highest)

    body = []
    for y in _round_numbers(highest):
        _, height = place(min(xs), y)
        body.append(f'<path stroke="var(--line)" d="M{left} {height:.1f}h{wide}"/>')
        body.append(_text(left - 6, height, form.format(y), "dim", anchor="end"))
    body += [_text(place(x, 0)[0], _HEIGHT - 8, name, "dim", anchor="middle") for x, name in ticks.items()]
    for line in lines:
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line.points))
        body.append(f'<polyline fill="none" stroke="{line.color}" stroke-width="2" points="{points}"/>')
        x, y = place(*line.points[-1])
        body.append(f'<path fill="{line.color}" d="M{x - 3:.1f} {y - 3:.1f}h6v6h-6z"/>')
    ends = sorted((place(*line.points[-1])[1], line.name, line.color) for line in lines)
    lowest = max(_HEIGHT - bottom, _LINE_STEP * len(lines))
    heights = _spread([end for end, _, _ in ends], _LINE_STEP, lowest)
    for height, (_, name, of) in zip(heights, ends, strict=True):
        body.append(f'<path fill="{of}" d="M{left + wide + 6} {height - 4:.1f}h8v8h-8z"/>')
        body.append(_text(left + wide + 19, height, _short(name), "ink"))
    return Chart(title, _svg(title, lowest + bottom, body))


def _round_numbers(highest: float) -> list[float]:
    """Return three to eleven round numbers from 0 on.

    >>> _round_numbers(3.7), _round_numbers(0.17)
    ([0.0, 1.0, 2.0, 3.0], [0.0, 0.05, 0.1, 0.15])
    """
    step = 10.0 ** math.floor(math.log10(highest))
    step /= 1 if highest >= 2 * step else 2
    return [round(step * number, 12) for number in range(int(highest / step) + 1)]


def _spread(values: Sequence[float], room: float, limit: float) -> list[float]:
    """Return sorted numbers, moved up and then down to have at least `room` between any two below a limit.

    >>> _spread([1, 1, 5, 9, 9], 1, 9)
    [1, 2, 5, 8, 9]
    """
    up = [*accumulate(values, lambda last, value: max(last + room, value))]
    down = accumulate(reversed(up), lambda last, value: min(last - room, value), initial=limit + room)
    return [*down][:0:-1]


def _binned(histogram: Mapping[int, float]) -> list[float]:
    """Return the shares of tokens of 1, 2, … bytes, and of all longer tokens as the last share."""
    total = sum(histogram.values()) or 1
    shares = [histogram.get(length, 0) / total for length in range(1, _MAX_LENGTH)]
    return [*shares, sum(count for length, count in histogram.items() if length >= _MAX_LENGTH) / total]


def _svg(title: str, height: float, body: Sequence[str]) -> str:
    view = f'viewBox="0 0 {_WIDTH} {height:.0f}" role="img" aria-label="{escape(title)}"'
    return f"<svg {view}>{''.join(body)}</svg>"


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" dominant-baseline="central" text-anchor="{anchor}"'
    return f'<text {place} font-size="11" fill="var(--{kind})">{escape(text)}</text>'


def _short(text: str) -> str:
    shown = "".join(char if char.isprintable() else "\ufffd" for char in text)  # SVG may not contain others
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}…"
