"""Suggestions for an option or a command that does not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import Any

_MIN_LIKENESS = 0.6
# The words of other tools → ours.
_OPTIONS = {
    **dict.fromkeys(("threads", "jobs", "procs", "processes", "cpus", "numthreads"), "--workers"),
    **dict.fromkeys(("overwrite", "replace"), "--force"),
    **dict.fromkeys(("outputdir", "outdir", "savedir", "dest"), "--output"),
    **dict.fromkeys(("nmerges", "bpemerges"), "--num-merges"),
    **dict.fromkeys(("regex", "pretokenizer", "splitter"), "--pattern"),
    **dict.fromkeys(("input", "corpus", "files", "dataset"), "SOURCE"),
    "modelprefix": "--output",
}
# What people give as an argument, to commands that take it in another way.
_ARGUMENTS = {
    "decode": "for ids themselves run: echo IDS | hf-bpe decode FOLDER",
    "prune": "to prune by a text, count it (hf-bpe count) and give --counts",
}
_COMMANDS = {
    **dict.fromkeys(("tokenize", "tokenise", "ids"), "encode"),
    **dict.fromkeys(("detokenize", "detokenise"), "decode"),
    **dict.fromkeys(("info", "describe", "stats"), "inspect"),
    **dict.fromkeys(("diff", "check", "test"), "verify"),
    **dict.fromkeys(("measure", "evaluate", "fertility"), "report"),
    **dict.fromkeys(("export", "import", "to", "save"), "convert"),
    **dict.fromkeys(("view", "print", "visualize"), "show"),
    **dict.fromkeys(("ui", "serve", "web"), "playground"),
    **dict.fromkeys(("add-tokens", "grow", "adapt"), "extend"),
    **dict.fromkeys(("shrink", "trim", "reduce"), "prune"),
    **dict.fromkeys(("learn", "fit"), "train"),
    "merge": "merge-counts",
}


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
    if meant == "SOURCE" and not any(param.metavar == "SOURCE" for param in command.params):
        meant = None
    if meant is not None and (meant == "SOURCE" or meant in own):
        return f"{message}; give {meant}" + (" without an option before it" if meant == "SOURCE" else "")
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
    """Return the message for more arguments than a command takes; `text` ends with them in parentheses."""
    params = [param for param in context.command.params if param.param_type_name == "argument"]
    takes = " and ".join(param.metavar or param.name.upper() for param in params) or "no arguments"
    also = text.partition("(s) (")[2].removesuffix(".").removesuffix(")")
    message = f"{context.info_name} takes {takes}, got also {also!r}"
    return f"{message}; {_ARGUMENTS[context.info_name]}" if context.info_name in _ARGUMENTS else message
