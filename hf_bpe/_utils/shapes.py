"""The shapes of JSON values that are read from files: what a valid one looks like, and where another one differs.

A shape is

- `str`, `bool`, `int` (from 0 to 2**63 - 1), `object` (anything), or a compiled expression, which a whole str matches;
- `Optional(shape)`: null, or a value of the shape;
- `[shape]`: a list of any length; `(shape, shape)`: a list with these elements;
- `{"key": shape}`: an object with exactly these keys; `...: object` allows others;
- `{expression: shape}`: an object whose keys all match the expression.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from hf_bpe._utils.arguments import MAX_INT64, short_repr

Shape = Any

_NAMES = {str: "a string", bool: "true or false", int: "a number from 0 to 2^63 - 1"}


class Optional(NamedTuple):
    """The shape of a value that may be null."""

    shape: Shape


def check_shape(value: object, shape: Shape, place: str = "") -> Any:
    """Return a value that was parsed from JSON if it has a shape.

    Raises:
        ValueError: it has another one; the message gives the place in the value.

    >>> check_shape({"runs": {"1.run": 7}}, {"runs": {re.compile("[0-9].run"): int}})
    {'runs': {'1.run': 7}}
    >>> check_shape({"runs": {"../x": 7}}, {"runs": {re.compile("[0-9].run"): int}})
    Traceback (most recent call last):
    ValueError: runs: expected names like [0-9].run, got '../x'
    """
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
