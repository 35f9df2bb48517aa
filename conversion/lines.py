"""Text files read line by line, so that an error has a line number, and no line takes more memory than it can need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_LONGEST = 1 << 20  # characters
_ID = re.compile(r"[0-9]{1,10}", re.ASCII)


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a UTF-8 file without their ends, numbered from 1; a BOM is left out.

    Raises:
        OSError: it cannot be read.
        ValueError: a line is not UTF-8, or longer than a million characters.
    """
    number = 0
    with path.open(encoding="utf-8-sig", errors="surrogateescape") as file:
        while line := file.readline(_LONGEST + 1):
            number += 1
            if len(line) > _LONGEST:
                raise ValueError(f"{path}: line {number}: expected at most {_LONGEST} characters, got more")
            try:
                line.encode()
            except UnicodeEncodeError as error:
                byte = ord(line[error.start]) - 0xDC00
                raise ValueError(
                    f"{path}: line {number}: expected UTF-8, got the byte 0x{byte:02X} after {error.start} characters"
                ) from None
            yield number, line.removesuffix("\n")


def parse_ids(line: str) -> list[int]:
    """Return the ids that stand in a line with white space between; none if anything else stands there.

    >>> parse_ids("97 98"), parse_ids("97 b")
    ([97, 98], [])
    """
    parts = line.split()
    return [*map(int, parts)] if all(map(_ID.fullmatch, parts)) else []
