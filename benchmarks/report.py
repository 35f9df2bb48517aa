"""Results as one JSON value that says everything about them, and as a table."""

from __future__ import annotations

import datetime
import hashlib
import os
import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.job import SEPARATOR


def machine() -> dict[str, Any]:
    """Return what is worth knowing of this machine, and how busy it is now."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": model or platform.processor() or platform.machine(),
        "cores": measure.cores(),
        "memory_bytes": pages,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def describe_files(files: Sequence[Path]) -> list[dict[str, Any]]:
    """Return name, size, SHA-256 and number of separators of each file."""
    described = []
    for file in files:
        data = file.read_bytes()
        described.append(
            {
                "name": file.name,
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "separators": data.count(SEPARATOR.encode()),
            }
        )
    return described


def assemble(
    task: str, options: dict[str, Any], files: list[dict[str, Any]], where: dict[str, Any], measured: dict[str, Any]
) -> dict[str, Any]:
    """Return the whole result: what was run on what and where, every run, and medians with ratios."""
    return {
        "benchmark": task,
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": where,
        "options": options,
        "files": files,
        **measured,
        "summary": summarize(measured["runs"], sum(file["bytes"] for file in files)),
    }


def summarize(runs: Sequence[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Return one row a contender and number of threads, the fastest first; times are medians."""
    groups: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for one in runs:
        groups.setdefault((one["threads"], one["contender"]), []).append(one)

    rows = []
    for (threads, contender), group in groups.items():
        seconds = [one["seconds"] for one in group]
        row = {
            "contender": contender,
            "threads": threads,
            "runs": len(group),
            "seconds": statistics.median(seconds),
            "seconds_least": min(seconds),
            "seconds_most": max(seconds),
            "megabytes_per_second": size / statistics.median(seconds) / 1e6,
        }
        row |= {
            name: statistics.median(one[name] for one in group)
            for name in ("cpu_seconds", "hand_over_seconds", "peak_bytes", "child_peak_bytes")
        }
        reading = [one["reading_seconds"] for one in group]
        row["reading_seconds"] = None if None in reading else statistics.median(reading)
        rows.append(row)
    rows.sort(key=lambda row: (row["threads"], row["seconds"]))
    for row in rows:
        same = [other for other in rows if other["threads"] == row["threads"]]
        row["times_as_fast_as"] = {other["contender"]: other["seconds"] / row["seconds"] for other in same}
    return rows


def table(result: dict[str, Any]) -> str:
    """Return the summary as lines of text; ratios are to the time of the first contender."""
    baseline = next(iter(result["contenders"]))
    width = max(len(label(result, name)) for name in result["contenders"])
    lines = [f"{'':<{width}}  threads   seconds   (least-most)     ratio   MB/s   CPU s  reading s  peak MB"]
    for row in result["summary"]:
        spread = f"({row['seconds_least']:.3f}-{row['seconds_most']:.3f})"
        reading = "-" if row["reading_seconds"] is None else f"{row['reading_seconds']:.3f}"
        peak = f"{row['peak_bytes'] / 1e6:.0f}"
        if row["child_peak_bytes"]:
            peak += f" (and {row['child_peak_bytes'] / 1e6:.0f} in a child)"
        lines.append(
            f"{label(result, row['contender']):<{width}}  {row['threads']:>7}  {row['seconds']:>8.3f}  {spread:<16}"
            f"{1 / row['times_as_fast_as'][baseline]:>6.2f}x  {row['megabytes_per_second']:>5.1f}"
            f"  {row['cpu_seconds']:>6.2f}  {reading:>9}  {peak:>7}"
        )
    return "\n".join(lines)


def label(result: dict[str, Any], contender: str) -> str:
    """Return a contender's name for readers: peer, version, engine, ties."""
    peer = result["contenders"][contender]
    name = f"{contender.partition(':')[0]} {peer['version']}"
    if peer["engine"]:
        name += f", {peer['engine']}"
    return f"{name} ({peer['ties']} ties)" if peer["ties"] else name
