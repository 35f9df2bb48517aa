"""Argument checks: each returns the value in the form that is used, or raises an error that names the argument.

Options that are fields of a dataclass (`option`) carry theirs; signatures, docstrings and commands follow from them.

A check takes the name of the argument and the value. An integer is anything with `__index__`, including integers of
numpy and torch, but not a bool. A bool is one of Python or numpy, or 0 or 1.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import Field, field, fields
from typing import Any, TypeVar

from hf_bpe._utils.messages import without_credentials

Check = Callable[[str, Any], Any]
Function = TypeVar("Function", bound=Callable[..., Any])
Options = TypeVar("Options")

MAX_INT64 = 2**63 - 1
"""An upper limit that no real count reaches."""
MAX_UINT64 = 2**64 - 1
"""The upper limit of seeds."""

_SHOWN = 80  # characters of a value in a message
_MAX_PATH = 4096  # bytes; no system allows more


def short_repr(value: object) -> str:
    """Return the `repr` of a value for a message, shortened.

    >>> short_repr("a"), short_repr(10**5000)
    ("'a'", 'a value of type int')
    >>> short_repr(["http://user:secret@host/a"])
    "['http://…@host/a']"
    """
    try:
        # That of damaged data of Arrow reads beyond them.
        text = None if type(value).__module__.startswith("pyarrow.") else repr(value)
    except Exception:  # an int with too many digits, or a class of the user whose __repr__ fails
        text = None
    if text is None:
        return f"a value of type {type(value).__name__}"
    if "\n" in text:  # as tables write theirs
        text = " ".join(text.split())
    text = without_credentials(text)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def wrong_type(name: str, expected: str, value: object) -> TypeError:
    """Return the TypeError for an argument of the wrong type."""
    return TypeError(f"{name}: expected {expected}, got {short_repr(value)}")


def refuse_unknown(function: str, names: Iterable[str], options: Iterable[str]) -> None:
    """Raise a TypeError for the first option that a function does not know, and suggest a public one."""
    options = {*options}
    for name in names:
        if name not in options:
            public = sorted(each for each in options if not each.startswith("_") and each not in ("self", "cls"))
            raise TypeError(f"{function}: unknown option {name!r:.80}; {_suggestion(function, name, public)}")


def _suggestion(function: str, name: str, options: list[str]) -> str:
    # Names such as min_freq and eos begin like the option that is meant, or are a part of it.
    close = difflib.get_close_matches(name, options, 1, 0.7)
    close = close or [option for option in options if option.startswith(name) or (len(name) > 3 and name in option)]
    close = close or difflib.get_close_matches(name, options, 1, 0.6)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"expected one of {', '.join(options)}" if len(options) <= 30 else f"help({function}) says which there are"


def check_int(name: str, value: Any, minimum: int | None = None, maximum: int | None = None) -> int:
    """Return the value as an int between `minimum` and `maximum`."""
    if type(value) is not int:
        # numpy's bool has __index__ in some versions, which warns.
        if type(value).__name__ in ("bool", "bool_") or not hasattr(type(value), "__index__"):
            raise wrong_type(name, "an int", value)
        try:
            value = operator.index(value)
        except TypeError:  # an array with more than one element
            raise wrong_type(name, "an int", value) from None
    if minimum is not None and value < minimum:
        raise ValueError(f"{name}: expected at least {minimum}, got {short_repr(value)}")
    if maximum is not None and value > maximum:
        raise ValueError(f"{name}: expected at most {maximum}, got {short_repr(value)}")
    return int(value)


def check_flag(name: str, value: object) -> bool:
    """Return the value as a bool; None means False, as in many settings."""
    if value is True or value is False:
        return value
    # In numpy only scalars have this type; an array could hold several values.
    if value is None or type(value).__name__ in ("bool", "bool_") or (type(value) is int and value in (0, 1)):
        return bool(value)
    raise wrong_type(name, "True or False", value)


def check_real(name: str, value: Any, minimum: float) -> float:
    """Return the value as a finite float that is at least `minimum`."""
    if isinstance(value, bool) or not (hasattr(type(value), "__float__") or hasattr(type(value), "__index__")):
        raise wrong_type(name, "a number", value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if not minimum <= number < float("inf"):
        raise ValueError(f"{name}: expected a finite number of at least {minimum:g}, got {short_repr(value)}")
    return number


def check_str(name: str, value: object) -> str:
    """Return the value if it is a str."""
    if not isinstance(value, str):
        raise wrong_type(name, "a str", value)
    return value


def check_choice(name: str, value: object, choices: Sequence[str | None]) -> Any:
    """Return the value if it is one of the choices."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {short_repr(value)}")
    return value


