"""The record of a run in its work folder, from which the same run resumes.

The first line of the log holds the settings; each other line is a shard in place, and where the next one begins.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from hf_bpe._utils.input_files import check_shape
from hf_bpe._utils.work_log import LogKind, WorkLog, subfolder
from hf_bpe.counting._error_policy import SKIPPED, Skipped
from hf_bpe.token_files._resume.pieces import EncodedPiece
from hf_bpe.token_files._shards import ShardRecord

_PATIENCE = 10.0  # seconds, in which the processes of a killed run notice that it is gone
LOG = "encoding.log"  # not the name of a source, in whose folder it may be
_PIECES = "pieces"
_SIZES = {re.compile(r"[^/\\]+"): int}
_SHARD = {"files": _SIZES, "tokens": int, "rows": int, "details": {...: object}, "modified": _SIZES}
_TOTALS = {"tokens": int, "documents": int, "read": int, "skipped": SKIPPED}
_LINE = {"shard": _SHARD, "next": (int, int, int), "totals": _TOTALS}
Line: TypeAlias = dict[str, Any]  # of the shape of _LINE
_KIND = LogKind(LOG, "hf_bpe encoding 1", "run", "delete {folder} to encode again", _PATIENCE)


class Position(NamedTuple):
    """A position in the stream of ids of all units."""

    unit: int = 0  # the piece that holds it, by its unit and its number there
    piece: int = 0
    first: int = 0  # how many ids of the piece are before it


@dataclass
class PieceTotals:
    """Totals of pieces."""

    tokens: int = 0  # how many ids and ends of documents they hold
    documents: int = 0
    read: int = 0  # stored bytes of the sources
    # What was skipped in units that are complete
    skipped: dict[str, int] = field(default_factory=lambda: asdict(Skipped()))

    def plus(self, piece: EncodedPiece) -> PieceTotals:
        """Return the totals with another piece."""
        skipped = Skipped(**self.skipped) + (piece.skipped if piece.is_last else Skipped())
        return PieceTotals(
            self.tokens + piece.ids, self.documents + piece.documents, self.read + piece.read, asdict(skipped)
        )


class RunLog:
    """The log of a run, which locks the folder; `check` gets the shards in place before anything is written."""

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, object],
        names: Callable[[int], Sequence[str]],
        units: int,
        check: Callable[[list[ShardRecord]], object],
    ) -> None:
        self.folder, self._names, self._units, self._check_records = folder, names, units, check
        path, self.pieces = folder / LOG, subfolder(folder, _PIECES)
        is_begun = os.path.lexists(path) and (path.is_symlink() or path.stat().st_size > 0)
        if not is_begun and self.pieces.exists() and any(self.pieces.iterdir()):  # of who knows what
            raise ValueError(f"{self.pieces} has files, but {path} is missing; delete {folder} to encode again")
        self._log = WorkLog(folder, _KIND, settings, _parse, self._check)
        self._lines = self._log.lines

    def _check(self, lines: Sequence[Line]) -> None:
        """Check what the lines say about each other and about the run."""
        tokens = 0
        for number, line in enumerate(lines):
            shard, position = line["shard"], Position(*line["next"])
            tokens += shard["tokens"]
            names = {*self._names(number)}
            if (
                {*shard["files"]} != names
                or {*shard["modified"]} != names
                or position.unit >= self._units
                or line["totals"]["tokens"] + position.first != tokens
            ):
                raise ValueError(
                    f"{self.folder / LOG}, line {number + 2} is damaged (it does not follow from the lines before it); "
                    f"delete {self.folder} to encode again"
                )
        self._check_records(_records(lines))

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._log.close()

    @property
    def records(self) -> list[ShardRecord]:
        """The shards in place."""
        return _records(self._lines)

    @property
    def position(self) -> Position:
        """The place where the next shard begins."""
        return Position(*self._lines[-1]["next"]) if self._lines else Position()

    @property
    def totals(self) -> PieceTotals:
        """The totals of the pieces before the position."""
        return PieceTotals(**self._lines[-1]["totals"]) if self._lines else PieceTotals()

    def commit(self, record: ShardRecord, position: Position, totals: PieceTotals) -> None:
        """Record a shard."""
        line = {"shard": record._asdict(), "next": position, "totals": asdict(totals)}
        self._log.append(json.dumps(line))
        self._lines.append(json.loads(json.dumps(line)))


def _records(lines: Sequence[Line]) -> list[ShardRecord]:
    return [ShardRecord(**line["shard"]) for line in lines]


def _parse(text: str) -> Line:
    line: Line = check_shape(json.loads(text), _LINE)
    return line
