"""The names of the methods that a class inherits from its parts."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any


def name_as_own(owner: type, base: type, *more: type) -> None:
    """Give all methods that a class inherits, up to one of its bases, the names of methods of the class itself.

    Users know only the class. Errors about arguments show these names, and pickles of methods find them by these.

    Args:
        owner: the class.
        base: the first of its bases, in the order of resolution, whose methods keep their names.
        more: bases after it whose methods do not.
    """
    for part in (*owner.__mro__[1 : owner.__mro__.index(base)], *more):
        for name, value in vars(part).items():
            for function in _underlying_functions(value):
                function.__module__, function.__qualname__ = owner.__module__, f"{owner.__qualname__}.{name}"


def _underlying_functions(value: Any) -> Iterator[FunctionType]:
    """Yield the functions of a method or property, and those that decorators have wrapped."""
    for function in (value.fget, value.fset) if isinstance(value, property) else (getattr(value, "__func__", value),):
        while isinstance(function, FunctionType):
            yield function
            function = getattr(function, "__wrapped__", None)