def check_path(name: str, value: object) -> Any:
    """Return the value if it is a path that the file system can represent."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise wrong_type(name, "a path", value)
    try:
        encoded = os.fsencode(value)
        is_possible = b"\0" not in encoded and len(encoded) <= _MAX_PATH  # the content of a file may be longer
    except UnicodeEncodeError:  # a lone surrogate that does not encode a byte
        is_possible = False
    if not is_possible:
        raise ValueError(f"{name}: expected a path, got {short_repr(value)}, which is not a valid file name")
    return value


def check_callable(name: str, value: object) -> Any:
    """Return the value if it is callable."""
    if not callable(value):
        raise wrong_type(name, "a callable", value)
    return value


def check_mapping(name: str, value: object) -> Any:
    """Return the value if it is a mapping."""
    if not isinstance(value, Mapping):
        raise wrong_type(name, "a dict", value)
    return value


def check_keywords(name: str, value: object) -> Any:
    """Return the value if it is a mapping with str keys."""
    for key in check_mapping(name, value):
        check_str(f"{name}: key", key)
    return value


def check_sequence(name: str, value: object, expected: str = "a list", dimensions: int = 1) -> Any:
    """Return the value if it is a sequence but not text; arrays and tensors have at most `dimensions` dimensions."""
    is_text = isinstance(value, (str, bytes, bytearray, memoryview))
    is_flat = 0 < getattr(value, "ndim", 1) <= dimensions
    if is_text or isinstance(value, (Mapping, Set, type)) or not isinstance(value, Iterable) or not is_flat:
        raise wrong_type(name, expected, value)
    return value


def check_ids(name: str, value: object) -> list[int]:
    """Return the value as a list of ids."""
    if type(value) is list and {*map(type, value)} <= {int}:
        return value
    return [check_int(f"{name}[{at}]", token_id) for at, token_id in enumerate(check_sequence(name, value, "ids"))]


def as_lists(name: str, ids: object) -> Any:
    """Return an id as int, a row of ids as a list or tuple, and several rows as a list of rows.

    They may be in a list, array or tensor; the ids in a list are not checked.
    """
    if isinstance(ids, (list, tuple)):
        is_of_arrays = len(ids) > 0 and hasattr(ids[0], "ndim") and ids[0].ndim > 0
        return [as_lists(name, row) for row in ids] if is_of_arrays else ids
    if hasattr(ids, "ndim"):
        ids = ids.tolist() if hasattr(ids, "tolist") else ids
        return ids if isinstance(ids, list) else check_int(name, ids)
    if hasattr(type(ids), "__index__"):
        return check_int(name, ids)
    return [*check_sequence(name, ids, "ids")]


def check_strs(name: str, value: object) -> list[str]:
    """Return the value as a list of str."""
    texts = [*check_sequence(name, value, "a list of str")]
    if not {*map(type, texts)} <= {str}:
        for at, text in enumerate(texts):
            check_str(f"{name}[{at}]", text)
    return texts


def optional(check: Check) -> Check:
    """Return a check that also accepts None."""
    return lambda name, value: None if value is None else check(name, value)


def each(check: Check) -> Check:
    """Return a check that applies another check to each element of a list."""
    return lambda name, value: [check(f"{name}[{at}]", one) for at, one in enumerate(check_sequence(name, value))]


def at_least(minimum: int) -> Check:
    """Return a check for an int of at least `minimum`."""
    return lambda name, value: check_int(name, value, minimum)


def one_of(*choices: str | None) -> Check:
    """Return a check for one of several values."""
    return lambda name, value: check_choice(name, value, choices)


def checked(**checks: Check) -> Callable[[Function], Function]:
    """Return a decorator that checks a function's arguments, positional or keyword, before the call.

    Arguments without a check and arguments that are not given pass unchanged, so functions with some of the same
    arguments can share checks.
    """

    def decorate(function: Function) -> Function:
        parameters = inspect.signature(function).parameters
        by_place = [
            (name, checks.get(name))
            for name, param in parameters.items()
            if param.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        ]
        kinds = {param.kind for param in parameters.values()}
        by_name = [f"{name}=" for name, param in parameters.items() if param.kind is inspect.Parameter.KEYWORD_ONLY]
        if inspect.Parameter.VAR_POSITIONAL in kinds:
            by_name = []  # they may follow any number of arguments
        takes_any = inspect.Parameter.VAR_KEYWORD in kinds
        required = [name for name, _ in by_place if parameters[name].default is inspect.Parameter.empty]

        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> Any:
            values = [check(name, arg) if check else arg for arg, (name, check) in zip(args, by_place, strict=False)]
            if len(args) > len(values) and by_name:
                raise TypeError(
                    f"{_called_name(function, args)}: got {short_repr(args[len(values)])} without a name; "
                    f"give it as one of {', '.join(by_name)}"
                )
            for name in kwargs:
                if name in checks:
                    kwargs[name] = checks[name](name, kwargs[name])
                elif not takes_any and name not in parameters:
                    refuse_unknown(_called_name(function, args), [name], parameters)
            if missing := [name for name in required[len(args) :] if name not in kwargs]:
                shown = ", ".join(name for name in required if name not in ("self", "cls"))
                raise TypeError(f"{_called_name(function, args)}({shown}): {' and '.join(missing)} missing")
            return function(*values, *args[len(values) :], **kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _called_name(function: Callable[..., Any], args: Sequence[Any]) -> str:
    """Return the name of a function; of a method with the class that it is called for, not the one that defines it."""
    if args and next(iter(inspect.signature(function).parameters)) in ("self", "cls"):
        owner = args[0] if isinstance(args[0], type) else type(args[0])
        return f"{owner.__name__}.{function.__name__}"
    return function.__qualname__


def option(default: object, check: Check, record: str = "", **command: object) -> Any:
    """Return a field that functions take by keyword and commands as an option; the docstring of the class explains it.

    `record` is its name in the signature of a model, if it is another one; for `command` see `dataclass_options`.
    """
    return field(default=default, metadata={"check": check, "record": record, "command": command})


def option_fields(options: type) -> dict[str, Field[Any]]:
    """Return name → field of the options of a dataclass, in the order of its docstring."""
    named = {option.name: option for option in fields(options) if option.metadata}
    return {name: named[name] for name in (*paragraphs_of(options), *named) if name in named}


def checks_of(options: type) -> dict[str, Check]:
    """Return name → check of the options of a dataclass."""
    return {name: option.metadata["check"] for name, option in option_fields(options).items()}


def paragraphs_of(options: type) -> dict[str, str]:
    """Return name → paragraph in the docstring of a dataclass, without the name; none if Python strips docstrings."""
    arguments = (inspect.getdoc(options) or "").partition("\nArgs:\n")[2]
    return dict(re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", arguments, re.M))


def chosen_options(options: type[Options], given: Mapping[str, Any]) -> Options:
    """Make a dataclass of options from the keywords that are its fields; ignore other keywords."""
    return options(**{name: given[name] for name in option_fields(options) if name in given})


def with_options(*all_options: type) -> Callable[[Function], Function]:
    """Return a decorator for a function that takes options of some dataclasses as `**options`.

    Its signature names them, and their paragraphs take the place of that of `options` in its docstring, but for those
    that it has itself.
    """
    texts = [item for options in all_options for item in paragraphs_of(options).items()]

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = [*signature.parameters.values()][:-1]
        for name, option in (item for options in all_options for item in option_fields(options).items()):
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, keyword, default=option.default, annotation=option.type))
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        if doc := function.__doc__:
            missing = [(name, text) for name, text in texts if not re.search(f"^ +{name}: ", doc, re.M)]
            paragraphs = "\n".join(f"{name}: {text}".replace("\n    ", "\n") for name, text in missing)
            function.__doc__ = re.sub(
                "^( +)options: .*", lambda match: textwrap.indent(paragraphs, match[1]), doc, flags=re.M
            )
        return function

    return decorate
