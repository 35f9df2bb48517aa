"""Available memory, the memory of this process, and amounts of memory as text."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hf_bpe._utils.arguments import check_int, short_repr, wrong_type

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

_MAX_BYTES = 2**63 - 1  # bytes; no machine has as many


def parse_bytes(amount: int | str, name: str) -> int:
    """Return an amount of memory in bytes, given as a number or as text: "500MB", "1.5 GB", "2GiB".

    >>> parse_bytes("1.5 GB", "max_memory"), parse_bytes("2KiB", "max_memory")
    (1500000000, 2048)
    """
    if isinstance(amount, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?i?)b?\s*", amount, re.IGNORECASE)
        if match is None or match[2].lower() not in _UNITS:
            raise ValueError(
                f"{name}: expected a number of bytes, or text such as '2GB' or '500MiB', got {short_repr(amount)}"
            )
        return int(min(float(match[1]) * _UNITS[match[2].lower()], _MAX_BYTES))
    try:
        return min(check_int(name, amount, 1), _MAX_BYTES)
    except TypeError:
        raise wrong_type(name, "a number of bytes, or text such as '2GB'", amount) from None


def format_bytes(amount: int) -> str:
    """Return an amount of memory as text, such as "1.5 GB"."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount} byte{'' if amount == 1 else 's'}"


def resident_bytes() -> int:
    """Return the resident size of this process in bytes; where it is unknown, the peak size, or 0."""
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS
    if not sys.platform.startswith("linux"):
        return peak
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:  # it is not mounted
        return peak * 1024


def available_bytes() -> int | None:
    """Return how much more memory this process may take before the system kills a process; None if unknown.

    This is the minimum of Linux's available memory and what the control group of a container leaves.
    """
    if not sys.platform.startswith("linux"):
        return None
    try:
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    except OSError:  # it is not mounted
        return None
    available = int(fields["MemAvailable"].split()[0]) * 1024
    group = Path("/sys/fs/cgroup")
    try:
        cached = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())["inactive_file"]
        used = int((group / "memory.current").read_text()) - int(cached)
        available = min(available, int((group / "memory.max").read_text()) - used)
    except (OSError, ValueError, KeyError):  # no such control group, or its limit is "max"
        pass
    return max(available, 0)
