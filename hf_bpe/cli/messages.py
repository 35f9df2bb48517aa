"""Messages of commands on standard error: one voice, warnings, logs, and phases that take a while.

Results go to standard output. Colors are used on terminals, unless NO_COLOR is set.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, TextIO

from hf_bpe._utils.visible import in_one_line, printable

QUIET, NORMAL, VERBOSE = range(3)
_COLORS = {"error": 31, "warning": 33, "hint": 36}  # red, yellow, cyan
_LABEL = re.compile(r"^(error|warning|hint): ")
# A heading, an option or a command in the text of --help.
_HEADING = re.compile(r"^(?:Usage:|[A-Z][\w, ]*:$|  Example:$)", re.MULTILINE)
_NAME = re.compile(r"^  (?:--?[\w-]+(?:, | / )?)+|^  [a-z-]+(?=  )", re.MULTILINE)
_SILENCE = 1.0  # seconds that a phase may take without a sign


class Verbosity:
    """How much is said while a command runs: with QUIET only warnings and errors."""

    level = NORMAL


def say(message: str) -> None:
    """Print a message; with --quiet only warnings and errors."""
    if Verbosity.level > QUIET or message.startswith(("error: ", "warning: ")):
        print(f"hf-bpe: {_colored(printable(message))}", file=sys.stderr)


def show_result(text: str) -> None:
    """Print a result on standard output, with control characters escaped."""
    print(printable(text))


def _is_terminal(stream: TextIO) -> bool:
    return stream.isatty()


def _can_color(stream: TextIO) -> bool:
    return _is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def colored_help(text: str, stream: TextIO | None = None) -> str:
    """Return the text of --help in colors, if the stream that it is printed on, or else stdout, is a terminal."""
    if not _can_color(stream or sys.stdout):
        return text
    text = _HEADING.sub("\x1b[1m\\g<0>\x1b[0m", text)
    return _NAME.sub(f"\x1b[{_COLORS['hint']}m\\g<0>\x1b[0m", text)


def _colored(message: str) -> str:
    label = _LABEL.match(message)
    if label is None or not _can_color(sys.stderr):
        return message
    return f"\x1b[1;{_COLORS[label[1]]}m{label[1]}:\x1b[0m {message[label.end() :]}"


def report_done(message: str, values: Mapping[str, Any], as_json: bool) -> None:
    """Print what was done as JSON on standard output, or say it."""
    if as_json:
        show_result(json.dumps(values, indent=2))
    else:
        say(message)


@contextlib.contextmanager
def warnings_said() -> Iterator[None]:
    """Print the library's warnings on standard error at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        say(f"warning: {warning.message}")


@contextlib.contextmanager
def phase(name: str) -> Iterator[None]:
    """Show on a terminal what is done, with the seconds, if it takes longer than a second."""
    if Verbosity.level == QUIET or not sys.stderr.isatty():
        yield
        return
    is_done = threading.Event()

    def show() -> None:
        began, is_shown = time.monotonic(), False
        while not is_done.wait(_SILENCE):
            print(f"\rhf-bpe: {name} … {time.monotonic() - began:.0f} s", end="", file=sys.stderr, flush=True)
            is_shown = True
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


class _Log(logging.Handler):
    """Print what the library logs, above its progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.levelno < logging.WARNING and Verbosity.level == QUIET:
            return
        label = "warning: " if record.levelno >= logging.WARNING else ""
        bars = sys.modules.get("tqdm")  # without a bar it has not been imported
        write = print if bars is None else bars.tqdm.write
        write(f"hf-bpe: {_colored(label + printable(in_one_line(record.getMessage())))}", file=sys.stderr)


@contextlib.contextmanager
def log_to_stderr() -> Iterator[None]:
    """Print what the library logs while a command runs."""
    logger, handler = logging.getLogger("hf_bpe"), _Log(logging.INFO)
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
