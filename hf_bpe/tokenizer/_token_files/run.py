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

from hf_bpe._utils.files import append_line, lock_folder, read_lines
from hf_bpe.counting._error_policy import Skipped
from hf_bpe.tokenizer._token_files.pieces import Piece
from hf_bpe.tokenizer._token_files.shards import ShardRecord

_PATIENCE = 10.0  # seconds, in which the processes of a killed run notice that it is gone
_FORMAT = "hf_bpe encoding 1"
LOG = "encoding.log"  # not the name of a source, in whose folder it may be


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
        ValueError: the folder belongs to another run, or is damaged.
        BlockingIOError: another process uses the folder.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any]) -> None:
        self.folder = folder
        self._path = folder / LOG
        self._lock = lock_folder(folder, _PATIENCE)
        try:
            self._lines = self._begin({"format": _FORMAT, **settings})
        except BaseException:
            self._lock.release()
            raise

    def _begin(self, header: dict[str, Any]) -> list[dict[str, Any]]:
        try:
            lines = [json.loads(line) for line in read_lines(self._path)]
        except ValueError as error:
            raise ValueError(f"{self._path} is damaged ({error}); delete {self.folder} to encode again") from None
        if not lines:
            append_line(self._path, json.dumps(header))
            return []
        if lines[0] != header:
            name = next(name for name in {**lines[0], **header} if lines[0].get(name) != header.get(name))
            raise ValueError(
                f"{self.folder}: expected a run with {name} {header.get(name)!r}, got {lines[0].get(name)!r}; "
                "resume with the same sources and options, or use another folder"
            )
        for line in lines[1:]:
            if not isinstance(line, dict) or not {"shard", "next", "totals"} <= line.keys():
                raise ValueError(
                    f"{self._path} is damaged ({line!r} is no shard); delete {self.folder} to encode again"
                )
        return lines[1:]

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

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
        append_line(self._path, json.dumps(line))
        self._lines.append(json.loads(json.dumps(line)))
