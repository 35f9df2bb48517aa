"""Options and arguments of commands, and the parsers of their values."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

import typer

from hf_bpe._utils.arguments import Function, option_fields, paragraphs_of

EXAMPLE = "\b\nExample:\n  "  # \b keeps the line breaks
SPLIT = (
    "A name such as gpt2, cl100k or qwen2 (`hf-bpe help patterns` lists them), a regular expression, the JSON of a "
    "pre-tokenizer, or none."
)

_SIZE = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?(k|M|Ki|Mi)?", re.IGNORECASE)
_INT = re.compile(r"0|[1-9][0-9]{0,17}")
_METAVARS = {int: "N", float: "X"}
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "ki": 1024, "mi": 1024**2}

Options = Mapping[str, tuple[object, object]]
"""Name → annotation and default of options of a command."""


def option(help: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """Return the annotation that makes a parameter an option, which a panel of `--help` lists.

    The first panel, None, has what most people need.
    """
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


def dataclass_options(options: type, **settings: Any) -> Options:
    """Make options of a command from the fields of a dataclass.

    The help is the first sentence of a field's paragraph, and `more`. Another type on the command line, whose default
    is None, is `kind`; `is_size` is for numbers such as 2Ki. All else, and `settings` for all fields, `option` takes.
    """
    types, paragraphs, made = get_type_hints(options), paragraphs_of(options), {}
    for name, each in option_fields(options).items():
        said = {**settings, **each.metadata["command"]}
        sentence = " ".join(paragraphs.get(name, "").split()).partition(". ")[0].removesuffix(".")
        help = f"{sentence[:1].upper()}{sentence[1:]}. {said.pop('more', '')}".strip()
        kind, default = types[name], each.default
        if "kind" in said:
            kind, default = said.pop("kind") | None, None
        if said.pop("is_size", False):
            said["parser"] = size_of_at_least(1)
        metavar = next((_METAVARS[part] for part in (*get_args(kind), kind) if part in _METAVARS), None)
        annotation = option(help, *said.pop("names", "").split(), **{"metavar": metavar, **said})
        made[name] = Annotated[kind, annotation], default
    return made


def with_command_options(
    make: Callable[..., object], options: Options | None = None, *, parameter: str = ""
) -> Callable[[Function], Function]:
    """Return a decorator that adds options to a command: options without a default first.

    `make` is called with the values of the options by name; these are by default its parameters. Its result is the
    `parameter` of the command, in the place of which the options stand.
    """
    if options is None:
        parameters = inspect.signature(make, eval_str=True).parameters
        options = {name: (each.annotation, each.default) for name, each in parameters.items()}
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in options.items()
    ]
    required = [each for each in added if each.default is inspect.Parameter.empty]
    others = [each for each in added if each not in required]

    def decorate(command: Function) -> Function:
        own = inspect.signature(command, eval_str=True).parameters.values()
        placed = [part for each in own for part in (others if each.name == parameter else [each])]
        shown = [*required, *placed, *([] if parameter else others)]

        @functools.wraps(command)
        def run(**values: object) -> object:
            made = make(**{each.name: values.pop(each.name) for each in added})
            return command(**values, **({parameter: made} if parameter else {}))

        shown = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in shown]
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in shown}
        return cast("Function", run)

    return decorate


def argument(name: str, help: str, **settings: Any) -> Any:
    """Return the annotation that makes a parameter an argument."""
    return typer.Argument(metavar=name, help=help, **settings)


class FastValues:
    """Converts simple values of a parameter without pydantic; typer converts all others and reports errors.

    From 0.27 on typer converts even a str by pydantic, whose import takes as long as a command.
    """

    def __init__(self, by_typer: Callable[[], Any]) -> None:
        self._by_typer = by_typer

    def coerce(self, value: Any, param: Any, ctx: Any) -> object:
        """Convert what was given on the command line, or the default."""
        kind, info = param.type_descriptor.annotation, param.type_descriptor.parameter_info
        try:
            if value is None:
                return () if param.multiple or param.nargs == -1 else None
            if get_origin(kind) is list and isinstance(value, (list, tuple)):
                return [_convert_simple(get_args(kind)[0], info, each) for each in value]
            return _convert_simple(kind, info, value)
        except (TypeError, ValueError, typer.BadParameter):
            return self._by_typer().coerce(value, param=param, ctx=ctx)


def _convert_simple(kind: type, info: Any, value: Any) -> object:
    """Convert a value; raise a ValueError for what is wrong or not simple."""
    if info.parser is not None:
        return info.parser(value)
    if type(value) is kind or (get_origin(kind) is Literal and value in get_args(kind)):
        return value
    highest = 10**18 if info.max is None else info.max  # `_INT` has at most 18 digits
    if kind is int and _INT.fullmatch(value) and (info.min or 0) <= int(value) <= highest:
        return int(value)
    if kind is Path and (os.access(value, os.R_OK) or not Path(value).exists()):  # typer refuses unreadable files
        return Path(value)
    raise ValueError(value)


def size_of_at_least(minimum: int) -> Callable[[Any], int]:
    """Return a parser of numbers such as 32000, 32k (thousands) and 32Ki (1,024 each).

    >>> parse = size_of_at_least(1)
    >>> parse("32k"), parse("1.5M"), parse("32Ki")
    (32000, 1500000, 32768)
    """

    def parse(text: Any) -> int:
        match = _SIZE.fullmatch(str(text).replace("_", "").replace(",", ""))
        if match is None:
            raise typer.BadParameter(f"expected a number such as 32000 or 32k, got {text!r}")
        whole, fraction, unit = match[1], match[2] or "", (match[3] or "").lower()
        scale: int = 10 ** len(fraction)
        value, remainder = divmod(int(whole + fraction) * _UNITS[unit], scale)
        if remainder or value < minimum:
            raise typer.BadParameter(f"expected a whole number of at least {minimum}, got {text!r}")
        return value

    return parse


Json = Annotated[bool, option("Print JSON.", "--json", panel="Output")]
