"""Atomic file writing: whenever the process ends, each file is whole and files of two saves are never mixed."""

from __future__ import annotations

import filecmp
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from hf_bpe._utils.input_files import check_regular
from hf_bpe._utils.paths import check_output

_LOCK = ".saving.lock"
_PREFIX = ".saving-"
_PATIENCE = 600.0  # seconds; moving files takes a fraction of one
_COMPARED_BYTES = 1 << 26

# A staging folder holds the new files, the old files while the new ones are moved into place, and its process's lock.
_NEW, _OLD, _ALIVE = "new", "old", "lock"


@contextmanager
def staged_folder(folder: str | os.PathLike[str], last: Sequence[str] = ()) -> Iterator[Path]:
    """Yield an empty folder to write files in, and move the files into `folder` once all are on disk.

    If the body raises, or a file cannot be moved, `folder` stays as it was. Subfolders are merged.

    A process may be killed at any moment. If at most one file changes, renames replace the old files. If several
    change, the old files in `last` are moved away first, in reverse order; then the others are replaced, and the new
    ones in `last` put in place. So a reader that needs a file in `last` sees the old set or the new set, or finds that
    file missing.

    Saves into one folder wait for each other while they move files. A killed process leaves a folder `.saving-…`, which
    the next save deletes unless it holds the only copy of an old file.

    Args:
        folder: the target folder; created if it does not exist.
        last: the files that some reader requires, as paths relative to `folder`, in the order in which they are moved
            into place.

    Raises:
        ValueError, OSError: `folder` is a URL, a file or a link, cannot be written, or has been locked for ten minutes.
    """
    target = Path(check_output("path", folder))
    if target.exists() and not target.is_dir():
        raise NotADirectoryError(f"{str(folder)!r} is a file; expected a folder to save in")
    made = [folder for folder in (target, *target.parents) if not folder.exists()]
    target.mkdir(parents=True, exist_ok=True)
    try:
        with _staging_in(target) as staging:
            new = staging / _NEW
            yield new
            names = [path.relative_to(new).as_posix() for path in new.rglob("*") if path.is_file()]
            names.sort(key=lambda name: (last.index(name) if name in last else -1, name))
            for name in names:
                flush(new / name)
            _check_no_links(target, names)
            with lock_moves(target) as is_alone:
                _move(staging, target, names, last)
                if is_alone:
                    _delete_leftovers(target)
    except BaseException:
        for folder in made:
            with suppress(OSError):  # not empty: another process has written into it
                folder.rmdir()
        raise


