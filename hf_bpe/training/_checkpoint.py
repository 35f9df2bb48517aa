"""The merges of a training under way, in a file that it can be gone on from.

The first line says what they are learned from and by which options. Each other line is a merge, its two parts in hex.
The file is only ever added to, so whatever ends the process, every whole line is true.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_bpe._utils.files import append_line, lock_folder, read_lines

_FORMAT = "hf_bpe training 1"
_SECONDS = 10.0  # of work that is lost at most

Merge = tuple[bytes, bytes]


class MergeLog:
    """Merges learned so far; `write` writes what is not written yet, `close` lets other processes in.

    Args:
        folder: where the file is; made if need be.
        settings: what the merges depend on; as JSON has it.

    Raises:
        ValueError: the file is of another training, or damaged.
        BlockingIOError: another process is at work in the folder.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self._path = Path(folder) / "merges.log"
        self._lock = lock_folder(self._path.parent)
        try:
            self._begin({"format": _FORMAT, **settings})
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, header: dict[str, Any]) -> None:
        path = self._path
        try:
            lines = read_lines(path)
            found = json.loads(lines[0]) if lines else header
            self.merges = [_merge_of(line) for line in lines[1:]]
        except ValueError as error:
            raise ValueError(f"{path} is damaged ({error}); delete it to train anew") from None
        for name in {**found, **header}:
            if found.get(name) != header.get(name):
                raise ValueError(
                    f"{path} is of a training with {name} {found.get(name)!r}, not {header.get(name)!r}; "
                    "go on with the same text and options, or delete it to train anew"
                )
        if not lines:
            append_line(path, json.dumps(header))
        self._written = len(self.merges)
        self._last = time.monotonic()

    def add(self, merges: Sequence[Merge]) -> None:
        """Note merges that were learned; they are written now and then."""
        self.merges += merges
        if time.monotonic() - self._last >= _SECONDS:
            self.write()

    def close(self) -> None:
        """Let other processes work in the folder."""
        self._lock.release()

    def write(self) -> None:
        """Write what is not written yet."""
        lines = [f"{first.hex()} {second.hex()}" for first, second in self.merges[self._written :]]
        if lines:
            append_line(self._path, "\n".join(lines))
        self._written = len(self.merges)
        self._last = time.monotonic()


def _merge_of(line: str) -> Merge:
    first, second = map(bytes.fromhex, line.split(" "))
    return first, second
