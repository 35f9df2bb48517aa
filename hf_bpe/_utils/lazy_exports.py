"""Public names of a package that are imported on first use, because their modules import slow libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from importlib import import_module

from hf_bpe._utils.advice import no_advice


def lazy_exports(
    package: str, modules: Mapping[str, str], submodules: Collection[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package (PEP 562).

    Args:
        package: its name.
        modules: public name → the module that defines it.
        submodules: names of public modules of the package.

    >>> getattr_of_package, _ = lazy_exports("math", {"sleep": "time"})
    >>> getattr_of_package("sleep") is __import__("time").sleep
    True
    """

    def getattr_of_package(name: str) -> object:
        if name in modules:
            with no_advice():
                return getattr(import_module(modules[name]), name)
        if name in submodules:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def dir_of_package() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules, *submodules})

    return getattr_of_package, dir_of_package
