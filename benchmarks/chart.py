"""Draw results: a row of two panels of horizontal bars, time and peak memory, for each number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.report import label

# Read on white and on black alike: the background is transparent, and text is of middle grey.
TEXT = "#7d8590"
OURS = "#e8833a"
OTHERS = "#6f8fb3"


def draw(result: dict[str, Any], path: Path) -> None:
    """Write the SVG of a result. It depends on the result only, so that drawing it again changes nothing."""
    numbers = sorted({row["threads"] for row in result["summary"]})
    count = len(result["summary"])
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
        figure = Figure(figsize=(10, 0.9 * len(numbers) + 0.3 * count + 0.4), layout="constrained")
        axes = figure.subplots(len(numbers), 2, squeeze=False, width_ratios=[3, 2])
        figure.suptitle(_title(result))
        for (left, right), threads in zip(axes, numbers, strict=True):
            _draw_row(left, right, result, threads)
        no_metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(path, format="svg", transparent=True, metadata=no_metadata)


def _draw_row(left: Axes, right: Axes, result: dict[str, Any], threads: int) -> None:
    rows = [row for row in result["summary"] if row["threads"] == threads][::-1]  # bars are drawn from below
    baseline = next(iter(result["contenders"]))
    names = [label(result, row["contender"]) for row in rows]
    colors = [OURS if row["contender"].startswith("hf_bpe") else OTHERS for row in rows]
    seconds = [row["seconds"] for row in rows]
    ratios = [1 / row["times_as_fast_as"][baseline] for row in rows]
    memory = [row["peak_bytes"] / 1e6 for row in rows]

    times = [f"{time:.3f} s   {ratio:.2f}×" for time, ratio in zip(seconds, ratios, strict=True)]
    sizes = [f"{size:.0f} MB" for size in memory]
    panels = [(left, seconds, times, f"time (× {baseline.partition(':')[0]}'s)"), (right, memory, sizes, "peak memory")]
    for axis, values, texts, title in panels:
        bars = axis.barh(names, values, color=colors, height=0.66)
        axis.bar_label(bars, texts, padding=4)
        axis.set_title(f"{title}, {threads} thread{'s' if threads > 1 else ''}", loc="left", fontsize=10, pad=10)
        axis.set_xlim(0, max(values) * 1.35)
        axis.set_xticks([])
        axis.tick_params(left=False, labelleft=axis is left)
        for side in axis.spines.values():
            side.set_visible(False)


def _title(result: dict[str, Any]) -> str:
    size = sum(file["bytes"] for file in result["files"]) / 1e6
    what = f"{result['benchmark'].capitalize()} on {size:.0f} MB"
    if "vocab_size" in result["options"]:
        what += f", {result['options']['vocab_size']:,} tokens"
    runs, processor = result["options"]["repeats"], result["machine"]["processor"]
    return f"{what}: medians of {runs} runs on {processor}, less is better"
