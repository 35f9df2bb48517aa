"""All formats, and the doors to them: what is this file, read it, write it."""

from __future__ import annotations

from pathlib import Path

from hf_bpe.conversion.definition import Format

FORMATS: dict[str, Format] = {}
"""Name → format, in the order in which a path is asked what it is: the more particular first."""


def detect(path: Path) -> Format:
    """Return the format of a file or folder, told by its content.

    Raises:
        OSError: it cannot be read.
        ValueError: it is of no format that is known here.
    """
    raise NotImplementedError
