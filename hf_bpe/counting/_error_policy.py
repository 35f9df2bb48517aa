"""What becomes of what is wrong in a source: an error that says where, or it is skipped, counted and logged."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass

from hf_bpe.counting._sources import Shard

_LOGGED = 100  # how many are logged one by one

logger = logging.getLogger(__name__)


@dataclass
class Skipped:
    """What has been left out while policy.

    Attributes:
        files: given up at some place; what is before it counts.
        documents: lines or rows left out.
        shortened: documents longer than `max_document_bytes`.

    >>> Skipped(files=1) + Skipped(files=2, shortened=3)
    Skipped(files=3, documents=0, shortened=3)
    """

    files: int = 0
    documents: int = 0
    shortened: int = 0

    def __add__(self, other: Skipped) -> Skipped:
        return Skipped(self.files + other.files, self.documents + other.documents, self.shortened + other.shortened)


class ErrorPolicy:
    """One pass through a shard: how far it has come, and what to do about what is wrong.

    Attributes:
        shard: what is read.
        skipped: counts what is left out.
        position: bytes of the shard's file that have been read, as stored.
        gave_up: whether the rest of the file is left out.
        most_bytes: what may be held of the file at once, None for no limit but `longest`.
        longest: bytes of a line, a row, or text that cannot be cut.
    """

    def __init__(self, shard: Shard, skipped: Skipped, most_bytes: int | None = None) -> None:
        self.shard = shard
        self.most_bytes = most_bytes
        self.longest = min(shard.source.max_line_bytes, sys.maxsize if most_bytes is None else most_bytes)
        self.skipped = skipped
        self.position = 0
        self.gave_up = False
        self._name = shard.name if shard.is_file else f"source: {shard.name}"

    def leave_out(self, place: str, problem: str, error: type[Exception] = ValueError) -> None:
        """Leave out a document, or raise what is wrong with it."""
        self._report(f"{self._name}: {place}: {problem}", error)
        self.skipped.documents += 1

    def give_up(self, problem: str) -> None:
        """Leave out the rest of the file, or raise what is wrong with it."""
        if not self.gave_up:  # what is wrong at its end then follows from that
            self._report(f"{self._name}: {problem}", ValueError)
            self.skipped.files += 1
            self.gave_up = True

    def too_long(self, place: str, what: str) -> str:
        """Say that something has more than `longest` bytes, for `leave_out` or `give_up`.

        Raises:
            MemoryError: it is `max_memory` that does not allow it; that says nothing about the text.
        """
        problem = f"{what} of more than {self.longest} bytes"
        if self.longest < self.shard.source.max_line_bytes:
            raise MemoryError(
                f"{self._name}: {place}: {problem}, which is all that max_memory leaves for one; give a greater "
                f"max_memory, or have it skipped by Source(…, max_line_bytes={self.longest}, on_error='skip')"
            )
        return f"{problem}, the most by max_line_bytes; if it is meant to be so long, give a greater max_line_bytes"

    def _report(self, problem: str, error: type[Exception]) -> None:
        if self.shard.source.on_error == "raise":
            raise error(problem)
        number = self.skipped.files + self.skipped.documents
        if number < _LOGGED:
            logger.warning("skipped: %s", problem)
        elif number == _LOGGED:
            logger.warning("skipped: %s; from here on it is only counted", problem)
