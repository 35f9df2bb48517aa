"""Appends every command of `hf-bpe`, with its arguments and options, to the page `reference/cli`."""

import re
from collections.abc import Iterator
from typing import Any

import typer.main
from sphinx.application import Sphinx

from hf_bpe.cli import app as commands
from hf_bpe.cli.panels import COMMON, described

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


def sentences(text: str, notes: list[str]) -> str:
    """Return what an option is for as Markdown, with its notes as sentences."""
    return " ".join([escaped(text), *(f"*{escaped(note[:1].upper() + note[1:])}.*" for note in notes)])


def lists_of_commands(group: Any, context: Any, program: str) -> Iterator[str]:
    """Yield the lines of a table of the commands, in their groups."""
    yield from (f"| | {program} … | |", "|---|---|---|")
    before = ""
    for name, command in group.commands.items():
        title = command.rich_help_panel
        shown = f"**{title}**" if title != before else ""
        yield f"| {shown} | [{name}](#{program}-{name}) | {escaped(command.get_short_help_str(limit=200))} |"
        before = title
    yield ""


def parameters(command: Any, context: Any) -> Iterator[str]:
    """Yield the lines about the arguments and options of a command, the options in their panels."""
    panels: dict[str, list[Any]] = {"": [], COMMON: []}
    for parameter in command.params:
        if not parameter.hidden and "--help" not in parameter.opts:
            is_argument = parameter.param_type_name == "argument"
            panels.setdefault("" if is_argument else parameter.rich_help_panel or COMMON, []).append(parameter)
    for title, members in panels.items():
        if title not in ("", COMMON):
            yield from (f"**{title}**", "")
        for parameter in members:
            names, text, notes = described(parameter, context)
            names = names.replace(" / ", ", ")
            yield from (f"::::{{option}} {names}", sentences(text, notes), "::::", "")


def page_of(program: str = "hf-bpe") -> str:
    """Return the Markdown of all commands."""
    group = typer.main.get_command(commands)
    parent = group.context_class(group, info_name=program)
    lines = [*lists_of_commands(group, parent, program)]
    for name, command in group.commands.items():
        context = command.context_class(command, info_name=name, parent=parent)
        lines += [f"## {program} {name}", ""]
        lines += paragraphs(command.help)
        lines += ["```text", " ".join([program, name, *command.collect_usage_pieces(context)]), "```", ""]
        lines += paragraphs(command.epilog)
        lines += [f":::{{program}} {program} {name}", ":::", ""]
        lines += parameters(command, context)
    return "\n".join(lines)


def append_commands(app: Sphinx, name: str, source: list[str]) -> None:
    """Put the commands into their page as it is read: the list of them, and below it each."""
    if name == PAGE:
        source[0] += "\n" + page_of()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", append_commands)
    return {"parallel_read_safe": True}
