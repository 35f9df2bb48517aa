"""The words of errors on the command line: one line, without terms of Python or of the library that parses options."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

from hf_bpe._utils.visible import in_one_line, printable

_MIN_LIKENESS = 0.6
# The words of other tools → ours.
_OPTIONS = {
    **dict.fromkeys(("threads", "jobs", "procs", "numproc", "processes", "cpus", "numthreads"), "--workers"),
    **dict.fromkeys(("overwrite", "replace"), "--force"),
    **dict.fromkeys(("outputdir", "outdir", "savedir", "dest"), "--output"),
    **dict.fromkeys(("nmerges", "bpemerges"), "--num-merges"),
    **dict.fromkeys(("regex", "pretokenizer", "splitter"), "--pattern"),
    **dict.fromkeys(("input", "corpus", "files", "dataset"), "SOURCE"),
    **dict.fromkeys(("tokenizer", "model", "tokenizermodel", "vocabfile"), "FOLDER"),
    **dict.fromkeys(("jsonkey", "jsonkeys", "field", "textcolumn", "textfield"), "--column"),
    **dict.fromkeys(("eos", "eod", "delimiter"), "--separator"),
    **{"format": "--to", "modelprefix": "--output", "showprogress": "--progress"},
}
# What people give as an argument, to commands that take it in another way.
_ARGUMENTS = {
    "decode": "for ids themselves run: echo IDS | hf-bpe decode FOLDER",
    "prune": "to prune by a text, count it (hf-bpe count) and give --counts",
}
_COMMANDS = {
    **dict.fromkeys(("tokenize", "tokenise", "ids"), "encode"),
    **dict.fromkeys(("detokenize", "detokenise"), "decode"),
    **dict.fromkeys(("info", "describe", "stats", "vocab"), "inspect"),
    **dict.fromkeys(("diff", "check", "test"), "verify"),
    **dict.fromkeys(("measure", "eval", "evaluate", "fertility"), "report"),
    **dict.fromkeys(("export", "import", "to", "save", "load"), "convert"),
    **dict.fromkeys(("formats", "list"), "help formats"),
    **dict.fromkeys(("view", "print", "visualize"), "show"),
    **dict.fromkeys(("ui", "serve", "web"), "playground"),
    **dict.fromkeys(("add-tokens", "grow", "adapt"), "extend"),
    **dict.fromkeys(("shrink", "trim", "reduce"), "prune"),
    **dict.fromkeys(("learn", "fit"), "train"),
    "merge": "merge-counts",
    **{"download": "hf download", "upload": "hf upload", "patterns": "help patterns", "version": "--version"},
}


def usage_message(error: Any) -> str:
    """Return the message of an error of usage in one line, with the option or argument that it is about."""
    return printable(in_one_line(_usage_problem(error))).removesuffix(".")


def _usage_problem(error: Any) -> str:
    text, kind = error.message, type(error).__name__
    if getattr(error, "option_name", None) and kind == "NoSuchOption" and error.ctx is not None:
        return no_such_option(error.option_name, error.ctx)
    if kind == "MissingParameter" and error.param is not None:
        return _missing(error.param)
    if text.startswith("Got unexpected extra argument") and error.ctx is not None:
        return too_many_arguments(text, error.ctx)
    if kind != "BadParameter":
        return str(error.format_message())
    hint, param = error.param_hint, error.param  # whose own hint takes other arguments in each release of click
    if hint is None and param is not None:
        hint = param.opts[0] if param.opts[0].startswith("-") else (param.metavar or param.name).upper()
    hint = " ".join(hint) if isinstance(hint, (list, tuple)) else hint or ""
    where = hint.replace("'", "").split(" / ")[0] if error.param_hint is None else hint.replace("'", "")
    return f"{where}: {_value_problem(text)}" if where else _value_problem(text)


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
    message = re.sub(r"give drop=\[(.+?)\]", _drop_options, message)
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


def _drop_options(match: re.Match[str]) -> str:
    return "give " + " ".join(f"--drop {name}" for name in re.findall(r"\w+", match[1]))


def error_message(error: Exception) -> str:
    """Return the message of an exception in one line, with options as they are called in a shell."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'input or output'}: {error.strerror}"
    return in_one_line(str(error)) or type(error).__name__  # some errors, such as MemoryError, have no message


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that is most like one that does not exist, or None if none is.

    >>> closest("--vocabsize", ["--normalizer", "--vocab-size"])
    '--vocab-size'
    >>> closest("--text", ["--counts", "--weight"])
    """
    ranked = sorted(((_likeness(name, each), each) for each in names), reverse=True)
    return ranked[0][1] if ranked and ranked[0][0] >= _MIN_LIKENESS else None


def _likeness(left: str, right: str) -> float:
    left, right = _letters(left), _letters(right)
    if len(left) > 2 and right.startswith(left):
        return 0.9
    return SequenceMatcher(None, left, right).ratio()


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def no_such_option(name: str, context: Any) -> str:
    """Return the message for an option that a command does not have."""
    command = context.command
    own = [each for param in command.params for each in (*param.opts, *param.secondary_opts) if each.startswith("--")]
    message = f"{context.info_name} has no option {name}"
    meant = _OPTIONS.get(_letters(name))
    if meant in own:
        return f"{message}; give {meant}"
    if meant in [param.metavar for param in command.params if param.param_type_name == "argument"]:
        return f"{message}; give {meant} without an option before it"
    if name.startswith("--") and (like := closest(name, own)) is not None:
        return f"{message}; did you mean {like}?"
    commands = context.parent.command.commands if context.parent is not None else {}
    having = [each for each in commands if any(name in param.opts for param in commands[each].params)]
    if not having:
        return message
    *first, last = having
    return f"{message}; {', '.join(first)} and {last} have it" if first else f"{message}; {last} has it"


def no_such_command(name: str, names: Iterable[str]) -> str:
    """Return the message for a command that does not exist."""
    like = _COMMANDS.get(name) or closest(name, names)
    return f"no command {name!r}" + (f"; did you mean {like}?" if like else "")


def too_many_arguments(text: str, context: Any) -> str:
    """Return the message for more arguments than a command takes; `text` ends with the arguments in parentheses."""
    params = [param for param in context.command.params if param.param_type_name == "argument"]
    takes = " and ".join(param.metavar or param.name.upper() for param in params) or "no arguments"
    also = text.partition("(s) (")[2].removesuffix(".").removesuffix(")")
    message = f"{context.info_name} takes {takes}, got also {also!r}"
    return f"{message}; {_ARGUMENTS[context.info_name]}" if context.info_name in _ARGUMENTS else message
