"""The checkpoint log of training: the merges learned so far, in a file from which training resumes.

The first line holds the fingerprint of the counts and the options. Each other line is a merge, its two parts in hex.
The file is append-only, so whenever the process ends, every complete line is valid.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_bpe._utils.work_log import LogKind, WorkLog, check_folder
from hf_bpe.core._model import Merge

LOG = "merges.log"
_KIND = LogKind(LOG, "hf_bpe training 1", "training", "delete it to train from scratch")
_SECONDS = 10.0  # of work that an interruption can lose at most


class MergeLog:
    """The log of merges learned so far; `write` flushes it, `close` releases the folder.

    Args:
        folder: the folder of the file; created if it does not exist.
        settings: what the merges depend on, as JSON values.

    Raises:
        ValueError, OSError: see `WorkLog`.
    """

    def __init__(self, folder: str | os.PathLike[str], settings: dict[str, Any]) -> None:
        self._log = WorkLog(Path(folder), _KIND, settings, _parse_merge)
        self.merges = [*self._log.lines]
        self._written = len(self.merges)
        self._last = time.monotonic()

    def add(self, merges: Sequence[Merge]) -> None:
        """Record learned merges; they are written from time to time."""
        self.merges += merges
        if time.monotonic() - self._last >= _SECONDS:
            self.write()

    def close(self) -> None:
        """Release the folder for other processes."""
        self._log.close()

    def write(self) -> None:
        """Write the merges that are not written yet."""
        lines = [f"{first.hex()} {second.hex()}" for first, second in self.merges[self._written :]]
        if lines:
            self._log.append("\n".join(lines))
        self._written = len(self.merges)
        self._last = time.monotonic()


def check_log(folder: Path) -> None:
    """Raise an error, before the text is counted, if another program's file has the name of the log."""
    check_folder(folder, _KIND)


def _parse_merge(line: str) -> Merge:
    first, second = map(bytes.fromhex, line.split(" "))
    return first, second
