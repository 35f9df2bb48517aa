"""Runs in fresh processes: all contenders once to compare what comes out, then round after round to time them."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.agreement import Disagreement, compare
from benchmarks.job import Job

ROOT = Path(__file__).resolve().parent.parent


class RunError(Exception):
    """A run that failed; the message says why."""


def run(job: Job) -> dict[str, Any]:
    """Do one run in a process of its own and return what `worker.perform` returns.

    Raises:
        RunError: the process failed.
    """
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(job.threads),
        "TOKENIZERS_PARALLELISM": "true" if job.threads > 1 else "false",
    }
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result.json")
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.worker", str(result)],
            input=json.dumps(dataclasses.asdict(job)),
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise RunError(f"{job.contender}: {reason[0]}")
        measured: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    return measured


def benchmark(
    jobs: Sequence[Job], witnesses: Sequence[Job], threads: Sequence[int], repeats: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """Compare what all jobs give, then time them.

    Args:
        jobs: what is timed; their `threads` are replaced.
        witnesses: what is run once for comparison and not timed.
        threads: each job is run with each number of threads.
        repeats: timed runs of each job and number of threads.
        say: called with lines about the progress.

    Returns:
        "contenders": name → version, door and so on; "agreement": sentences about what was compared; "runs": every
        timed run.

    Raises:
        Disagreement: results differ that have to be equal; nothing has been timed then.
        RunError: a run failed.
    """
    timed = [dataclasses.replace(job, threads=number) for number in threads for job in jobs]
    outcomes: dict[Job, Any] = {}
    contenders: dict[str, Any] = {}
    for job in [*timed, *(dataclasses.replace(job, threads=max(threads)) for job in witnesses)]:
        say(f"comparing {job.contender}, threads: {job.threads}")
        measured = run(job)
        outcomes[job] = measured["outcome"]
        contenders[job.contender] = measured["peer"]
    agreement = compare({job: (contenders[job.contender]["ties"], outcome) for job, outcome in outcomes.items()})
    for sentence in agreement:
        say(sentence)

    runs = []
    for number in range(repeats):
        # Each round begins with another contender, so that none always follows the same one.
        for job in [*timed[number % len(timed) :], *timed[: number % len(timed)]]:
            measured = run(job)
            if measured.pop("outcome") != outcomes[job]:
                raise Disagreement(f"{job.contender}: a timed run gave another result than the run before it")
            measured.pop("peer")
            runs.append({"contender": job.contender, "threads": job.threads, "round": number + 1, **measured})
            seconds = measured["seconds"]
            say(f"round {number + 1} of {repeats}: {job.contender}, threads: {job.threads}: {seconds:.3f} s")
    return {"contenders": contenders, "agreement": agreement, "runs": runs}
