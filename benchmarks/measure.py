"""Measurements of a process by itself."""

from __future__ import annotations

import os
import resource
import sys
import time
from pathlib import Path


def prefer_installed() -> None:
    """Import hf_bpe as installed: `python -m` puts the clone in front, where it lies without its native module."""
    clone = str(Path(__file__).resolve().parent.parent)
    sys.path[:] = [*(path for path in sys.path if path not in ("", clone)), clone]


def pin(threads: int) -> None:
    """Keep this process and its threads on as many cores as it may use threads, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def peak_bytes() -> int:
    """Return the largest resident memory this process has had.

    Not `ru_maxrss` on Linux: a process inherits that from the one that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return _maxrss_bytes(resource.RUSAGE_SELF)


def live_bytes() -> int:
    """Return the resident memory of this process now; where it is unknown, the peak."""
    status = Path("/proc/self/status")
    if not status.exists():
        return peak_bytes()
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1]) * 1024


def child_peak_bytes() -> int:
    """Return the largest resident memory of any one process this one has forked and waited for, 0 if none.

    A forked process shares pages with its parent, so this cannot be added to `peak_bytes`.
    """
    return _maxrss_bytes(resource.RUSAGE_CHILDREN)


def cpu_seconds() -> float:
    """Return the processor time of this process, its threads and the processes it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def _maxrss_bytes(who: int) -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit
