"""Appends every command of `hf-bpe`, with its arguments and options, to the page `reference/cli`."""

import re

import typer.main
from sphinx.application import Sphinx

from hf_bpe.cli import app as commands

PAGE = "reference/cli"


def escaped(text: str) -> str:
    """Return Markdown that shows the text as it is."""
    return re.sub(r"([\\`*_{}<>\[\]|$~])", r"\\\1", " ".join(text.split()))


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text as Markdown: examples as blocks of code."""
    result = []
    for paragraph in (text or "").split("\n\n"):
        heading, example, lines = paragraph.partition("Example:\n")
        if example:
            assert not heading.strip("\b\n")
            result += ["```console", *(f"$ {line.strip()}" for line in lines.splitlines()), "```", ""]
        else:
            result += [escaped(paragraph), ""]
    return result


def page_of(program: str = "hf-bpe") -> str:
    """Return the Markdown of all commands."""
    group = typer.main.get_command(commands)
    parent = group.context_class(group, info_name=program)
    lines = []
    for name, command in group.commands.items():
        context = command.context_class(command, info_name=name, parent=parent)
        lines += [f"## {program} {name}", ""]
        lines += paragraphs(command.help)
        lines += ["```text", " ".join([program, name, *command.collect_usage_pieces(context)]), "```", ""]
        lines += paragraphs(command.epilog)
        lines += [f":::{{program}} {program} {name}", ":::", ""]
        for parameter in command.params:
            record = parameter.get_help_record(context)
            if record is None or "--help" in parameter.opts:
                continue
            names, text = record
            text, bracket, notes = text.partition("  [")
            names = names.replace(" / ", ", ")
            if parameter.param_type_name == "argument":
                names = names.split()[0]
            notes = f"*{escaped(notes.removesuffix(']'))}*" if bracket else ""
            lines += [f"::::{{option}} {names}", f"{escaped(text)} {notes}".strip(), "::::", ""]
    return "\n".join(lines)


def append_commands(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the commands to their page as it is read."""
    if name == PAGE:
        source[0] += page_of()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", append_commands)
    return {"parallel_read_safe": True}
