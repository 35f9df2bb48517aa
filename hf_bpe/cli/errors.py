"""The words of errors on the command line: one line, without terms of Python or of the library that parses options."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import typer

from hf_bpe._utils.visible import in_one_line, printable
from hf_bpe.cli.suggestions import closest, no_such_option, too_many_arguments


def usage_message(error: Any) -> str:
    """Return the message of an error of usage in one line, with the option or argument that it is about."""
    text = error.message
    if getattr(error, "option_name", None) and type(error).__name__ == "NoSuchOption" and error.ctx is not None:
        return printable(in_one_line(no_such_option(error.option_name, error.ctx)))
    if type(error).__name__ == "MissingParameter" and error.param is not None:
        return printable(in_one_line(_missing(error.param)))
    if text.startswith("Got unexpected extra argument") and error.ctx is not None:
        return printable(in_one_line(too_many_arguments(text, error.ctx)))
    if isinstance(error, typer.BadParameter) and type(error).__name__ == "BadParameter":
        hint: Any = error.param_hint
        if hint is None and error.param is not None:
            param: Any = error.param  # whose own hint takes other arguments in each release of click
            hint = param.opts[0] if param.opts[0].startswith("-") else (param.metavar or param.name).upper()
        hint = " ".join(hint) if isinstance(hint, (list, tuple)) else hint or ""
        where = hint.replace("'", "").split(" / ")[0] if error.param_hint is None else hint.replace("'", "")
        return printable(in_one_line(f"{where}: {_value_problem(text)}" if where else _value_problem(text)))
    return printable(in_one_line(error.format_message())).removesuffix(".")


def _missing(param: Any) -> str:
    """Return the message for an option or an argument that is required and was not given."""
    names = param.metavar or param.name.upper()
    if param.opts[0].startswith("-"):
        names = f"{max(param.opts, key=len)} {param.metavar or ''}".strip()
    purpose = (param.help or "").partition(". ")[0].removesuffix(".")
    purpose = purpose if purpose[1:2].isupper() else purpose[:1].lower() + purpose[1:]
    return f"give {names}: {purpose}"


def _value_problem(text: str) -> str:
    """Return what is wrong with a value without the terms of the library that parses it."""
    text = text.removeprefix("Value error, ").removesuffix(".")
    text = re.sub(r"^Input should be a valid integer.*", "expected a whole number", text)
    text = re.sub(r"^Input should be a valid number.*", "expected a number", text)
    text = re.sub(r"^Input should be greater than or equal to", "expected at least", text)
    text = re.sub(r"^Input should be less than or equal to", "expected at most", text)
    text = re.sub(r"^'(.*)' is not one of (.*)$", _choices, text)
    return re.sub(r"^(\S+) is not in the range x>=(\S+)$", r"expected at least \2, got \1", text)


def _choices(match: re.Match[str]) -> str:
    like = closest(match[1], re.findall(r"'([^']*)'", match[2]))
    return f"expected one of {match[2]}; got {match[1]!r}" + (f"; did you mean {like}?" if like else "")


_OPTION_NAMES = {"num_workers": "workers", "special_tokens": "special_token", "paths": "files"}
"""Arguments of the library → the parameters of commands that stand for them, where the names differ."""


def words_of_shell(message: str, params: Iterable[Any]) -> str:
    """Return an error of the library with arguments as they are called in a shell, but not what it says of a file."""
    message = message.replace("read it with Source(…, errors='replace') or errors='bytes'", "give --errors replace")
    message = re.sub(r"give drop=\['(\w+)'\]", r"give --drop \1", message)
    shown = {param.name: param for param in params}
    shown |= {name: shown[own] for name, own in _OPTION_NAMES.items() if own in shown}

    def in_shell(match: re.Match[str]) -> str:
        param, value = shown[match["name"]], match["value"]
        if not param.opts[0].startswith("-"):
            return str(param.metavar or param.name.upper())
        if value and param.secondary_opts:
            return str((param.opts if value == "=True" else param.secondary_opts)[0])
        return str(max(param.opts, key=len)) + (value or "")

    # Names of one word are also ordinary words, unless the message begins with them.
    several = "|".join(name for name in shown if "_" in name)
    patterns = [rf"^(?P<name>{'|'.join(shown)})(?P<value>)(?=: )"] if shown else []
    if several:
        patterns.append(rf"(?<!: )\b(?P<name>{several})(?=[:=])(?P<value>=(?:True|False)\b)?")
        patterns.append(rf"\b(?:(?<=give )|(?<=with ))(?P<name>{several})(?P<value>)\b")
    for pattern in patterns:
        message = re.sub(pattern, in_shell, message)
    return message


def error_message(error: Exception) -> str:
    """Return the message of an exception in one line, with options as they are called in a shell."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'input or output'}: {error.strerror}"
    return in_one_line(str(error)) or type(error).__name__  # some errors, such as MemoryError, have no message
