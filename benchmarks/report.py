"""Results as one JSON value that says everything about them."""

from __future__ import annotations

import datetime
import hashlib
import json
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


def to_json(result: dict[str, Any]) -> str:
    """Return results as JSON, with four digits of each float."""
    exact = json.loads(json.dumps(result), parse_float=lambda digits: float(f"{float(digits):.4g}"))
    return json.dumps(exact, indent=1) + "\n"


def medians(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result to keep, without the single runs."""
    return {name: value for name, value in result.items() if name != "runs"}


def summarize(runs: Sequence[dict[str, Any]], size: int) -> list[dict[str, Any]]:
    """Return one row a subject, number of threads and contender, the fastest first; times are medians.

    Args:
        runs: what was measured.
        size: how many bytes a run that says nothing of it has worked on, 0 if none.
    """
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = {}
    for one in runs:
        groups.setdefault((one["subject"], one["threads"], one["contender"]), []).append(one)

    rows = []
    for (subject, threads, contender), group in groups.items():
        seconds = [one["seconds"] for one in group]
        row = {
            "subject": subject,
            "contender": contender,
            "threads": threads,
            "runs": len(group),
            "seconds": statistics.median(seconds),
            "min_seconds": min(seconds),
            "max_seconds": max(seconds),
            "megabytes_per_second": statistics.median(_bytes(one, size) / one["seconds"] / 1e6 for one in group),
        }
        row |= {
            name: statistics.median(one[name] for one in group)
            for name in (
                "import_seconds",
                "cpu_seconds",
                "hand_over_seconds",
                "peak_bytes",
                "live_bytes",
                "child_peak_bytes",
            )
        }
        reading = [one["reading_seconds"] for one in group]
        row["reading_seconds"] = None if None in reading else statistics.median(reading)
        rows.append(row)
    subjects = list(dict.fromkeys(one["subject"] for one in runs))
    rows.sort(key=lambda row: (subjects.index(row["subject"]), row["threads"], row["seconds"]))
    for row in rows:
        same = [other for other in rows if all(other[name] == row[name] for name in ("subject", "threads"))]
        row["times_as_fast_as"] = {other["contender"]: other["seconds"] / row["seconds"] for other in same}
    return rows


def _bytes(one: dict[str, Any], size: int) -> int:
    worked_on: int | None = one["bytes"]
    return size if worked_on is None else worked_on


_TIES = {"huggingface": "ties as tokenizers", "lexicographic": "ties by bytes", "raw_ids": "ties by id"}


def label(result: dict[str, Any], contender: str) -> str:
    """Return a contender's name for readers: peer, version, engine, ties, what its ids came in if others' did not."""
    peer = result["contenders"][contender]
    name = f"{contender.partition(':')[0]} {peer['version']}"
    if peer["engine"]:
        name += f", {peer['engine']}"
    if peer["ties"]:
        return f"{name}, {_TIES[peer['ties']]}"
    into = peer["into"]
    return f"{name} ({into})" if into != result["options"].get("into") else name


def tiktoken(result: dict[str, Any]) -> str | None:
    """Return the contender that is tiktoken, the measure that readers know; None if it did not take part."""
    return next((name for name in result["contenders"] if name.partition(":")[0] == "tiktoken"), None)
