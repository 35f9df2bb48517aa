"""Warnings about the line that calls hf_bpe, and texts without the users and passwords of URLs."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_PACKAGES = ("hf_bpe", "transformers")  # whose classes call those of the other

_BEFORE_HOST = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]*)://([^/\s]*@)")
# @ is in names there, or before a version.
_PLACES = ("abfs", "abfss", "git", "github", "hf", "libarchive", "tar", "zip")
_KINDS = (FileNotFoundError, PermissionError, OSError, ImportError, ValueError)


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn about the line of the program that called hf_bpe."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PACKAGES:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def without_credentials(text: str, url: str = "") -> str:
    """Return a text, such as a URL or a message, without the users and passwords of its URLs.

    Users and passwords of `url` may be elsewhere in the text, too, such as in a path of fsspec.

    >>> without_credentials("no file 'http://user:secret@host/a@b.txt'")
    "no file 'http://…@host/a@b.txt'"
    >>> without_credentials("no file /user:secret@host/a", "memory://user:secret@host/a")
    'no file /…@host/a'
    >>> without_credentials("zip://a@b.txt::abfs://container@account/c.zip")
    'zip://a@b.txt::abfs://container@account/c.zip'
    """
    secrets = {match[2] for match in _BEFORE_HOST.finditer(url) if match[1] not in _PLACES}
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "…@")
    return _BEFORE_HOST.sub(lambda match: match[0] if match[1] in _PLACES else f"{match[1]}://…@", text)


@contextmanager
def credentials_hidden(url: str) -> Iterator[None]:
    """Leave the user and the password of a URL out of errors."""
    try:
        yield
    except Exception as error:
        message = str(error)
        hidden = without_credentials(message, url)
        if hidden == message:
            raise
        kind = next((kind for kind in _KINDS if isinstance(error, kind)), OSError)
        raise kind(hidden) from None  # whose message has them
