"""Colors and shapes that tell up to eight tokenizers apart in pictures, and places where dots do not hide each other.

The colors differ for people without red, green or blue cones, too (CIEDE2000 of at least 13), and have a contrast of
at least 3 with the page. Names are written in the color of text.
"""

from __future__ import annotations

from collections.abc import Sequence

LIGHT = ("#1f6fa8", "#c8590a", "#5e0f60", "#9779ff", "#923f66", "#270ec6", "#a21a01", "#0e9f8c")
DARK = ("#62b2e6", "#f0944d", "#ba4988", "#e11309", "#915cf3", "#35f4ab", "#ad8d75", "#ffda00")
SHAPES = ("o", "s", "^", "D", "v", "P", "X", "*")
"""The shapes of series, as matplotlib names them."""

STAND_INS = tuple(f"#0400{number:02x}" for number in range(len(LIGHT)))
"""The colors as drawn, which become variables of the page's style sheet."""


def series_color(number: int) -> str:
    """Return the color to draw a series with."""
    return STAND_INS[number % len(STAND_INS)]


def series_shape(number: int) -> str:
    """Return the shape of a series; color and shape together are unique among 64."""
    return SHAPES[(number + number // len(SHAPES)) % len(SHAPES)]


def series_size(number: int) -> float:
    """Return the size of a series' shape in points; shapes of one size do not look equally large."""
    return {"*": 9.0, "D": 5.5, "s": 6.0}.get(series_shape(number), 7.0)


def series_icon(number: int) -> str:
    """Return the shape of a series as a small SVG image, for a legend."""
    from matplotlib.markers import MarkerStyle

    marker = MarkerStyle(series_shape(number))
    path = marker.get_path().transformed(marker.get_transform())
    steps = []
    for points, code in path.iter_segments(curves=True):
        letter = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}[int(code)]
        steps.append(letter + ("" if letter == "Z" else " ".join(f"{value:.3g}" for value in points)))
    scale = series_size(number) / 7
    color = f"var(--c{number % len(STAND_INS)})"
    return (
        '<svg class="shape" viewBox="-.7 -.7 1.4 1.4" aria-hidden="true">'
        f'<path fill="{color}" transform="scale({scale:.2f} -{scale:.2f})" d="{"".join(steps)}"/></svg>'
    )


def lanes(values: Sequence[float], room: float) -> list[int]:
    """Return a lane for each value, so that values in a lane are at least `room` apart; most are in lane 0.

    >>> lanes([1, 5, 1, 1.5], 1)
    [0, 0, 1, 2]
    """
    ends: list[float] = []
    chosen = [0] * len(values)
    for place in sorted(range(len(values)), key=lambda place: values[place]):
        free = [lane for lane, end in enumerate(ends) if values[place] >= end]
        lane = free[0] if free else len(ends)
        ends[lane : lane + 1] = [values[place] + room]
        chosen[place] = lane
    return chosen


def lane_offset(lane: int) -> int:
    """Return the distance of a lane from the middle: lanes are in turns below and above it.

    >>> [*map(lane_offset, range(5))]
    [0, 1, -1, 2, -2]
    """
    return (lane + 1) // 2 * (1 if lane % 2 else -1)
