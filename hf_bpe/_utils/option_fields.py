"""Options that are fields of a dataclass, from which signatures, checks, docstrings and options of commands follow."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import Field, field, fields
from typing import Any

from hf_bpe._utils.arguments import Check, Function


def option(default: object, check: Check, record: str = "", **command: object) -> Any:
    """Return a field that functions take by keyword and commands as an option; the docstring of the class explains it.

    Args:
        default: its value if it is not given.
        check: the check of the argument.
        record: its name in the signature of a model, if it is another one.
        command: what the command line takes; see `hf_bpe.cli.options.options_of`.
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


def with_options(options: type) -> Callable[[Function], Function]:
    """Return a decorator for a function that takes options as `**options`.

    Its signature names them, and their paragraphs take the place of that of `options` in its docstring.
    """
    named = (f"{name}: {text}".replace("\n    ", "\n") for name, text in paragraphs_of(options).items())
    paragraphs = "\n".join(named)

    def decorate(function: Function) -> Function:
        signature = inspect.signature(function)
        parameters = [*signature.parameters.values()][:-1]
        for name, option in option_fields(options).items():
            keyword = inspect.Parameter.KEYWORD_ONLY
            parameters.append(inspect.Parameter(name, keyword, default=option.default, annotation=option.type))
        function.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        if function.__doc__:
            function.__doc__ = re.sub(
                "^( +)options: .*", lambda match: textwrap.indent(paragraphs, match[1]), function.__doc__, flags=re.M
            )
        return function

    return decorate
