"""Reading untrusted files: opening never blocks, and reading is bounded by what a valid file can need."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable
from typing import Any, BinaryIO

MAX_BYTES = 1 << 28
"""The largest size in bytes of a file that is read whole; the largest known vocabularies need an eighth of it."""

# The largest vocabularies have a tenth of these numbers. Parsing takes about a microsecond for each.
_MAX_BRACKETS = 1 << 22
_MAX_COMMAS = 1 << 24
_MAX_DIGITS = 100  # ids have 10, and `model_max_length` may be 10**30; Python itself refuses the longest
_LONG_NUMBER = re.compile(f"[0-9]{{{_MAX_DIGITS + 1}}}")

_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a symbolic link",
}
# The path that a shell gives for <(command); opening it again would fail for a socket, and could block for a pipe.
_OPEN_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/([0-9]{1,9})|/dev/stdin")


def check_regular(path: str | os.PathLike[str], mode: int) -> None:
    """Raise an OSError that names the kind of file if a path is not a regular file.

    Args:
        path: its name.
        mode: its `st_mode`; that of `lstat` to refuse a symbolic link.
    """
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(f"{os.fspath(path)} is {kind}; expected a regular file; copy the content to one")


def open_regular(path: str | os.PathLike[str], *, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading; refuse anything else without opening it or blocking.

    Raises:
        OSError: the file cannot be opened, or is a FIFO, a device, a socket or a folder.
    """
    check_regular(path, os.stat(path).st_mode)  # noqa: PTH116  # a str keeps its form in messages
    file: BinaryIO = open_checked(path, "rb", buffering)
    return file


def open_checked(path: str | os.PathLike[str], mode: str, buffering: int, flags: int = 0) -> Any:
    """Open a file without waiting, with more flags of `os.open`; refuse anything else than a regular file."""
    flags |= getattr(os, "O_NONBLOCK", 0)
    file = open(path, mode, buffering, opener=lambda path, base: os.open(path, base | flags, 0o666))  # noqa: SIM115
    try:
        check_regular(path, os.fstat(file.fileno()).st_mode)  # it may have been replaced since it was checked by name
    except OSError:
        file.close()
        raise
    return file


def is_open_pipe(path: str | os.PathLike[str], mode: int) -> bool:
    """Return whether a path names a pipe or socket that this process has open, as `<(command)` in a shell does."""
    return (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)) and _OPEN_DESCRIPTOR.fullmatch(os.fspath(path)) is not None


def open_stream(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file, or a pipe that this process has open, to read it once from the beginning.

    Raises:
        OSError: see `open_regular`.
    """
    if not is_open_pipe(path, os.stat(path).st_mode):  # noqa: PTH116
        return open_regular(path)
    match = _OPEN_DESCRIPTOR.fullmatch(os.fspath(path))
    assert match is not None
    return os.fdopen(os.dup(int(match[1] or 0)), "rb")


def read_bounded(path: str | os.PathLike[str], what: str = "vocabulary") -> bytes:
    """Return the content of a regular file of at most `MAX_BYTES`; `what` names its kind in messages.

    Raises:
        OSError: the file cannot be read, or is not a regular file.
        ValueError: the file is larger.
    """
    with open_regular(path) as file:
        is_larger = os.fstat(file.fileno()).st_size > MAX_BYTES
        content = b"" if is_larger else file.read(MAX_BYTES + 1)
    if is_larger or len(content) > MAX_BYTES:
        raise ValueError(f"{path}: is larger than {MAX_BYTES >> 20} MiB, the limit for a {what}; is it another file?")
    return content


def decode(path: str | os.PathLike[str], content: bytes) -> str:
    """Return the text of a UTF-8 file, without a byte-order mark.

    Raises:
        ValueError: the content is not UTF-8; the message gives the location.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}: not UTF-8 at byte {error.start}, in line {line}: {error.reason}") from None


def check_json_parts(path: str | os.PathLike[str], brackets: int, commas: int) -> None:
    """Raise a ValueError if a JSON file has more parts than a vocabulary can have: parsing would take minutes."""
    if brackets > _MAX_BRACKETS or commas > _MAX_COMMAS:
        raise ValueError(
            f"{path}: got {brackets} brackets and {commas} commas, expected at most {_MAX_BRACKETS} and "
            f"{_MAX_COMMAS} for a vocabulary; is it another file?"
        )


def parse_json(path: str | os.PathLike[str], text: str, pairs_hook: Callable[..., Any] | None = None) -> Any:
    """Parse the text of a JSON file, unless it has more parts than a vocabulary can have; `path` is for messages.

    Raises:
        ValueError: the text is not JSON, has too many parts, is nested too deeply, or has a number with too many
            digits; the message names the file, and the location if there is one.

    >>> parse_json("vocab.json", '{"a": [1, 2]}')
    {'a': [1, 2]}
    """
    check_json_parts(path, text.count("[") + text.count("{"), text.count(","))

    def bounded(digits: str) -> int:
        if len(digits) > _MAX_DIGITS:
            got = f"the number {digits[:20]}… has {len(digits)} digits"
            raise ValueError(f"{path}: {got}; expected at most {_MAX_DIGITS}")
        return int(digits)

    has_long_number = _LONG_NUMBER.search(text) is not None  # or a token with as many digits
    try:
        return json.loads(text, object_pairs_hook=pairs_hook, parse_int=bounded if has_long_number else None)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{path}: expected a JSON object, got one nested too deeply") from None


def read_json(path: str | os.PathLike[str]) -> Any:
    """Return the parsed content of a JSON file.

    Raises:
        OSError, ValueError: see `read_bounded`, `decode` and `parse_json`.
    """
    return parse_json(path, decode(path, read_bounded(path)))
