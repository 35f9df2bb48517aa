"""Imports of transformers without its advice to install PyTorch, which tokenizers do not need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_SWITCH = "TRANSFORMERS_NO_ADVISORY_WARNINGS"  # read when advice is about to be printed


@contextmanager
def no_advice() -> Iterator[None]:
    """Keep transformers from printing "PyTorch was not found" if it is imported meanwhile.

    >>> with no_advice():
    ...     import transformers
    """
    before = os.environ.get(_SWITCH)
    os.environ[_SWITCH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SWITCH]
        else:
            os.environ[_SWITCH] = before
