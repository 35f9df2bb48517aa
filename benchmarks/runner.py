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

from benchmarks.agreement import Disagreement, check_agreement, is_part
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
        "HF_HUB_OFFLINE": "1",  # folders are loaded; nobody is to ask whether there is something newer
        "TOKENIZERS_PARALLELISM": "true" if job.threads > 1 else "false",
    }
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder, "result.json")
        done = subprocess.run(
            [_python(job.peer), "-m", "benchmarks.worker", str(result)],
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


def _python(peer: str) -> str:
    """Return the Python that a peer runs in: of another environment, if a variable names one for it."""
    return os.environ.get(f"BENCHMARKS_PYTHON_{peer.upper()}", sys.executable)


def benchmark(
    jobs: Sequence[Job],
    witnesses: Sequence[Job],
    threads: Sequence[int],
    repeats: int,
    say: Callable[[str], None],
    leaves_out: bool = False,
) -> dict[str, Any]:
    """Compare what all jobs give, then time them.

    Args:
        jobs: what is timed; their `threads` are replaced.
        witnesses: what is run once for comparison and not timed.
        threads: each job is run with each number of threads.
        repeats: timed runs of each job and number of threads.
        say: called with lines about the progress.
        leaves_out: whether a contender that fails, or gives other results than the first one, is left out and named,
            instead of an error.

    Returns:
        "contenders": name → version, entry_point and so on; "agreement": sentences about what was compared; "runs":
        every timed run; "left_out": the jobs that were left out, with the reason.

    Raises:
        Disagreement: results differ that have to be equal; nothing has been timed then.
        RunError: a run failed.
    """
    timed = [dataclasses.replace(job, threads=number, rounds=repeats) for number in threads for job in jobs]
    outcomes: dict[Job, Any] = {}
    contenders: dict[str, Any] = {}
    left_out = []
    expected: dict[str, Any] = {}
    for job in [*timed, *(dataclasses.replace(job, threads=max(threads)) for job in witnesses)]:
        say(f"comparing {_describe(job)}")
        try:
            measured = run(job)
        except RunError as error:
            if not leaves_out:
                raise
            left_out.append({**_names(job), "reason": f"fails: {error}"})
            continue
        if leaves_out and expected.setdefault(job.subject, measured["outcome"]) != measured["outcome"]:
            left_out.append({**_names(job), "reason": "other ids"})
            continue
        outcomes[job] = measured["outcome"]
        contenders[job.contender] = measured["peer"]
    agreement = check_agreement(
        {job: (contenders[job.contender]["ties"], outcome) for job, outcome in outcomes.items()}
    )
    for sentence in agreement:
        say(sentence)

    groups: dict[tuple[str, int], list[Job]] = {}
    for job in timed:
        if job in outcomes:
            groups.setdefault((job.subject, job.threads), []).append(job)
    runs = []
    for number in range(repeats):
        for group in groups.values():
            # Each round begins with another contender, so that none always follows the same one.
            for job in [*group[number % len(group) :], *group[: number % len(group)]]:
                measured = run(dataclasses.replace(job, round=number + 1))
                if not is_part(measured.pop("outcome"), outcomes[job]):
                    raise Disagreement(f"{job.contender}: a timed run gave another result than the run before it")
                measured.pop("peer")
                runs.append({**_names(job), "round": number + 1, **measured})
                say(f"round {number + 1} of {repeats}: {_describe(job)}: {measured['seconds']:.3f} s")
    return {"contenders": contenders, "agreement": agreement, "runs": runs, "left_out": left_out}


def _names(job: Job) -> dict[str, Any]:
    return {"subject": job.subject, "contender": job.contender, "threads": job.threads}


def _describe(job: Job) -> str:
    subject = f"{job.subject}, " if job.subject else ""
    return f"{subject}{job.contender}, threads: {job.threads}"
