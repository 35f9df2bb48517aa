"""The log of a work folder: which work it is, and a line for each part that is finished, from which the work resumes.

The log is append-only, and a line is written after the data it names is on disk. So whenever the process ends, every
complete line is valid; an incomplete last line is ignored, and removed when the next line is written.

A user may name any folder. Nothing in it is changed before its log, if there is one, is known to be of the same work.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.files import flush, is_other_file
from hf_bpe._utils.input_files import check_regular, open_checked
from hf_bpe._utils.paths import check_output

if TYPE_CHECKING:
    from filelock import FileLock

Line = TypeVar("Line")

_LOCK = "lock"
_PIECE = 1 << 20  # bytes to read at once


class LogKind(NamedTuple):
    """A kind of log."""

    name: str  # the name of the file
    format: str  # the first value of the first line, which tells our log from another file of this name
    work: str  # what the log is of, for messages
    again: str  # how to start over, for messages, with `{path}` and `{folder}`
    patience: float = 0  # how many seconds to wait for another process


class WorkLog(Generic[Line]):
    """An open log; it locks the folder against other processes until `close`.

    Args:
        folder: the work folder; created if needed.
        kind: the kind of log.
        settings: what the work depends on, as JSON values; none is called "format".
        parse: returns the value of a line; raises a ValueError for a damaged one.
        check: called with the values of all lines before anything is written.

    Attributes:
        lines: the values of the complete lines after the first.
        is_new: whether there was no log.

    Raises:
        ValueError: the folder is a URL; the log is of other work, is damaged, or is the file of another program.
        BlockingIOError: another process, or another call in this process, uses the folder.
        OSError: the log cannot be read or written, or is not a regular file; symbolic links are not followed.
    """

    def __init__(
        self,
        folder: Path,
        kind: LogKind,
        settings: Mapping[str, Any],
        parse: Callable[[str], Line],
        check: Callable[[Sequence[Line]], object] = len,
    ) -> None:
        self.path, self._folder, self._kind = folder / kind.name, folder, kind
        assert "format" not in settings, "the format is that of the log"
        header = {"format": kind.format, **settings}
        self._file: FileIO | None = None
        check_output("work_dir", folder).mkdir(parents=True, exist_ok=True)
        self._lock = _locked(folder / _LOCK, kind.patience)
        try:
            self.lines = self._open(header, parse)
            check(self.lines)
            self.is_new = self._end == 0
            if self.is_new:
                self.append(json.dumps(header))
        except BaseException:
            self.close()
            raise

    def _open(self, header: Mapping[str, Any], parse: Callable[[str], Line]) -> list[Line]:
        """Open the file, if it is there, and return the values of its lines after checks of everything."""
        self._end = 0  # of the complete lines
        if not os.path.lexists(self.path):
            return []
        self._file = open_own(self.path, "r+b")
        lines = _lines(self._file, self.path, self._kind)
        self._end = sum(len(line) + 1 for line in lines)
        return _parse_all(lines, self.path, self._kind, parse, lambda settings: self._check_same(settings, header))

    def _check_same(self, settings: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        for name in {**settings, **header}:
            if settings.get(name) != header.get(name):
                raise _OtherWork(
                    f"{self.path}: expected a {self._kind.work} with {name} {header.get(name)!r:.240}, got "
                    f"{settings.get(name)!r:.240}; resume with the same input and options, or use another folder"
                )

    def append(self, text: str) -> None:
        """Append one or several lines, and flush them to disk.

        An error, such as a full disk, leaves no part of them, because the next line would be appended to it.
        """
        is_new = self._file is None
        if self._file is None:
            self._file = open_own(self.path, "x+b")
        file = self._file
        file.truncate(self._end)  # without an incomplete line
        file.seek(self._end)
        data = text.encode() + b"\n"
        unwritten = memoryview(data)
        try:
            while unwritten:
                unwritten = unwritten[file.write(unwritten) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(self._end)
            raise
        self._end += len(data)
        if is_new:
            flush(self._folder)

    def close(self) -> None:
        """Release the folder for other processes."""
        if self._file is not None:
            self._file.close()
        if self._lock.is_locked:
            with suppress(OSError):  # Windows cannot delete an open file; there the release deletes it
                (self._folder / _LOCK).unlink()
        self._lock.release()


class _OtherWork(ValueError):
    """The log is whole, but of other work."""


def check_log(folder: Path, kind: LogKind, parse: Callable[[str], object]) -> None:
    """Raise the errors of `WorkLog` for another program's file and for damaged lines; write nothing."""
    path = folder / kind.name
    if os.path.lexists(path):
        with open_own(path, "rb") as file:
            _parse_all(_lines(file, path, kind), path, kind, parse)


def _lines(file: FileIO, path: Path, kind: LogKind) -> list[bytes]:
    """Return the complete lines of a log; raise a ValueError if it begins in another way, before the rest is read."""
    mark = json.dumps({"format": kind.format})[:-1].encode()
    beginning = file.read(len(mark))
    file.seek(0)
    if beginning and beginning != mark:
        raise ValueError(
            f"{path}, line 1: expected the log of a {kind.work}, which begins with {mark.decode()}, got "
            f"{short_repr(beginning)}; it is another program's or version's: use another folder"
        )
    return file.read().split(b"\n")[:-1]


def _parse_all(
    lines: list[bytes],
    path: Path,
    kind: LogKind,
    parse: Callable[[str], Line],
    check_header: Callable[[dict[str, Any]], object] = len,
) -> list[Line]:
    """Return the values of the lines after the first."""
    parsed: list[Line] = []
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode()
            if number == 1:
                check_header(json.loads(text))
            else:
                parsed.append(parse(text))
        except _OtherWork as error:
            raise ValueError(str(error)) from None
        except (ValueError, RecursionError) as error:
            again = kind.again.format(path=path, folder=path.parent)
            raise ValueError(f"{path}, line {number} is damaged ({error}); {again}") from None
    return parsed


def subfolder(folder: Path, name: str) -> Path:
    """Return the path of a folder in a work folder; refuse a file, and a link, whose target may be anywhere."""
    path = folder / name
    if name and os.path.lexists(path) and not stat.S_ISDIR(path.lstat().st_mode):
        raise NotADirectoryError(f"{path} is a link or a file; expected a folder: use another work_dir")
    return path


def open_own(path: Path, mode: Literal["rb", "r+b", "x+b"]) -> FileIO:
    """Open a file of ours without buffering: a regular file, never the target of a symbolic link."""
    if os.path.lexists(path):
        check_regular(path, path.lstat().st_mode)
    file: FileIO = open_checked(path, mode, 0, getattr(os, "O_NOFOLLOW", 0))
    return file


def checksum(file: FileIO, size: int) -> int:
    """Return the CRC-32 of the next bytes of a file, or of what is there; it tells damage, not forgery."""
    crc = 0
    while size > 0 and (piece := file.read(min(size, _PIECE))):
        crc = zlib.crc32(piece, crc)
        size -= len(piece)
    return crc


def _locked(path: Path, patience: float) -> FileLock:
    if is_other_file(path):
        raise BlockingIOError(
            f"{path} has content, so it is of another program, or of another process on a file system without locks; "
            "use another folder, or delete it if there is no such process"
        )
    from filelock import FileLock, Timeout  # most programs lock nothing

    lock = FileLock(path, timeout=patience)
    try:
        lock.acquire()
    except Timeout:
        raise BlockingIOError(
            f"{path.parent}: another process uses this folder; wait, or choose another folder"
        ) from None
    return lock
