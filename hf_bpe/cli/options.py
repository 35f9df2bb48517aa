"""Options and arguments of commands, and the parsers of their values."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import typer

EXAMPLE = "\b\nExample:\n  "  # \b keeps the line breaks
SPLIT = (
    "A name such as gpt2, cl100k or qwen2 (`hf-bpe help patterns` lists them), a regular expression, the JSON of a "
    "pre-tokenizer, or none."
)

_SIZE = re.compile(r"([0-9]{1,12})(?:\.([0-9]{1,6}))?(k|M|Ki|Mi)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "ki": 1024, "mi": 1024**2}


def option(help: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """Return the annotation that makes a parameter an option.

    Args:
        help: what it is for.
        names: its names, if they are not that of the parameter.
        panel: the panel of `--help` that lists it; None for the first one, which has what most people need.
        settings: what else `typer.Option` takes.
    """
    return typer.Option(*names, help=help, rich_help_panel=panel, **settings)


def argument(name: str, help: str, **settings: Any) -> Any:
    """Return the annotation that makes a parameter an argument."""
    return typer.Argument(metavar=name, help=help, **settings)


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
        value, rest = divmod(int(whole + fraction) * _UNITS[unit], scale)
        if rest or value < minimum:
            raise typer.BadParameter(f"expected a whole number of at least {minimum}, got {text!r}")
        return value

    return parse


Json = Annotated[bool, option("Print JSON.", "--json", panel="Output")]
