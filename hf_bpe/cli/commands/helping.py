"""The command `help`, which prints what `--help` prints."""

from __future__ import annotations

from typing import Annotated

import typer

from hf_bpe.cli.options import EXAMPLE, argument
from hf_bpe.cli.program import HELP, command
from hf_bpe.pretokenizers._named_patterns import NAMED_PATTERNS


def _commands(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the commands that begin with what has been typed."""
    commands = ctx.parent.command.commands  # type: ignore[union-attr]
    return [name for name in (*commands, *_LISTS) if name.startswith(incomplete)]


_NAME_HELP = "The command to explain; or patterns or formats, for the names that --pattern, --to and --drop take."
_Name = Annotated[str | None, argument("COMMAND", _NAME_HELP, autocompletion=_commands)]


def _patterns() -> dict[str, str]:
    return {**{name: each.models for name, each in NAMED_PATTERNS.items()}, "none": "no split"}


def _formats() -> dict[str, str]:
    from hf_bpe.conversion import FEATURES, FORMATS, _formats

    droppable = (name for name, each in FEATURES.items() if each.decides_ids and name != "characters")
    features = {f"--drop {name}": FEATURES[name].what for name in droppable}
    return {**{name: each.what for name, each in {**FORMATS, **_formats.READ_ONLY}.items()}, **features}


_LISTS = {"patterns": _patterns, "formats": _formats}


@command(group=HELP, name="help", loads_tokenizer=False, epilog=EXAMPLE + "hf-bpe help train")
def print_help(ctx: typer.Context, name: _Name = None) -> None:
    """Print the help of a command, the list of commands, or the names that options take."""
    program = ctx.parent
    assert program is not None
    if name in _LISTS:
        named = _LISTS[name]()
        width = max(map(len, named))
        typer.echo("\n".join(f"{each.ljust(width)}  {what}" for each, what in named.items()))
        return
    if name is None:
        typer.echo(program.get_help())
        return
    _, named, _ = program.command.resolve_command(program, [name])  # type: ignore[attr-defined]
    typer.echo(named.get_help(named.context_class(named, info_name=name, parent=program)))
