"""The checkpoint log of training: the merges learned so far, in a file from which training resumes.

The first line holds the fingerprint of the counts and the options. Each other line is a merge, its two parts in hex.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hf_bpe._utils.work_log import LogKind, WorkLog, check_log, subfolder
from hf_bpe.core._model import Merge

LOG = "merges.log"
_KIND = LogKind(LOG, "hf_bpe training 1", "training", "delete it to train from scratch")
_SECONDS = 10.0  # of work that an interruption can lose at most


class MergeLog:
    """The log of merges learned so far; `write` flushes it, `close` releases the folder."""

    def __init__(
        self,
        folder: str | os.PathLike[str],
        settings: dict[str, object],
        initial: Sequence[Merge] = (),
        characters: str | None = None,
    ) -> None:
        self._log = WorkLog(Path(folder), _KIND, settings, _parser_of_merges(initial, characters))
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


def check_logs(folder: Path, initial: Sequence[Merge], subfolders: Iterable[str], *, are_bytes: bool = True) -> None:
    """Raise the errors of opening the logs of a folder and its subfolders, before the text is counted."""
    check_log(folder, _KIND, _parser_of_merges(initial) if are_bytes else str)  # characters are not known yet
    for name in subfolders:
        check_log(subfolder(folder, name), _KIND, str)  # the merges before them are not known yet


def _parser_of_merges(initial: Sequence[Merge], characters: str | None = None) -> Callable[[str], Merge]:
    """Return what parses the lines of a log in their order; it raises a ValueError for a merge that cannot be."""
    tokens = {bytes([byte]) for byte in range(256)} if characters is None else {*map(str.encode, characters)}
    tokens |= {first + second for first, second in initial}
    pairs: set[Merge] = set()

    def parse(line: str) -> Merge:
        first, second = map(bytes.fromhex, line.split(" "))
        if first not in tokens or second not in tokens or (first, second) in pairs:
            raise ValueError(f"the merge {line!r} cannot be learned after the lines before it")
        tokens.add(first + second)
        pairs.add((first, second))
        return first, second

    return parse
