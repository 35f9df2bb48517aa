"""Results as a table of text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.report import label, tiktoken

Cell = Callable[[dict[str, Any]], str]


def table(result: dict[str, Any]) -> str:
    """Return the summary as lines of text, a stretch of them for each subject."""
    columns = _columns(result)
    cells = [[heading for heading, _ in columns], *([cell(row) for _, cell in columns] for row in result["summary"])]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for line in cells:
        first, *others = zip(line, widths, strict=True)
        lines.append("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]).rstrip())
    subject = ""
    text = [lines[0]]
    for row, line in zip(result["summary"], lines[1:], strict=True):
        if row["subject"] != subject:
            subject = row["subject"]
            text += ["", subject]
        text.append(line)
    return "\n".join(text)


def _columns(result: dict[str, Any]) -> list[tuple[str, Cell]]:
    """Return heading and content of the columns that tell something about the task."""
    task = result["benchmark"]
    baseline = next(iter(result["contenders"]))
    columns: list[tuple[str, Cell]] = [
        ("", lambda row: label(result, row["contender"])),
        ("threads", lambda row: str(row["threads"])),
    ]
    unit, scale, form = "seconds", 1.0, "{:.3f}"
    if task == "latency":
        unit, scale, form = "microseconds", 1e6 / result["options"]["calls"], "{:.2f}"
    elif result["options"].get("first"):
        unit, scale, form = "milliseconds", 1e3, "{:.2f}"

    def spread(row: dict[str, Any]) -> str:
        return "-".join(form.format(row[name] * scale) for name in ("min_seconds", "max_seconds"))

    columns += [
        (unit, lambda row: form.format(row["seconds"] * scale)),
        ("(least-most)", lambda row: f"({spread(row)})"),
    ]
    if task == "training":
        columns.append(("ratio", lambda row: f"{1 / row['times_as_fast_as'][baseline]:.2f}x"))
    else:
        columns += [_speed_beside(name) for name in dict.fromkeys([baseline, tiktoken(result)]) if name is not None]
    if task != "latency":
        columns.append(("MB/s", lambda row: _or_dash(row["megabytes_per_second"] or None, "{:.1f}")))
    columns.append(("CPU s", lambda row: f"{row['cpu_seconds']:.2f}"))
    if task == "training":
        columns.append(("reading s", lambda row: _or_dash(row["reading_seconds"], "{:.3f}")))
    columns.append(("peak MB", _peak))
    return columns


def _speed_beside(contender: str) -> tuple[str, Cell]:
    name = contender.partition(":")[0]
    whose = f"{name}'" if name.endswith("s") else f"{name}'s"
    return f"speed / {whose}", lambda row: _or_dash(row["times_as_fast_as"].get(contender), "{:.2f}")


def _peak(row: dict[str, Any]) -> str:
    peak = f"{row['peak_bytes'] / 1e6:.0f}"
    return f"{peak} (and {row['child_peak_bytes'] / 1e6:.0f} in a child)" if row["child_peak_bytes"] else peak


def _or_dash(number: float | None, form: str) -> str:
    return "-" if number is None else form.format(number)
