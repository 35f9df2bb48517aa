"""Limits on patterns, which keep small files from taking minutes or all memory."""

from __future__ import annotations

__all__ = ["MAX_PATTERN_LENGTH", "MAX_STAGES", "check_pattern_length"]

MAX_PATTERN_LENGTH = 10_000
"""Characters of an expression, and of all expressions of a chain together; the longest in use have 1,100."""

MAX_STAGES = 64
"""Stages of a chain; the longest in use have 5. The native core splits recursively, and has one bit for each."""


def check_pattern_length(length: int) -> None:
    """Raise a ValueError if a pattern has too many characters."""
    if length > MAX_PATTERN_LENGTH:
        raise ValueError(f"a pattern of {length} characters; expected at most {MAX_PATTERN_LENGTH}")
