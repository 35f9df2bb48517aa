"""Paths and URLs: sources may be both, outputs are local paths."""

from __future__ import annotations

import os
import re
from typing import Any

from hf_bpe._utils.arguments import check_path

_SCHEME = "[A-Za-z][A-Za-z0-9+.-]+:"  # a drive of Windows has one letter
_URL = re.compile(rf"{_SCHEME}//")
# As an output: pathlib turns :// into :/ (on Windows, :\), and fsspec chains URLs, as in simplecache::s3://bucket/x.
_OUTPUT_URL = re.compile(rf"(?:{_SCHEME}:)*{_SCHEME}[/{re.escape(os.sep)}]")


def is_url(name: str) -> bool:
    """Return whether a name is a URL rather than a path.

    >>> is_url("s3://bucket/a.txt"), is_url("C://a.txt"), is_url("a:b.txt")
    (True, False, False)
    """
    return _URL.match(name) is not None


def check_output(name: str, value: Any) -> Any:
    """Return the value if it is a local path, where something can be written.

    >>> check_output("output", "s3://bucket/ids.npy")
    Traceback (most recent call last):
    ValueError: output: expected a local path, got the URL 's3://bucket/ids.npy'; write to a local path, then upload it
    >>> check_output("output", "a:b.npy"), check_output("output", "C:/a.npy")
    ('a:b.npy', 'C:/a.npy')
    """
    path = os.fspath(check_path(name, value))
    if _OUTPUT_URL.match(path):
        url = re.sub(r":[/\\]+", "://", path, count=1)
        raise ValueError(f"{name}: expected a local path, got the URL {url!r}; write to a local path, then upload it")
    return value
