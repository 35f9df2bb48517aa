"""The layout of `--help`: options in panels, the most used first, and commands in groups."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

COMMON = "Options"
_PANELS = ("Text", "Vocabulary", "Special tokens", "Characters", "Superwords", "Token files", "Machine", "Output")
_MAX_UNDIVIDED = 12  # options that are listed without panels
_NOTES = re.compile(r"  \[([^\]]*)\]$")


def described(parameter: Any, context: Any) -> tuple[str, str, list[str]]:
    """Return how a parameter is written, what it is for, and notes, such as its default.

    The notes of typer are reworded: it prints types of Python for arguments, defaults in parentheses, and ranges as
    inequalities.
    """
    if parameter.param_type_name == "argument":
        shown = parameter.show_default
        notes = ["required"] if parameter.required else [f"default: {shown}"] if isinstance(shown, str) else []
        return parameter.metavar or parameter.name.upper(), parameter.help or "", notes
    names, text = parameter.get_help_record(context)
    match = _NOTES.search(text)
    written = [] if match is None else [_reworded(note) for note in match[1].split("; ")]
    return names, _NOTES.sub("", text), [note for note in written if note]


def _reworded(note: str) -> str:
    if re.fullmatch(r"x>=[01](\.0)?", note):  # what is counted is not negative
        return ""
    note = re.sub(r"^([\d.]+)<=x<=([\d.]+)$", r"from \1 to \2", note)
    note = re.sub(r"^x>=([\d.]+)$", r"at least \1", note)
    return re.sub(r"^default: \((.*)\)$", r"default: \1", note)


def write_options(parameters: Iterable[Any], context: Any, formatter: Any) -> None:
    """Write the arguments and options of a command to a formatter of help."""
    arguments: list[tuple[str, str]] = []
    panels: dict[str, list[tuple[str, str]]] = {name: [] for name in (COMMON, *_PANELS)}
    shown = [each for each in parameters if not each.hidden]
    is_divided = sum(each.param_type_name == "option" for each in shown) > _MAX_UNDIVIDED
    for parameter in shown:
        names, text, notes = described(parameter, context)
        record = names, f"{text}  [{'; '.join(notes)}]" if notes else text
        if parameter.param_type_name == "argument":
            arguments.append(record)
        else:
            panels[(is_divided and getattr(parameter, "rich_help_panel", None)) or COMMON].append(record)
    for title, records in (("Arguments", arguments), *panels.items()):
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def write_commands(group: Any, context: Any, formatter: Any) -> None:
    """Write the commands of a program to a formatter of help, in their groups."""
    groups: dict[str, list[tuple[str, str]]] = {}
    longest = max(map(len, group.commands), default=0)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        title = getattr(command, "rich_help_panel", None) or "Commands"
        groups.setdefault(title, []).append((name.ljust(longest), command.get_short_help_str(limit=120)))
    for title, records in groups.items():
        with formatter.section(title):
            formatter.write_dl(records)
