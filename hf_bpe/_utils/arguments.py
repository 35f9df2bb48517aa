"""Checks of arguments: each returns the value as it is used, or raises an error that names the argument.

A check is called with the name of the argument and the value. Integers are whatever Python takes for an index, those of
numpy and torch too, but no truth values; truth values are those of Python and numpy, 0 and 1.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, TypeVar

Check = Callable[[str, Any], Any]
Function = TypeVar("Function", bound=Callable[..., Any])

MOST = 2**63 - 1
"""More than there can be of anything."""

_SHOWN = 80  # characters of a value in a message


def short_repr(value: object) -> str:
    """Return what messages say of a value: its `repr`, not too much of it.

    >>> short_repr("a"), short_repr(10**5000)
    ("'a'", 'a value of type int')
    """
    try:
        text = repr(value)
    except Exception:  # an int of too many digits; whatever a class of the user raises
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def wrong_type(name: str, expected: str, value: object) -> TypeError:
    """Return the error for a value of a type that an argument does not take."""
    return TypeError(f"{name}: expected {expected}, got {short_repr(value)}")


def check_int(name: str, value: Any, least: int | None = None, most: int | None = None) -> int:
    """Return an int that is not below `least` and not above `most`.

    >>> check_int("stride", 3, 0)
    3
    >>> check_int("stride", -1, 0)
    Traceback (most recent call last):
    ValueError: stride: expected at least 0, got -1
    """
    if type(value) is not int:
        if isinstance(value, bool) or not hasattr(type(value), "__index__"):
            raise wrong_type(name, "an int", value)
        try:
            value = operator.index(value)
        except TypeError:  # an array of several numbers
            raise wrong_type(name, "an int", value) from None
    if least is not None and value < least:
        raise ValueError(f"{name}: expected at least {least}, got {short_repr(value)}")
    if most is not None and value > most:
        raise ValueError(f"{name}: expected at most {most}, got {short_repr(value)}")
    return int(value)


def check_flag(name: str, value: Any) -> bool:
    """Return a truth value; None, as in many callers' settings, is False.

    >>> check_flag("verbose", 1), check_flag("verbose", None)
    (True, False)
    """
    if value is True or value is False:
        return value
    # Of numpy only single values have this type; that of an array would be several.
    if value is None or type(value).__name__ in ("bool", "bool_") or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise wrong_type(name, "True or False", value)


def check_real(name: str, value: Any, least: float) -> float:
    """Return a finite number, as a float, that is not below `least`."""
    if isinstance(value, bool) or not (hasattr(type(value), "__float__") or hasattr(type(value), "__index__")):
        raise wrong_type(name, "a number", value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name}: expected a number from {least:g} on, got {short_repr(value)}") from None
    if not least <= number < float("inf"):
        raise ValueError(f"{name}: expected a number from {least:g} on, got {short_repr(value)}")
    return number


def check_str(name: str, value: Any) -> str:
    """Return a str."""
    if not isinstance(value, str):
        raise wrong_type(name, "a str", value)
    return value


def check_choice(name: str, value: Any, choices: Sequence[str | None]) -> Any:
    """Return one of some values."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {short_repr(value)}")
    return value


def check_path(name: str, value: Any) -> Any:
    """Return a path that the system can be asked for."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise wrong_type(name, "a path", value)
    try:
        is_possible = b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        is_possible = False
    if not is_possible:
        raise ValueError(f"{name}: expected a path, got {short_repr(value)}, which no file can be called")
    return value


def check_callable(name: str, value: Any) -> Any:
    """Return something that can be called."""
    if not callable(value):
        raise wrong_type(name, "something to call", value)
    return value


def check_mapping(name: str, value: Any) -> Any:
    """Return a mapping."""
    if not isinstance(value, Mapping):
        raise wrong_type(name, "a dict", value)
    return value


def check_keywords(name: str, value: Any) -> Any:
    """Return a mapping whose keys are names."""
    for key in check_mapping(name, value):
        check_str(f"{name}: key", key)
    return value


def check_sequence(name: str, value: Any, expected: str = "a list", dimensions: int = 1) -> Any:
    """Return what has elements in an order, and is no text; of arrays and tensors at most so many dimensions."""
    is_text = isinstance(value, (str, bytes, bytearray, memoryview))
    is_flat = 0 < getattr(value, "ndim", 1) <= dimensions
    if is_text or isinstance(value, (Mapping, Set, type)) or not isinstance(value, Iterable) or not is_flat:
        raise wrong_type(name, expected, value)
    return value


def check_ids(name: str, value: Any) -> list[int]:
    """Return a list of ids."""
    if type(value) is list and {*map(type, value)} <= {int}:
        return value
    return [check_int(f"{name}[{at}]", token_id) for at, token_id in enumerate(check_sequence(name, value, "ids"))]


def check_strs(name: str, value: Any) -> list[str]:
    """Return a list of str."""
    texts = [*check_sequence(name, value, "a list of str")]
    if not {*map(type, texts)} <= {str}:
        for at, text in enumerate(texts):
            check_str(f"{name}[{at}]", text)
    return texts


def optional(check: Check) -> Check:
    """Return a check that takes None as well, and leaves it."""
    return lambda name, value: None if value is None else check(name, value)


def each(check: Check) -> Check:
    """Return a check for a list whose elements are checked."""
    return lambda name, value: [check(f"{name}[{at}]", one) for at, one in enumerate(check_sequence(name, value))]


def at_least(least: int) -> Check:
    """Return a check for an int that is not below `least`."""
    return lambda name, value: check_int(name, value, least)


def one_of(*choices: str | None) -> Check:
    """Return a check for one of some values."""
    return lambda name, value: check_choice(name, value, choices)


def checked(**checks: Check) -> Callable[[Function], Function]:
    """Return a decorator that checks arguments of a function, however they are given, before it is called.

    Arguments without a check, and those that are not given, are left alone. So checks may be shared by functions that
    have some of the arguments.

    >>> @checked(n=at_least(1))
    ... def double(n):
    ...     return 2 * n
    >>> double(0)
    Traceback (most recent call last):
    ValueError: n: expected at least 1, got 0
    """

    def decorate(function: Function) -> Function:
        by_place = [(name, checks.get(name)) for name in inspect.signature(function).parameters]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = [check(name, arg) if check else arg for arg, (name, check) in zip(args, by_place, strict=False)]
            for name in kwargs:
                if name in checks:
                    kwargs[name] = checks[name](name, kwargs[name])
            return function(*given, *args[len(given) :], **kwargs)

        return call  # type: ignore[return-value]

    return decorate
