"""The record of a run in its work folder, from which the same run resumes.

The first line of the log holds the settings; each other line is a shard in place, and where the next one begins.
The log is append-only, and a line is written after the files that it names are on disk.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from hf_bpe._utils.work_log import LogKind, WorkLog
from hf_bpe.counting._error_policy import Skipped
from hf_bpe.tokenizer._token_files.pieces import Piece
from hf_bpe.tokenizer._token_files.shards import ShardRecord

_PATIENCE = 10.0  # seconds, in which the processes of a killed run notice that it is gone
LOG = "encoding.log"  # not the name of a source, in whose folder it may be
_KIND = LogKind(LOG, "hf_bpe encoding 1", "run", "delete {folder} to encode again")


class Position(NamedTuple):
    """A position in the stream of ids of all units.

    Attributes:
        unit, piece: the piece that holds it.
        first: how many ids of the piece are before it.
    """

    unit: int = 0
    piece: int = 0
    first: int = 0


@dataclass
class Totals:
    """Totals of pieces.

    Attributes:
        tokens, documents: how many ids and ends of documents they hold.
        read: stored bytes of the sources.
        skipped: what was skipped in units that are complete.
    """

    tokens: int = 0
    documents: int = 0
    read: int = 0
    skipped: dict[str, int] = field(default_factory=lambda: asdict(Skipped()))

    def plus(self, piece: Piece) -> Totals:
        """Return the totals with another piece."""
        skipped = Skipped(**self.skipped) + (piece.skipped if piece.is_last else Skipped())
        return Totals(
            self.tokens + piece.ids, self.documents + piece.documents, self.read + piece.read, asdict(skipped)
        )


class RunLog:
    """The log of a run; as a context manager, it locks the folder against other processes.

    Args:
        folder: the work folder; created if needed.
        settings: what the token files depend on, as JSON values.

    Raises:
        ValueError, OSError: see `WorkLog`.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self._log = WorkLog(folder, _KIND, settings, _parse, patience=_PATIENCE)
        self._lines = self._log.lines

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    @property
    def records(self) -> list[ShardRecord]:
        """The shards in place."""
        return [ShardRecord(**line["shard"]) for line in self._lines]

    @property
    def position(self) -> Position:
        """Where the next shard begins."""
        return Position(*self._lines[-1]["next"]) if self._lines else Position()

    @property
    def totals(self) -> Totals:
        """The totals of the pieces before the position."""
        return Totals(**self._lines[-1]["totals"]) if self._lines else Totals()

    def commit(self, record: ShardRecord, position: Position, totals: Totals) -> None:
        """Record a shard."""
        line = {"shard": record._asdict(), "next": position, "totals": asdict(totals)}
        self._log.append(json.dumps(line))
        self._lines.append(json.loads(json.dumps(line)))


def _parse(text: str) -> dict[str, Any]:
    line = json.loads(text)
    if not isinstance(line, dict) or not {"shard", "next", "totals"} <= line.keys():
        raise ValueError(f"{line!r} is no shard")
    return line