@contextmanager
def scratch_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder in `folder`, and delete it afterwards; if the process is killed, the next save does."""
    with _staging_in(folder) as staging:
        yield staging / _NEW


def interrupted_save(folder: Path, name: str) -> Path | None:
    """Return the staged path of the last file of a save into a folder, if it was not moved into place, or None."""
    if not folder.is_dir() or (folder / name).exists():
        return None
    waiting = (staging / _NEW / name for staging in folder.glob(f"{_PREFIX}*") if (staging / _OLD).is_dir())
    return next(filter(Path.is_file, waiting), None)


@contextmanager
def _staging_in(target: Path) -> Iterator[Path]:
    """Yield a folder in `target`, so on the same file system, where a rename is atomic; delete it afterwards."""
    with lock_moves(target) as is_alone:
        if is_alone:  # else this might delete a folder that another process has made and not locked yet
            _delete_leftovers(target)
        staging = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=target))
        from filelock import FileLock  # here and below, because most programs lock nothing

        alive = FileLock(staging / _ALIVE, timeout=0)
        with suppress(NotImplementedError, OSError):  # a file system without locks, where no process cleans up either
            alive.acquire()
    try:
        (staging / _NEW).mkdir()
        yield staging
    finally:
        alive.release()
        with suppress(FileNotFoundError):  # now that it is released, another save may be deleting the folder
            if not _is_needed(staging, target):
                shutil.rmtree(staging, ignore_errors=True)


def _check_no_links(target: Path, names: Sequence[str]) -> None:
    """Raise an error if a subfolder to write in is a symbolic link, whose target may be anywhere."""
    for folder in {target / parent for name in names for parent in Path(name).parents if parent.name}:
        if folder.is_symlink():
            raise NotADirectoryError(f"{folder} is a symbolic link; files are only written inside {target}: delete it")


def _move(staging: Path, target: Path, names: Sequence[str], last: Sequence[str]) -> None:
    """Move the new files into place, in the order of `names`; put the old ones back if one cannot be moved."""
    new, old = staging / _NEW, staging / _OLD
    folders = {(target / name).parent for name in names}
    undo: list[tuple[Path, Path]] = []  # renames, to be done in reverse order
    try:
        if sum(not _are_equal(new / name, target / name) for name in names) > 1:
            old.mkdir()
            for name in reversed(names):
                if os.path.lexists(target / name) and not (target / name).is_dir():
                    _set_aside(target / name, old / name, keep=name not in last)
                    undo.append((old / name, target / name))
            for folder in filter(Path.is_dir, folders):
                flush(folder)
        for name in names:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            is_free = not os.path.lexists(target / name)
            (new / name).replace(target / name)
            if is_free:
                undo.append((target / name, new / name))
        for folder in folders:
            flush(folder)
    except BaseException:
        for source, destination in reversed(undo):
            with suppress(OSError):  # an old file that cannot be put back stays in the staging folder
                source.replace(destination)
        raise


def _set_aside(path: Path, aside: Path, *, keep: bool) -> None:
    """Move a file; with `keep`, make a hard link instead where the file system has them."""
    aside.parent.mkdir(parents=True, exist_ok=True)
    if keep and not path.is_symlink():
        with suppress(OSError, NotImplementedError):
            os.link(path, aside)
            return
    path.replace(aside)


def _are_equal(path: Path, other: Path) -> bool:
    """Return whether two files are known to be equal; large files are not compared."""
    return other.is_file() and path.stat().st_size <= _COMPARED_BYTES and filecmp.cmp(path, other, shallow=False)


def _delete_leftovers(target: Path) -> None:
    """Delete the staging folders of processes that have ended; called under the lock of `target`."""
    from filelock import FileLock

    for staging in target.glob(f"{_PREFIX}*"):
        try:
            if staging.is_symlink() or not _is_ours(staging) or _is_needed(staging, target):
                continue
            with FileLock(staging / _ALIVE, timeout=0):
                pass
        except (NotImplementedError, OSError):  # its process is alive, or it belongs to another user
            continue
        shutil.rmtree(staging, ignore_errors=True)


def _is_ours(staging: Path) -> bool:
    """Return whether all that is in a folder is what a save leaves there; it makes no symbolic links."""
    return all(path.name in (_NEW, _OLD, _ALIVE) and not path.is_symlink() for path in staging.iterdir())


def _is_needed(staging: Path, target: Path) -> bool:
    """Return whether a staging folder holds the only copy of an old file."""
    old = staging / _OLD
    return any(not path.is_dir() and not os.path.lexists(target / path.relative_to(old)) for path in old.rglob("*"))


@contextmanager
def lock_moves(folder: Path) -> Iterator[bool]:
    """Keep other processes from moving files into a folder; yield whether its file system can."""
    path = folder / _LOCK
    if is_other_file(path):
        yield False
        return
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout:
        raise TimeoutError(
            f"{folder}: another process has been moving files into this folder for {_PATIENCE:.0f} seconds; wait "
            f"until it ends, or delete {path} if there is no such process"
        ) from None
    except TimeoutError:  # an OSError, which a signal handler of the caller may raise to end the waiting
        raise
    except (NotImplementedError, OSError):
        pass
    try:
        yield lock.is_locked
    finally:
        if lock.is_locked:
            with suppress(OSError):  # Windows cannot delete an open file; there the release deletes it
                path.unlink()
            lock.release()


def is_other_file(path: Path) -> bool:
    """Return whether a file with content, which locking could empty, has the path of a lock file.

    Where the system has no locks, a process that holds it may have written it. An OSError if it is no regular file.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    check_regular(path, status.st_mode)
    return status.st_size > 0


def write_atomically(path: Path, text: str) -> None:
    """Write a text file atomically, as UTF-8 with Unix line ends."""
    with staged_folder(path.parent) as staging:
        (staging / path.name).write_text(text, encoding="utf-8", newline="\n")


def flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if os.name == "nt" and path.is_dir():
        return  # Windows cannot open folders
    descriptor = os.open(path, os.O_RDWR if path.is_file() and os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
