"""Conversion of panics in `tokenizers` to errors.

Some input makes the Rust code panic. In Python that is a PanicException, which is not an Exception, so it would end a
program that handles errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise a ValueError if `tokenizers` panics."""
    try:
        yield
    except BaseException as error:
        if type(error).__module__ != "pyo3_runtime":  # PanicException cannot be imported from there
            raise
        raise ValueError(f"tokenizers panics: {error}") from error
