"""Paths and URLs: sources may be both, and so may some outputs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from hf_bpe._utils.arguments import check_path, short_repr
from hf_bpe._utils.messages import without_credentials

_FILE = "file://"
_SCHEME = "[A-Za-z][A-Za-z0-9+.-]+:"  # a drive of Windows has one letter
# fsspec chains URLs, as in simplecache::s3://bucket/x.
_URL = re.compile(rf"(?:{_SCHEME}:)*{_SCHEME}//")
# As an output: pathlib turns :// into :/ (on Windows, :\).
_OUTPUT_URL = re.compile(rf"(?:{_SCHEME}:)*{_SCHEME}[/{re.escape(os.sep)}]")


@dataclass(frozen=True)
class Location:
    """A local path, or a URL that fsspec reaches, which as a str has no user and password. `parse` makes it."""

    address: str
    is_url: bool

    @classmethod
    def parse(cls, name: str | os.PathLike[str]) -> Location:
        """Return the location that a user names; of a URL `file://…` the path."""
        address = local_path(os.fspath(name))
        return cls(address, is_url(address))

    def __fspath__(self) -> str:
        return self.address

    def __str__(self) -> str:
        return without_credentials(self.address) if self.is_url else self.address

    def __repr__(self) -> str:
        return f"Location({str(self)!r})"


def is_url(name: str) -> bool:
    """Return whether a name is a URL rather than a path."""
    return _URL.match(name) is not None


def output_url(value: str | os.PathLike[str]) -> str | None:
    """Return the URL that an output is, also if pathlib has shortened it; None for a local path."""
    path = os.fspath(value)
    if _OUTPUT_URL.match(path) is None:
        return None
    if is_url(path):  # the host may be empty, as in hdfs:///data
        return path
    return re.sub(r":[/\\]", "://", path, count=1)


def local_path(name: str) -> str:
    """Return the path that a URL `file://…` stands for, in which characters may be written as % and their bytes.

    Any other name is returned as it is.

    >>> local_path("a%20b"), local_path("file:///tmp/a%20b/c.txt")
    ('a%20b', '/tmp/a b/c.txt')
    """
    if not name.startswith(_FILE):
        return name
    path = unquote(name.removeprefix(_FILE), errors="surrogateescape").lstrip("/")
    return path if os.name == "nt" else f"/{path}"


def check_destination(name: str, value: object) -> Any:
    """Return the value if something can be written there: a path, or a URL as a str; of `file://…` the path.

    >>> check_destination("output", "simplecache::s3://b/a.npy")
    Traceback (most recent call last):
    ValueError: output: expected a path or a plain URL, got 'simplecache::s3://b/a.npy'; leave out what is before ::
    """
    url = output_url(check_path(name, value))
    if url is None:
        return value
    if "::" in url:
        raise ValueError(f"{name}: expected a path or a plain URL, got {short_repr(url)}; leave out what is before ::")
    return local_path(url)


def check_output(name: str, value: object) -> Any:
    """Return the value if it is a local path, where something can be written."""
    path = os.fspath(check_path(name, value))
    if (url := output_url(path)) is not None:
        raise ValueError(f"{name}: expected a local path, got the URL {short_repr(url)}")
    return value
