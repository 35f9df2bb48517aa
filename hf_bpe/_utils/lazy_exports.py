"""Imports on first use: of public names, whose modules import slow libraries, of transformers, and of `regex`."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import regex

_SWITCH = "TRANSFORMERS_NO_ADVISORY_WARNINGS"  # read when advice is about to be printed


@contextmanager
def no_advice() -> Iterator[None]:
    """Keep transformers from printing "PyTorch was not found" if it is imported meanwhile."""
    before = os.environ.get(_SWITCH)
    os.environ[_SWITCH] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_SWITCH]
        else:
            os.environ[_SWITCH] = before


def lazy_exports(
    package: str,
    exports: Mapping[str, str],
    submodules: Collection[str] = (),
    *,
    other_names: Callable[[], Mapping[str, str]] = dict,
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package (PEP 562).

    `exports` has the names that modules of the package define, with spaces between them; `other_names` returns name →
    what it is called in this package, for the message that there is no such name.
    """
    modules = {name: f"{package}.{module}" for module, names in exports.items() for name in names.split()}

    def getattr_of_package(name: str) -> object:
        if name in modules:
            with no_advice():
                value = getattr(import_module(modules[name]), name)
            setattr(sys.modules[package], name, value)  # so that the next access does not come here
            return value
        if name in submodules:
            return import_module(f"{package}.{name}")
        other = None if name.startswith("_") else other_names().get(name)
        advice = "" if other is None else f"; in {package} it is {other}"
        raise AttributeError(f"module {package!r} has no attribute {name!r}{advice}", name=name)

    def dir_of_package() -> list[str]:
        module = sys.modules[package]
        own = {name for name in vars(module) if name.startswith("__")}
        return sorted({*own, *getattr(module, "__all__", ()), *modules, *submodules})

    return getattr_of_package, dir_of_package


@cache
def compiled(expression: str) -> regex.Pattern[str]:
    """Return an expression compiled by `regex`, which takes as long to import as a tenth of a command."""
    import regex  # for characters beyond ASCII, which many a text does not have

    return regex.compile(expression)
