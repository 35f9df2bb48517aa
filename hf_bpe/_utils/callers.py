"""Warnings about a place in the program that calls hf_bpe."""

from __future__ import annotations

import sys
import warnings

_PACKAGES = ("hf_bpe", "transformers")  # whose classes call those of the other


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the line of the program that called hf_bpe."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
