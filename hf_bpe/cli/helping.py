"""The command `help`, which prints what `--help` prints."""

from __future__ import annotations

from typing import Annotated

import typer

from hf_bpe.cli.options import EXAMPLE, argument
from hf_bpe.cli.program import HELP, command
from hf_bpe.pretokenizers._named_patterns import NAMED_PATTERNS


def _commands(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the commands that begin with what has been typed."""
    return [name for name in (*ctx.parent.command.commands, "patterns") if name.startswith(incomplete)]  # type: ignore[union-attr]


_NAME_HELP = "The command to explain; or patterns, for the names that --pattern takes."
_Name = Annotated[str | None, argument("COMMAND", _NAME_HELP, autocompletion=_commands)]


def patterns() -> str:
    """Return what `hf-bpe help patterns` prints: the names of patterns, and the models that use each."""
    named = {**{name: each.models for name, each in NAMED_PATTERNS.items()}, "none": "no split"}
    width = max(map(len, named))
    return "\n".join(f"{name.ljust(width)}  {models}" for name, models in named.items())


@command(group=HELP, name="help", loads_tokenizer=False, epilog=EXAMPLE + "hf-bpe help train")
def print_help(ctx: typer.Context, name: _Name = None) -> None:
    """Print the help of a command, the list of commands, or the names of patterns."""
    program = ctx.parent
    assert program is not None
    if name == "patterns":
        typer.echo(patterns())
        return
    if name is None:
        typer.echo(program.get_help())
        return
    _, found, _ = program.command.resolve_command(program, [name])  # type: ignore[attr-defined]
    typer.echo(found.get_help(found.context_class(found, info_name=name, parent=program)))
