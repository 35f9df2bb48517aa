"""The place in a program that a warning is about."""

from __future__ import annotations

import sys


def outer_stacklevel() -> int:
    """Return the `stacklevel` by which a warning of the caller names the line that called hf_bpe."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "hf_bpe":
        level, frame = level + 1, frame.f_back
    return level
