"""One run in a process of its own: `python -m benchmarks.worker RESULT`, the job as JSON on standard input.

The result goes to a file because libraries print on standard output.
"""

from __future__ import annotations

import collections
import importlib.metadata
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks import measure, tasks
from benchmarks.job import Job, read_documents
from benchmarks.peers import load


def perform(job: Job) -> dict[str, Any]:
    """Do one run; return what was measured and what came out."""
    measure.pin(job.threads)  # first, so that the threads a library starts on import inherit it
    start = time.perf_counter()
    peer = load(job)
    import_seconds = time.perf_counter() - start
    work = _work(job, peer)

    start_bytes = measure.peak_bytes()
    cpu, start = measure.cpu_seconds(), time.perf_counter()
    work.run()
    seconds, cpu = time.perf_counter() - start, measure.cpu_seconds() - cpu
    memory = {
        "start_bytes": start_bytes,
        "live_bytes": measure.live_bytes(),
        "peak_bytes": measure.peak_bytes(),
        "child_peak_bytes": measure.child_peak_bytes(),
    }
    start = time.perf_counter()
    outcome = work.outcome()
    hand_over_seconds = time.perf_counter() - start
    return {
        "import_seconds": import_seconds,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "reading_seconds": _reading_seconds(job) if getattr(work, "reads_documents", False) else None,
        "hand_over_seconds": hand_over_seconds,
        "bytes": getattr(work, "bytes", None),
        **memory,
        "peer": {
            "version": importlib.metadata.version(peer.DISTRIBUTION),
            "engine": getattr(peer, "ENGINE", None),
            "ties": (job.ties or work.ties[0]) if job.task == "training" else None,
            "into": job.into,
            "entry_point": work.entry_point,
        },
        "outcome": outcome,
    }


def _work(job: Job, peer: ModuleType) -> Any:
    """Return the task, ready to run: the peer's own class of that name, or ours with its tokenizer."""
    name = job.task.capitalize()
    if hasattr(tasks, name):
        return getattr(tasks, name)(job, peer.Tokenizer)
    task = getattr(peer, name)
    if job.ties is not None and job.ties not in task.ties:
        raise ValueError(f"{job.peer}: ties {job.ties!r} are not known; expected one of {', '.join(task.ties)}")
    return task(job)


def _reading_seconds(job: Job) -> float:
    """Return how long reading, cutting and decoding take alone. Done again afterwards, as a clock inside would cost."""
    start = time.perf_counter()
    collections.deque(read_documents(job.files), maxlen=0)
    return time.perf_counter() - start


def main() -> None:
    """Run as the module's description says."""
    measure.prefer_installed()
    fields = json.load(sys.stdin)
    result = perform(Job(**{**fields, "files": tuple(fields["files"])}))
    Path(sys.argv[1]).write_text(json.dumps(result, default=bytes.hex), encoding="utf-8")


if __name__ == "__main__":
    main()
