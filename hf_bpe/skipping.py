"""What becomes of what is wrong in a source: an error that says where, or it is skipped, counted and logged."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from hf_bpe.corpus import Shard

_LOGGED = 100  # how many are logged one by one

logger = logging.getLogger(__name__)


@dataclass
class Skipped:
    """What has been left out while reading.

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


class Reading:
    """One pass through a shard: how far it has come, and what to do about what is wrong.

    Attributes:
        shard: what is read.
        skipped: counts what is left out.
        position: bytes of the shard's file that have been read, as stored.
        gave_up: whether the rest of the file is left out.
    """

    def __init__(self, shard: Shard, skipped: Skipped) -> None:
        self.shard = shard
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

    def _report(self, problem: str, error: type[Exception]) -> None:
        if self.shard.source.on_error == "raise":
            raise error(problem)
        number = self.skipped.files + self.skipped.documents
        if number < _LOGGED:
            logger.warning("skipped: %s", problem)
        elif number == _LOGGED:
            logger.warning("skipped: %s; from here on it is only counted", problem)
