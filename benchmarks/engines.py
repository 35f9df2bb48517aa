"""Encoding on engines, on one core: `RAYON_NUM_THREADS=1 python -m benchmarks.engines TOKENIZER FILE...`.

Give the folder of a tokenizer, and files of text with `<|endoftext|>` between documents, which are cut at line ends
into rows. Roads whose engine is not installed are left out. The ids of each road must be equal to those of the local
one, and the roads that only pass text on must pass all of it, before anything is timed. Then the roads take turns, each
on one worker, in seconds on the clock, when idle; `benchmarks/engine_roads.py` says what each does.

The start of a job is part of these times: loading the tokenizer, and what the engine does before the first row. With
several `--megabytes`, of which the last are the most, the speed at which the rest is encoded is that of a long job.
`memory` is the highest that a process of a road had, or by how much this process grew where a road has no other.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import engine_roads as roads_of
from benchmarks.engine_roads import END, Road, Rows

ROADS = {
    "local": roads_of.local,
    "spark": roads_of.spark,
    "spark_alone": roads_of.spark_alone,
    "ray": roads_of.ray,
    "ray_alone": roads_of.ray_alone,
    "datatrove": roads_of.datatrove,
    "datatrove_alone": roads_of.datatrove_alone,
    "datatrove_peer": roads_of.datatrove_peer,
    "files": roads_of.files,
    "megatron_peer": roads_of.megatron_peer,
}


def _installed(names: list[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        needed = {"spark": "pyspark"}.get(engine := name.split("_")[0], engine)
        if engine not in ("local", "files") and importlib.util.find_spec(needed) is None:
            print(f"{name}: {needed} is not installed")
        else:
            yield name


def _memory(process: int, field: str) -> int:
    """Return a number of bytes that Linux tells of a process; 0 of one that has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) << 10
    return 0


def _descendants(process: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield int(child)
                yield from _descendants(int(child))


def _memory_of(road: Road) -> str:
    """Run a road, and return the memory of the processes that it uses."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that of now
    before = _memory(os.getpid(), "VmRSS")
    road.run()
    peaks = {f"this process +{(_memory(os.getpid(), 'VmHWM') - before) / 1e6:.0f}"}
    for child in _descendants(os.getpid()):
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            short = next((name for name in ("daemon", "java", "ray::", "raylet", "gcs_server") if name in command), "")
            if short:
                peaks.add(f"{short} {_memory(child, 'VmHWM') / 1e6:.0f}")
    return ", ".join(sorted(peaks))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("tokenizer", metavar="TOKENIZER")
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a batch")
    parser.add_argument("--megabytes", type=float, nargs="+", default=[20], help="how much of the files, increasing")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--roads", nargs="+", choices=ROADS, default=[*ROADS])
    parser.add_argument("--memory", action="store_true", help="tell the memory of processes, on Linux")
    options = parser.parse_args()

    import pyarrow as pa

    text = "\n".join(file.read_text("utf-8").replace(END, "\n") for file in options.files)
    tokenizer = str(Path(options.tokenizer).absolute())
    seconds: dict[tuple[str, int], list[float]] = {}
    with contextlib.ExitStack() as stack:
        names = [*_installed(["local", *options.roads])]
        tables, roads = [], []
        for megabytes in options.megabytes:
            tables.append(pa.table({"text": [line for line in text[: int(megabytes * 1e6)].split("\n") if line]}))
            rows = Rows(tokenizer, tables[-1], options.rows, stack)
            roads.append({name: ROADS[name](rows) for name in names})
            _check(roads[-1], _texts(tables[-1]))
        if options.memory:
            for name, road in roads[-1].items():
                print(f"{name:16} memory in MB: {_memory_of(road)}", flush=True)
        for _ in range(options.rounds):  # sizes take turns, too, because a JVM becomes faster
            for number, of_size in enumerate(roads):
                for name, road in of_size.items():
                    start = time.perf_counter()
                    road.run()
                    seconds.setdefault((name, number), []).append(time.perf_counter() - start)
    speeds: dict[str, list[tuple[float, float]]] = {}
    for number, table in enumerate(tables):
        size = _texts(table)[0] / 1e6
        print(f"{len(table)} rows, {size:.1f} MB", flush=True)
        for name in names:
            speeds.setdefault(name, []).append((size, statistics.median(seconds[name, number])))
            print(_line(name, speeds), flush=True)


def _texts(table: Any) -> tuple[int, int]:
    """Return the bytes and the number of the texts."""
    import pyarrow.compute as pc

    return pc.sum(pc.binary_length(table["text"])).as_py(), len(table)


def _check(roads: dict[str, Road], texts: tuple[int, int]) -> None:
    ids = roads["local"].result()
    for name, road in roads.items():
        if (got := road.result()) != (expected := ids if road.encodes else texts):
            raise SystemExit(f"{name}: the results differ: {got}, {expected}")


def _line(name: str, speeds: dict[str, list[tuple[float, float]]]) -> str:
    """Return what is printed of a road, given megabytes and seconds of each for all sizes so far."""
    (size, seconds), (_, base) = speeds[name][-1], speeds["local"][-1]
    line = f"{name:16} {size / seconds:6.1f} MB/s, {base / seconds:5.2f} of local"
    if len(speeds[name]) > 1:
        more, longer = (now - before for now, before in zip(speeds[name][-1], speeds[name][-2], strict=True))
        base -= speeds["local"][-2][1]
        line += f"; the last {more:.1f} MB {more / longer:6.1f} MB/s, {base / longer:5.2f}"
    return line


if __name__ == "__main__":
    main()
