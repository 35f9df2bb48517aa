"""Checks of what a command writes, before the work: it can be written, there is room, and nothing is lost."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

from hf_bpe._utils.memory import format_bytes
from hf_bpe._utils.object_stores import exists
from hf_bpe._utils.paths import check_destination, check_output, is_url
from hf_bpe.cli.options import option

_TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "merges.txt", "tokenizer_config.json")
_MIN_ROOM = 1 << 24

Force = Annotated[bool, option("Replace what is there.", "--force", "-f")]


def check_folder(folder: Path, force: bool) -> None:
    """Raise an error unless a tokenizer can be saved in a folder without replacing another one."""
    check_output("path", folder)
    from hf_bpe.conversion import FORMATS  # not needed for --help

    if not folder.exists() and folder.suffix in {each.suffix for each in FORMATS.values() if each.suffix}:
        raise ValueError(
            f"{folder} is the name of a file; expected a folder to save in, of which hf-bpe convert then makes the file"
        )
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; expected a folder to save in")
    names = [name for name in _TOKENIZER_FILES if (folder / name).exists()]
    if names and not force:
        raise FileExistsError(f"{folder} already holds a tokenizer ({', '.join(names)}); give --force to replace it")
    _check_room(folder, _MIN_ROOM)


def check_file(file: Path | None, force: bool, room: int = _MIN_ROOM, *, urls: bool = False) -> None:
    """Raise an error unless a file can be written, with this room, without replacing another; None needs no check."""
    if file is None:
        return
    if not urls:
        check_output("path", file)
    elif is_url(url := os.fspath(check_destination("path", file))):
        if not force and exists(url):
            raise FileExistsError(f"{url} already exists; give --force to replace it")
        return
    if file.is_dir():
        raise IsADirectoryError(f"{file} is a folder; expected the name of a file to write")
    if file.is_file() and file.stat().st_size and not force:
        raise FileExistsError(f"{file} already exists; give --force to replace it")
    if not file.exists() or file.is_file():  # pipes and devices have no room
        _check_room(file.absolute().parent, room)


def is_resumed(work_dir: str | Path | None, *logs: str) -> bool:
    """Return whether a work folder holds one of the logs of a command, so that the output may be its own."""
    return work_dir is not None and any(Path(work_dir, log).is_file() for log in logs)


def _check_room(folder: Path, room: int) -> None:
    """Raise an OSError if nothing can be created in a folder, or in the nearest one that exists, or it is full."""
    there = folder.absolute()
    while not there.exists():
        there = there.parent
    try:
        with tempfile.TemporaryFile(dir=there):
            pass
    except OSError as error:
        raise type(error)(f"{folder} cannot be written: {error.strerror}; choose another --output") from None
    free = shutil.disk_usage(there).free
    if free < room:
        raise OSError(f"{folder}: {format_bytes(free)} are free, at least {format_bytes(room)} are needed")
