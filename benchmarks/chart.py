"""Draw results as panels of horizontal bars, a row of them for each number of threads.

Of training the panels are time and peak memory; of encoding, a panel for each text is the speed.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.report import label, tiktoken

# The background is transparent. Text is dark, and light where a style sheet finds a dark page.
TEXT = "#59636e"
TEXT_ON_DARK = "#9198a1"
OURS = "#e8833a"
OTHERS = "#6f8fb3"


@dataclass(frozen=True)
class Panel:
    """One panel: a bar for each contender, and what is written at its end."""

    title: str
    values: list[float]
    texts: list[str]


def draw(result: dict[str, Any], path: Path) -> None:
    """Write the SVG of a result. It depends on the result only, so that drawing it again changes nothing."""
    numbers = sorted({row["threads"] for row in result["summary"]})
    make = _speeds if result["benchmark"] == "encoding" else _time_and_memory
    rows = [make(result, threads) for threads in numbers]
    count = sum(len(contenders) for contenders, _ in rows)
    panels = len(rows[0][1])
    settings = {
        "svg.hashsalt": "hf_bpe",
        "svg.fonttype": "none",  # text stays text: small, and in the reader's own font
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": TEXT,
        "xtick.color": TEXT,
        "ytick.color": TEXT,
        "axes.titlecolor": TEXT,
    }
    with matplotlib.rc_context(settings):
        figure = Figure(figsize=(max(10, 3 * panels), 0.9 * len(numbers) + 0.3 * count + 0.4), layout="constrained")
        widths = [3, 2] if make is _time_and_memory else None
        axes = figure.subplots(len(numbers), panels, squeeze=False, width_ratios=widths)
        figure.suptitle(_title(result))
        for line, (contenders, drawn) in zip(axes, rows, strict=True):
            for axis, panel in zip(line, drawn, strict=True):
                _draw_panel(axis, panel, result, contenders)
                axis.tick_params(left=False, labelleft=axis is line[0])
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(path, format="svg", transparent=True, metadata=no_metadata)
    dark = f"@media (prefers-color-scheme: dark) {{ text {{ fill: {TEXT_ON_DARK} !important }} }}"
    path.write_text(path.read_text("utf-8").replace("</style>", f" {dark}</style>", 1), "utf-8")


def _time_and_memory(result: dict[str, Any], threads: int) -> tuple[list[str], list[Panel]]:
    """Return the contenders and two panels, each with the contenders in this order."""
    rows = [row for row in result["summary"] if row["threads"] == threads]
    baseline = next(iter(result["contenders"]))
    ratios = [1 / row["times_as_fast_as"][baseline] for row in rows]
    times = [f"{_short(row['seconds'])} s ({_short(ratio)}×)" for row, ratio in zip(rows, ratios, strict=True)]
    memory = [row["peak_bytes"] / 1e6 for row in rows]
    name = baseline.partition(":")[0]
    panels = [
        Panel(f"time (× {name}'s), {_threads(threads)}", [row["seconds"] for row in rows], times),
        Panel(f"peak memory, {_threads(threads)}", memory, [f"{size:.0f} MB" for size in memory]),
    ]
    return [row["contender"] for row in rows], panels


def _speeds(result: dict[str, Any], threads: int) -> tuple[list[str], list[Panel]]:
    """Return the contenders, the fastest on all texts first, and a panel for each text."""
    rows = [row for row in result["summary"] if row["threads"] == threads]
    speeds = {(row["subject"], row["contender"]): row["megabytes_per_second"] for row in rows}
    subjects = list(dict.fromkeys(row["subject"] for row in rows))
    contenders = sorted(
        dict.fromkeys(row["contender"] for row in rows),
        key=lambda name: -statistics.geometric_mean([speeds[subject, name] for subject in subjects]),
    )
    reference = tiktoken(result)
    panels = []
    for subject in subjects:
        values = [speeds[subject, name] for name in contenders]
        texts = [*map(_short, values)]
        if reference is not None:
            ratios = [value / speeds[subject, reference] for value in values]
            texts = [f"{text} ({_short(ratio)}×)" for text, ratio in zip(texts, ratios, strict=True)]
        panels.append(Panel(f"{subject}, {_threads(threads)}", values, texts))
    return contenders, panels


def _draw_panel(axis: Axes, panel: Panel, result: dict[str, Any], contenders: list[str]) -> None:
    contenders = contenders[::-1]  # bars are drawn from below
    names = [label(result, contender) for contender in contenders]
    colors = [OURS if contender.startswith("hf_bpe") else OTHERS for contender in contenders]
    bars = axis.barh(names, panel.values[::-1], color=colors, height=0.66)
    axis.bar_label(bars, panel.texts[::-1], padding=4)
    axis.set_title(panel.title, loc="left", fontsize=10, pad=10)
    axis.set_xlim(0, max(panel.values) * 1.35)
    axis.set_xticks([])
    for side in axis.spines.values():
        side.set_visible(False)


def _short(value: float) -> str:
    """Return a number with two digits, or all digits before the point: 0.73, 5.0, 21, 255, but 1 for 1.0."""
    if value >= 10 or value == 1:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"


def _threads(number: int) -> str:
    return f"{number} thread{'s' if number > 1 else ''}"


def _title(result: dict[str, Any]) -> str:
    options = result["options"]
    runs = options["repeats"]
    where = f"{result['machine']['cores']} cores of {result['machine']['processor']}, {result['date'][:10]}"
    if result["benchmark"] == "encoding":
        what = f"Encoding into {options['into']}, vocabulary {options['vocabulary']['pattern']}, MB/s (× tiktoken's)"
        return f"{what}: more is better\nmedians of {runs} runs on {where}"
    size = sum(file["bytes"] for file in result["files"]) / 1e6
    what = f"{result['benchmark'].capitalize()} on {size:.0f} MB"
    if "vocab_size" in options:
        what += f", {options['vocab_size']:,} tokens"
    return f"{what}: less is better\nmedians of {runs} runs on {where}"
