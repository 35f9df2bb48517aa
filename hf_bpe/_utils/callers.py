"""The place in a program that a warning is about."""

from __future__ import annotations

import sys

_PACKAGES = ("hf_bpe", "transformers")  # whose classes call those of the other


def outer_stacklevel() -> int:
    """Return the `stacklevel` by which a warning of the caller names the line of the program that called hf_bpe."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        level, frame = level + 1, frame.f_back
    return level
