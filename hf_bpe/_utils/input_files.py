"""Reading untrusted files: opening never blocks, and reading is bounded by what a valid file can need.

What is read from JSON has a shape. A shape is

- `str`, `bool`, `int` (from 0 to 2**63 - 1), `object` (anything), or a compiled expression, which a whole str matches;
- `Optional(shape)`: null, or a value of the shape;
- `[shape]`: a list of any length; `(shape, shape)`: a list with these elements;
- `{"key": shape}`: an object with exactly these keys; `...: object` allows others;
- `{expression: shape}`: an object whose keys all match the expression.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Callable
from typing import Any, BinaryIO, NamedTuple

from hf_bpe._utils.arguments import MAX_INT64, short_repr

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
    """Raise an OSError that names the kind of file unless `mode`, of `stat` or `lstat`, is of a regular file."""
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise OSError(f"{os.fspath(path)} is {kind}; expected a regular file; copy the content to one")


def open_regular(path: str | os.PathLike[str], *, buffering: int = -1) -> BinaryIO:
    """Open a regular file for reading; refuse anything else without opening it or blocking."""
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
    """Open a regular file, or a pipe that this process has open, to read it once from the beginning."""
    if not is_open_pipe(path, os.stat(path).st_mode):  # noqa: PTH116
        return open_regular(path)
    match = _OPEN_DESCRIPTOR.fullmatch(os.fspath(path))
    assert match is not None
    return os.fdopen(os.dup(int(match[1] or 0)), "rb")


def read_bounded(path: str | os.PathLike[str], what: str = "vocabulary") -> bytes:
    """Return the content of a regular file of at most `MAX_BYTES`; `what` names its kind in messages."""
    with open_regular(path) as file:
        is_larger = os.fstat(file.fileno()).st_size > MAX_BYTES
        content = b"" if is_larger else file.read(MAX_BYTES + 1)
    if is_larger or len(content) > MAX_BYTES:
        raise ValueError(f"{path}: is larger than {MAX_BYTES >> 20} MiB, the limit for a {what}; is it another file?")
    return content


def decode(path: str | os.PathLike[str], content: bytes) -> str:
    """Return the text of a UTF-8 file, without a byte-order mark; a ValueError names the place of what is none."""
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

    It is a ValueError, with the location if there is one, if the text is not JSON, is nested too deeply, or has a
    number with too many digits.
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
    """Return the parsed content of a JSON file."""
    return parse_json(path, decode(path, read_bounded(path)))


def parse_json_object(path: str | os.PathLike[str], text: str) -> dict[str, Any]:
    """Parse the text of a file with one JSON object that has no key twice, see `parse_json`."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise ValueError(f"{path}: the key {twice!r:.80} occurs twice")
        return entries

    content = parse_json(path, text, unique)
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return content


def read_json_object(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the content of a file with one JSON object, see `parse_json_object`."""
    return parse_json_object(path, decode(path, read_bounded(path)))


Shape = Any

_NAMES = {str: "a string", bool: "true or false", int: "a number from 0 to 2^63 - 1"}


class Optional(NamedTuple):
    """The shape of a value that may be null."""

    shape: Shape


def check_shape(value: object, shape: Shape, place: str = "") -> Any:
    """Return a value that was parsed from JSON if it has a shape; else a ValueError gives the place in the value."""
    if isinstance(shape, Optional):
        return None if value is None else check_shape(value, shape.shape, place)
    if isinstance(shape, (list, tuple)):
        if not isinstance(value, list) or (isinstance(shape, tuple) and len(value) != len(shape)):
            raise _other(place, f"a list of {len(shape)}" if isinstance(shape, tuple) else "a list", value)
        shapes = shape if isinstance(shape, tuple) else shape * len(value)
        for index, (each, expected) in enumerate(zip(value, shapes, strict=True)):
            check_shape(each, expected, f"{place}[{index}]")
    elif isinstance(shape, dict):
        _check_object(value, shape, place)
    elif isinstance(shape, re.Pattern):
        if not isinstance(value, str) or not shape.fullmatch(value):
            raise _other(place, f"a string like {shape.pattern}", value)
    elif shape is int:
        if type(value) is not int or not 0 <= value <= MAX_INT64:
            raise _other(place, _NAMES[int], value)
    elif not isinstance(value, shape):
        raise _other(place, _NAMES[shape], value)
    return value


def _check_object(value: object, shape: dict[Any, Shape], place: str) -> None:
    if not isinstance(value, dict):
        raise _other(place, "an object", value)
    names = next((key for key in shape if isinstance(key, re.Pattern)), None)
    if names is not None:
        for key, each in value.items():
            if not names.fullmatch(key):
                raise _other(place, f"names like {names.pattern}", key)
            check_shape(each, shape[names], _inside(place, key))
        return
    for key in filter(lambda key: key is not ..., shape):
        if key not in value:
            raise ValueError(f"{_inside(place, key)} is missing")
        check_shape(value[key], shape[key], _inside(place, key))
    if ... not in shape and (unknown := sorted(value.keys() - shape.keys())):
        raise _other(place, f"no other keys than {', '.join(sorted(shape))}", unknown[0])


def _inside(place: str, key: str) -> str:
    return f"{place}{'.' if place else ''}{key:.80}"


def _other(place: str, expected: str, got: object) -> ValueError:
    return ValueError(f"{place}{': ' if place else ''}expected {expected}, got {short_repr(got)}")
