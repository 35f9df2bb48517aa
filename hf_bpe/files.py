"""Writing files so that a crash at any moment leaves each old file whole."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def staged_folder(folder: str | os.PathLike[str], last: str = "") -> Iterator[Path]:
    """Give an empty folder to write files in, and move them into `folder` once all are written.

    Each file is flushed to the disk and then renamed, so every file in `folder` is at any time the old or the new one,
    whole; the one named `last` is renamed last. If the body raises, `folder` stays as it was. Folders in it are merged.
    A process that is killed leaves its `.saving-…` folder behind, which may be deleted.

    Raises:
        NotADirectoryError: `folder` exists and is a file.
        OSError: what writing raises.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{str(folder)!r} is a file; expected a folder to save in")
    made = [folder for folder in (target, *target.parents) if not folder.exists()]
    target.mkdir(parents=True, exist_ok=True)
    try:
        # In the same folder, hence on the same file system: a rename there is atomic.
        with tempfile.TemporaryDirectory(prefix=".saving-", dir=target) as name:
            staging = Path(name)
            yield staging
            written = sorted(filter(Path.is_file, staging.rglob("*")), key=lambda path: path.name == last)
            for path in written:
                flush(path)
            for path in written:
                destination = target / path.relative_to(staging)
                destination.parent.mkdir(parents=True, exist_ok=True)
                path.replace(destination)
            for parent in {path.parent for path in written}:
                flush(target / parent.relative_to(staging))
    except BaseException:
        for folder in made:
            with suppress(OSError):  # not empty: something was moved into it before the failure, and stays
                folder.rmdir()
        raise


def write_atomically(path: Path, text: str) -> None:
    """Write a text file as UTF-8 with Unix line ends, whole or not at all."""
    with staged_folder(path.parent) as staging:
        (staging / path.name).write_text(text, encoding="utf-8", newline="\n")


def flush(path: Path) -> None:
    """Have the system write a file, or a folder's list of names, to the disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows opens no folders
    descriptor = os.open(path, os.O_RDWR if path.is_file() and os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def append_line(path: Path, line: str) -> None:
    """Add a line to a file, which is made if need be, and have the system write it to the disk.

    A crash may leave a part of the line, which `read_lines` takes away.
    """
    is_new = not path.exists()
    with path.open("ab") as file:
        file.write(line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        flush(path.parent)


def read_lines(path: Path) -> list[str]:
    """Return the lines that `append_line` has written, and take away a last one that is not whole."""
    if not path.exists():
        return []
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)
    return data[:whole].decode().split("\n")[:-1]
