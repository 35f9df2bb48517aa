"""Limits on patterns and normalizers, which keep small files from taking minutes or all memory."""

from __future__ import annotations

__all__ = ["MAX_GROWTH", "MAX_NORMALIZED_BYTES", "MAX_PATTERN_LENGTH", "MAX_STAGES", "check_pattern_length"]

MAX_PATTERN_LENGTH = 10_000
"""Characters of an expression, and of all expressions of a chain together; the longest in use have 1,100."""

MAX_STAGES = 64
"""Stages of a chain, and normalizers of a Sequence; the longest in use have 5. The native core splits recursively, and
has one bit for each."""

MAX_GROWTH = 256
"""How many times as long normalizers may make a character, in UTF-8; NFKC, the most of a single one, makes it 11 times
as long."""

MAX_NORMALIZED_BYTES = 1 << 30
"""How long a text may become when it is normalized; `tokenizers` holds 17 bytes for each of these."""


def check_pattern_length(length: int) -> None:
    """Raise a ValueError if a pattern has too many characters."""
    if length > MAX_PATTERN_LENGTH:
        raise ValueError(f"a pattern of {length} characters; expected at most {MAX_PATTERN_LENGTH}")
