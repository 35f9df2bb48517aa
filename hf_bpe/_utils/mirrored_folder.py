"""A work folder on an object store: a local one, which is copied there again and again while it is used.

Work folders have append-only logs, and files that do not change once a log or their names say that they are whole.
A copy takes the logs as they are, then the other files, and last an object that lists them and holds these logs. So
what is there at any moment is a folder that a killed process could have left, and work resumes from it on any machine.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hf_bpe._utils.object_stores import StorageOptions, download, exists, fetch, join, remove, sizes, transfer, upload
from hf_bpe._utils.shapes import check_shape

_STATE = "mirror.json"
_FORMAT = "hf_bpe mirror 1"
_NAME = re.compile(r"(?:[^/\\.][^/\\]*/)*[^/\\.][^/\\]*")  # nothing outside of the folder
_SHAPE: dict[Any, Any] = {"format": str, "owner": str, "logs": {_NAME: str}, "files": {_NAME: (int, int)}}
_EVERY = 60.0  # seconds between copies

logger = logging.getLogger(__name__)


@contextmanager
def mirrored_folder(url: str, logs: Sequence[str], options: StorageOptions | None = None) -> Iterator[Path]:
    """Yield a local folder with what is in a folder on an object store, where it is copied each minute and at the end.

    Hidden files, locks and files that are being written are not copied. If another process begins with the same
    folder, this one goes on without copying.

    Args:
        url: the folder on the object store.
        logs: the names of the logs.
        options: see `file_system`.

    Raises:
        OSError: the store cannot be reached.
        ValueError: there are files of who knows what.
    """
    with tempfile.TemporaryDirectory(prefix="hf_bpe-") as folder:
        mirror = _Mirror(Path(folder), url, logs, options)
        mirror.restore()
        is_done = threading.Event()

        def copy_again_and_again() -> None:
            while not is_done.wait(_EVERY) and mirror.is_ours:
                mirror.try_to_copy()

        thread = threading.Thread(target=copy_again_and_again, daemon=True)
        thread.start()
        try:
            yield Path(folder)
        finally:
            is_done.set()
            thread.join()
            mirror.try_to_copy()


def has_copy(url: str, options: StorageOptions | None = None) -> bool:
    """Return whether a work folder was copied to a URL."""
    return exists(join(url, _STATE), options)


class _Mirror:
    def __init__(self, folder: Path, url: str, logs: Sequence[str], options: StorageOptions | None) -> None:
        self._folder, self._url, self._logs, self._options = folder, url, logs, options
        self._owner = secrets.token_hex(8)
        self._there: dict[str, tuple[int, int]] = {}  # name → size and time of what is on the store
        self.is_ours = True

    def restore(self) -> None:
        """Copy what is on the store to the folder, and take the place of a process that used it before."""
        found = sizes(self._url, self._options)
        if found and _STATE not in found:
            raise ValueError(f"{self._url} has files and no {_STATE}, so they are not ours; use another folder")
        logs: dict[str, str] = {}
        if _STATE in found:
            state = self._state()
            logs = state["logs"]
            # A file that has another size was being copied; what the logs say about it decides.
            self._there = {
                name: (size, time) for name, (size, time) in state["files"].items() if found.get(name) == size
            }
        pairs = [(self._folder / name, join(self._url, name)) for name in self._there]
        transfer(fetch, pairs, self._options)
        for name, (_, time) in self._there.items():
            os.utime(self._folder / name, ns=(time, time))
        for name, text in logs.items():
            (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self._folder / name).write_bytes(text.encode())
        self._write_state(logs, self._there)

    def try_to_copy(self) -> None:
        """Copy the folder; log a warning if that fails, because the work itself does not need the copy."""
        try:
            if self.is_ours:
                self._copy()
        except Exception as error:
            logger.warning("%s is not up to date: %s", self._url, error)

    def _copy(self) -> None:
        while True:
            logs = self._log_texts()
            files = self._files()
            if self._log_texts() != logs:
                continue  # what they name may have been deleted meanwhile, because a newer line does not need it
            new = [name for name in files if self._there.get(name) != files[name]]
            try:
                for name in new:
                    self._there.pop(name, None)
                transfer(upload, ((self._folder / name, join(self._url, name)) for name in new), self._options)
            except FileNotFoundError:
                if all((self._folder / name).exists() for name in new):
                    raise
                continue  # files that are not needed any more were deleted meanwhile: begin again with a newer log
            break
        if self._state()["owner"] != self._owner:
            self.is_ours = False
            logger.warning("%s is used by another process now; this one goes on without it", self._url)
            return
        old = {*self._there} - {*files}
        self._there = files
        self._write_state(logs, files)
        for name in old:
            remove(join(self._url, name), self._options)

    def _log_texts(self) -> dict[str, str]:
        paths = {name: self._folder / name for name in self._logs}
        return {name: path.read_bytes().decode() for name, path in paths.items() if path.exists()}

    def _files(self) -> dict[str, tuple[int, int]]:
        files = {}
        for path in self._folder.rglob("*"):
            name = path.relative_to(self._folder)
            is_open = path.suffix == ".part" or any(part.startswith(".") for part in name.parts)
            if is_open or name.name == "lock" or name.as_posix() in self._logs:
                continue
            with suppress(FileNotFoundError):
                status = path.stat()
                if path.is_file():
                    files[name.as_posix()] = status.st_size, status.st_mtime_ns
        return files

    def _state(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, _STATE)
            download(join(self._url, _STATE), path, self._options)
            try:
                state: dict[str, Any] = check_shape(json.loads(path.read_bytes()), _SHAPE)
                if state["format"] != _FORMAT:
                    raise ValueError(f"its format is not {_FORMAT!r}")
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{join(self._url, _STATE)} is damaged ({error}); delete {self._url} to start over"
                ) from None
        return state

    def _write_state(self, logs: dict[str, str], files: dict[str, tuple[int, int]]) -> None:
        state = {"format": _FORMAT, "owner": self._owner, "logs": logs, "files": files}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, _STATE)
            path.write_text(json.dumps(state), encoding="utf-8")
            upload(path, join(self._url, _STATE), self._options)
