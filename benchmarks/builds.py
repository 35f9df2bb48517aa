"""Builds of the native core, of one source: `python -m benchmarks.builds NAME=FOLDER... --gpt2 FOLDER --files FILE...`.

Each FOLDER is what `pip install --no-deps --target FOLDER WHEEL` makes of a build; ratios are of speed, to the first
one. Each build has a process, all on one core, with GPT-2's vocabulary, and these take turns; an untimed turn compares
what they return. Of each FILE the lines of 20 to 300 characters are encoded to arrays, and are texts of calls; those of
all FILEs are counted and learned from. Times are of the processor, medians.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import measure, report
from benchmarks.vocabulary import MERGES, VOCAB

SHORTEST, LONGEST = 20, 300  # characters of a line
CALL_LINES = 200
VOCAB_SIZE = 8_000


def works(gpt2: str, files: list[str], size: int) -> dict[str, tuple[Callable[[], Any], int]]:
    """Return what is timed: name → (work, how often it is repeated in a turn)."""
    from hf_bpe import BPETokenizer, count, train

    tokenizer = BPETokenizer(Path(gpt2, VOCAB), Path(gpt2, MERGES))
    made: dict[str, tuple[Callable[[], Any], int]] = {}
    every_line = []
    for path in map(Path, files):
        with path.open(encoding="utf-8") as file:
            lines = [line for line in file.read(size).split("\n") if SHORTEST <= len(line) <= LONGEST]
        every_line += lines
        some = lines[:CALL_LINES]
        made[f"{path.stem}: encode_to_numpy(lines)"] = partial(tokenizer.encode_to_numpy, lines, num_workers=1), 1
        made[f"{path.stem}: tok(line)"] = partial(tokenizer, lines[0]), 2_000
        made[f"{path.stem}: tok({len(some)} lines)"] = partial(tokenizer, some), 100

    def learn() -> Any:
        return train(count(iter(every_line), num_workers=1), VOCAB_SIZE, num_workers=1).merges

    made["count and train"] = learn, 1
    return made


def digest(result: Any) -> str:
    """Return a hash of ids or merges."""
    if isinstance(result, tuple | list) and hasattr(result[0], "tobytes"):  # arrays
        return hashlib.sha256(b"".join(array.tobytes() for array in result)).hexdigest()
    return hashlib.sha256(repr(result).encode()).hexdigest()


def work_for(job: str) -> None:
    """Do in a process of its own what the lines of the input name; for each print seconds and a hash."""
    clone = str(Path(__file__).resolve().parent.parent)
    sys.path[:] = [each for each in sys.path if each not in ("", clone)]
    measure.pin(1)
    import hf_bpe._native as core

    made = works(**json.loads(job))
    print(json.dumps([core.__file__, core.simd_names(), list(made)]), flush=True)
    for line in sys.stdin:
        work, repeats = made[line.strip()]
        gc.collect()
        gc.disable()
        start = time.process_time()
        for _ in range(repeats):
            result = work()
        seconds = (time.process_time() - start) / repeats
        gc.enable()
        print(json.dumps([seconds, digest(result)]), flush=True)


def start(folder: Path, job: str) -> subprocess.Popen[str]:
    """Start the process of a build."""
    clone = Path(__file__).resolve().parent.parent
    environment = {**os.environ, "PYTHONPATH": str(folder.resolve()), "HF_BPE_ENGINE": "native", "HF_HUB_OFFLINE": "1"}
    command = [sys.executable, "-m", "benchmarks.builds", "--worker", job]
    return subprocess.Popen(
        command, cwd=clone, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def ask(process: subprocess.Popen[str], work: str | None = None) -> Any:
    """Return what a process says, of itself or of a work that it is given."""
    assert process.stdin is not None
    assert process.stdout is not None
    if work is not None:
        process.stdin.write(work + "\n")
        process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"the process of a build has ended: {process.args!r}")
    return json.loads(line)


def main() -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["--worker"]:
        return work_for(sys.argv[2])
    parser = argparse.ArgumentParser(prog="python -m benchmarks.builds", description=__doc__)
    parser.add_argument("builds", nargs="+", metavar="NAME=FOLDER")
    parser.add_argument("--gpt2", metavar="FOLDER", type=Path, required=True, help="with vocab.json and merges.txt")
    parser.add_argument("--files", nargs="+", metavar="FILE", type=Path, required=True)
    parser.add_argument("--size", type=int, default=2_000_000, help="characters of each file (default 2,000,000)")
    parser.add_argument("--only", default="", help="works whose name has this")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    files = [str(path.resolve()) for path in options.files]
    job = json.dumps({"gpt2": str(options.gpt2.resolve()), "files": files, "size": options.size})
    print(json.dumps(report.machine()))
    processes = {}
    for build in options.builds:
        name, folder = build.split("=", 1)
        processes[name] = start(Path(folder), job)
        module, simd, names = ask(processes[name])
        if Path(folder).resolve() not in Path(module).parents:  # an editable hf_bpe comes first on the path
            raise SystemExit(f"{name}: {module} is imported, not the one in {folder}")
        print(f"{name}: {module}, {simd}", flush=True)
    base = next(iter(processes))
    for work in (name for name in names if options.only in name):
        if len({ask(process, work)[1] for process in processes.values()}) != 1:
            raise SystemExit(f"{work}: the builds return different results")
        times: dict[str, list[float]] = {name: [] for name in processes}
        for number in range(options.rounds):
            for name in reversed(processes) if number % 2 else processes:
                times[name].append(ask(processes[name], work)[0])
        medians = {name: statistics.median(each) for name, each in times.items()}
        ratios = [f"{name} {medians[base] / median:5.3f}" for name, median in medians.items() if name != base]
        print(f"{work:36}{base} {medians[base] * 1e3:10.4f} ms   {'   '.join(ratios)}", flush=True)


if __name__ == "__main__":
    main()
