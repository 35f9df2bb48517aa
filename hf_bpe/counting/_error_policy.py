"""Error policy for malformed input: raise an error with its location, or skip it, count it and log it."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass, fields

from hf_bpe.counting._sources import Shard

_LOGGED = 100  # the number of skips that are logged one by one

logger = logging.getLogger(__name__)


@dataclass
class Skipped:
    """Text left out while reading.

    >>> Skipped(files=1) + Skipped(files=2, shortened=3)
    Skipped(files=3, documents=0, shortened=3)
    """

    files: int = 0  # files of which the rest was skipped; the text before that counts
    documents: int = 0  # skipped lines or rows
    shortened: int = 0  # documents that were cut to `max_document_bytes`

    def __add__(self, other: Skipped) -> Skipped:
        return Skipped(self.files + other.files, self.documents + other.documents, self.shortened + other.shortened)


SKIPPED = {field.name: int for field in fields(Skipped)}
"""The shape of `asdict(Skipped(…))` in a file."""


class ErrorPolicy:
    """Error policy for one pass over a shard, with the position of the pass."""

    def __init__(
        self, shard: Shard, skipped: Skipped, max_bytes: int | None = None, copied: tuple[str, ...] = ()
    ) -> None:
        self.shard = shard
        self.copied = copied  # the columns of records to read besides that of the text
        self.values: tuple[str | None, ...] = ()  # theirs in the record that was read last, in the order of the columns
        # The number of that record: the line after the beginning of the shard, the row, or the element of an iterable.
        self.record = -1
        self.max_bytes = max_bytes  # the most bytes of the file to hold at once; None for no limit except `longest`
        # The most bytes of a line, a row, or text without a safe cut.
        self.longest = min(shard.source.max_line_bytes, sys.maxsize if max_bytes is None else max_bytes)
        self.skipped = skipped
        self.position = 0  # stored bytes of the shard's file that have been read
        self.gave_up = False  # whether the rest of the file is skipped
        self._name = shard.name if shard.is_file else f"source: {shard.name}"

    def leave_out(self, place: str, problem: str, error: type[Exception] = ValueError) -> None:
        """Skip a document, or raise an error for it."""
        self._report(f"{self._name}: {place}: {problem}", error)
        self.skipped.documents += 1

    def give_up(self, problem: str) -> None:
        """Skip the rest of the file, or raise an error for it."""
        if not self.gave_up:  # later problems follow from the first
            self._report(f"{self._name}: {problem}", ValueError)
            self.skipped.files += 1
            self.gave_up = True

    def too_long(self, place: str, what: str) -> str:
        """Return the message for text of more than `longest` bytes, or raise a MemoryError if `max_memory` set that."""
        problem = f"{what} of more than {self.longest} bytes"
        if self.longest < self.shard.source.max_line_bytes:
            raise MemoryError(
                f"{self._name}: {place}: {problem}, the limit by max_memory; give a greater "
                f"max_memory, or skip it with Source(…, max_line_bytes={self.longest}, on_error='skip')"
            )
        return f"{problem}, the limit by max_line_bytes; if the length is intended, give a greater max_line_bytes"

    def _report(self, problem: str, error: type[Exception]) -> None:
        if self.shard.source.on_error == "raise":
            raise error(problem)
        number = self.skipped.files + self.skipped.documents
        if number < _LOGGED:
            logger.warning("skipped: %s", problem)
        elif number == _LOGGED:
            logger.warning("skipped: %s; further skips are counted but not logged", problem)
