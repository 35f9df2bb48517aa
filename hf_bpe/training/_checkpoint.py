"""The checkpoint log of training: the merges learned so far, in a file from which training resumes.

The first line holds the fingerprint of the counts and the options. Each other line is a merge, its two parts in hex.
The file is append-only, so whenever the process ends, every complete line is valid.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_bpe._utils.files import append_line, lock_folder, read_lines
from hf_bpe.core._model import Merge

_FORMAT = "hf_bpe training 1"
LOG = "merges.log"
_SECONDS = 10.0  # of work that an interruption can lose at most


class MergeLog:
    """The log of merges learned so far; `write` flushes it, `close` releases the folder.

    Args:
        folder: the folder of the file; created if it does not exist.
        settings: what the merges depend on, as JSON values.

    Raises:
        ValueError: the file belongs to another training, or is damaged.
        BlockingIOError: another process uses the folder.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self._path = Path(folder) / LOG
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
            raise ValueError(f"{path} is damaged ({error}); delete it to train from scratch") from None
        for name in {**found, **header}:
            if found.get(name) != header.get(name):
                raise ValueError(
                    f"{path}: expected a training with {name} {header.get(name)!r}, got {found.get(name)!r}; "
                    "resume with the same text and options, or delete it to train from scratch"
                )
        if not lines:
            append_line(path, json.dumps(header))
        self._written = len(self.merges)
        self._last = time.monotonic()

    def add(self, merges: Sequence[Merge]) -> None:
        """Record learned merges; they are written from time to time."""
        self.merges += merges
        if time.monotonic() - self._last >= _SECONDS:
            self.write()

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.release()

    def write(self) -> None:
        """Write the merges that are not written yet."""
        lines = [f"{first.hex()} {second.hex()}" for first, second in self.merges[self._written :]]
        if lines:
            append_line(self._path, "\n".join(lines))
        self._written = len(self.merges)
        self._last = time.monotonic()


def _merge_of(line: str) -> Merge:
    first, second = map(bytes.fromhex, line.split(" "))
    return first, second
