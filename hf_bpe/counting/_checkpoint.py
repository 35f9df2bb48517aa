"""The checkpoint folder of counting: finished work as sorted runs, and a manifest of what the runs count.

The manifest has a line for each commit: the finished shards, and the runs with their counts. Each line is written after
the runs that it names are on disk. Runs that no line names, which a killed process has left, are deleted.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
import zlib
from collections import Counter
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from hf_bpe._utils.files import flush
from hf_bpe._utils.input_files import check_shape
from hf_bpe._utils.work_log import LogKind, WorkLog, checksum, open_own
from hf_bpe.counting._error_policy import SKIPPED
from hf_bpe.counting._runs import PIECE, FileRun, Read, Run, RunStream

if TYPE_CHECKING:
    from hf_bpe.counting._sources import Shard

LOG = "manifest.jsonl"
_RUN = re.compile("[0-9]{9}[.]run")
_COMMIT = {"shards": [(str, str)], "runs": {_RUN: (int, int)}, "skipped": SKIPPED}
Commit: TypeAlias = dict[str, Any]  # of the shape of _COMMIT
_KIND = LogKind(LOG, "hf_bpe counting 2", "count", "delete {folder} to count again")


class WorkFolder:
    """Finished shards and their runs, in a folder that is locked against other processes until `close`."""

    def __init__(self, path: str | os.PathLike[str], settings: dict[str, object]) -> None:
        self.path = Path(path)
        self._log = WorkLog(self.path, _KIND, settings, _parse_commit, self._check_runs)
        self._commits = self._log.lines
        self._written: dict[str, tuple[int, int]] = {}  # size and checksum of runs that are not committed yet

    def _check_runs(self, commits: Sequence[Commit]) -> None:
        for name, number in Counter(name for commit in commits for name in commit["runs"]).items():
            if number > 1:
                raise ValueError(f"{self.path / LOG} names {name} {number} times; delete {self.path} to count again")
        for name, (size, crc) in _recorded_runs(commits).items():
            path = self.path / name
            if not os.path.lexists(path):
                raise ValueError(f"{path} is missing; delete {self.path} to count again")
            with open_own(path, "rb") as file:
                if os.fstat(file.fileno()).st_size != size or checksum(file, size) != crc:
                    raise ValueError(f"{path} is damaged; delete {self.path} to count again")

    def delete_leftovers(self) -> None:
        """Delete runs that a killed process has written and not committed."""
        if self._log.is_new:  # the files in the folder are not ours
            return
        named = _recorded_runs(self._commits)
        for path in self.path.iterdir():
            if _RUN.fullmatch(path.name) and path.name not in named and stat.S_ISREG(path.lstat().st_mode):
                path.unlink()

    def close(self) -> None:
        """Unlock the folder."""
        self._log.close()

    def has_finished(self, shard: Shard) -> bool:
        """Return whether a shard was committed as a whole."""
        return any(key == shard.key for commit in self._commits for key, _ in commit["shards"])

    def unfinished(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return the shards that are not counted yet."""
        planned = Counter(shard.key for shard in shards)  # a file that is named twice counts twice
        finished = Counter(key for commit in self._commits for key, _ in commit["shards"])
        for key, name in ((key, name) for commit in self._commits for key, name in commit["shards"]):
            if finished[key] > planned[key]:
                is_there = name in {shard.name for shard in shards}
                why = "has changed, or is read with other options," if is_there else "is not among the sources"
                raise ValueError(f"{name} {why} since it was counted in {self.path}; use another folder to count again")
        left = []
        for shard in shards:
            if finished[shard.key] > 0:
                finished[shard.key] -= 1
            else:
                left.append(shard)
        return left

    def skipped(self) -> dict[str, int]:
        """Return how much was skipped in all commits."""
        total: Counter[str] = Counter()
        for commit in self._commits:
            total.update(commit["skipped"])
        return dict(total)

    def run(self, name: str) -> Run:
        """Return a reader of a run from its beginning; its file is open only while it is read."""
        path = self.path / name
        reader: Read | None = None

        def read(size: int) -> bytes:
            nonlocal reader
            if reader is None:
                file = open_own(path, "rb")
                reader = FileRun(file, 0, os.fstat(file.fileno()).st_size).reader()
            piece = reader(size)
            if not piece:
                reader = BytesIO().read  # releases the file
            return piece

        return read

    def runs(self) -> list[Run]:
        """Return the runs of all commits."""
        return [self.run(name) for commit in self._commits for name in commit["runs"]]

    def write_run(self, merger: RunStream) -> str:
        """Write a run, and return its name for `commit`."""
        last = max(_recorded_runs(self._commits), default="0").removesuffix(".run")
        names = (f"{number:09}.run" for number in itertools.count(int(last) + 1))
        path = next(path for path in map(self.path.joinpath, names) if not os.path.lexists(path))
        with path.open("xb") as file:
            crc = 0
            while piece := merger.read(PIECE):
                crc = zlib.crc32(piece, crc)
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
            self._written[path.name] = file.tell(), crc
        return path.name

    def commit(self, shards: Sequence[Shard], runs: Sequence[str], skipped: dict[str, int]) -> None:
        """Record that the shards are finished and that the runs hold their counts."""
        flush(self.path)  # so that every file that a line names is on disk before the line
        written = {name: self._written.pop(name) for name in runs}
        commit = {"shards": [[shard.key, shard.name] for shard in shards], "runs": written, "skipped": skipped}
        self._log.append(json.dumps(commit))
        self._commits.append(commit)


def _parse_commit(line: str) -> Commit:
    commit: Commit = check_shape(json.loads(line), _COMMIT)
    if not (commit["shards"] and commit["runs"]):
        raise ValueError("expected shards and runs, got none")
    return commit


def _recorded_runs(commits: Sequence[Commit]) -> dict[str, tuple[int, int]]:
    """Return size and checksum of the runs of commits by their names."""
    return {name: tuple(values) for commit in commits for name, values in commit["runs"].items()}
