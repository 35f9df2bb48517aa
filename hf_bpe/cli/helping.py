"""The command `help`, which prints what `--help` prints."""

from __future__ import annotations

from typing import Annotated

import typer

from hf_bpe.cli.options import EXAMPLE, argument
from hf_bpe.cli.program import command


def _commands(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the commands that begin with what has been typed."""
    return [name for name in ctx.parent.command.commands if name.startswith(incomplete)]  # type: ignore[union-attr]


_Name = Annotated[str | None, argument("COMMAND", "The command to explain.", autocompletion=_commands)]


@command(name="help", loads_tokenizer=False, epilog=EXAMPLE + "hf-bpe help train")
def print_help(ctx: typer.Context, name: _Name = None) -> None:
    """Print the help of a command, or the list of commands."""
    program = ctx.parent
    assert program is not None
    if name is None:
        typer.echo(program.get_help())
        return
    _, found, _ = program.command.resolve_command(program, [name])  # type: ignore[attr-defined]
    typer.echo(found.get_help(found.context_class(found, info_name=name, parent=program)))
