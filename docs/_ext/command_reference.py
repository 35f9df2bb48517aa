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


def with_notes(text: str) -> str:
    """Return the help of an option as Markdown, with what stands in brackets at its end as a sentence."""
    text, _, notes = text.partition("  [")
    sentences = []
    for note in filter(None, notes.removesuffix("]").split("; ")):
        name, _, value = note.partition(": ")
        if name == "default" and value != "(none)":
            sentences.append(f"Default: {value.removeprefix('(').removesuffix(')')}.")
        elif note.startswith("x>="):
            sentences.append(f"At least {note.removeprefix('x>=')}.")
        elif name != "default":
            sentences.append(f"{note.capitalize()}.")
    return " ".join([escaped(text), *(f"*{escaped(sentence)}*" for sentence in sentences)])


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
        for parameter in sorted(command.params, key=lambda each: each.param_type_name != "argument"):
            record = parameter.get_help_record(context)
            if record is not None and "--help" not in parameter.opts:
                names, text = record
                names = names.split()[0] if parameter.param_type_name == "argument" else names.replace(" / ", ", ")
                lines += [f"::::{{option}} {names}", with_notes(text), "::::", ""]
    return "\n".join(lines)


def append_commands(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the commands to their page as it is read."""
    if name == PAGE:
        source[0] += page_of()


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to Sphinx."""
    app.connect("source-read", append_commands)
    return {"parallel_read_safe": True}
