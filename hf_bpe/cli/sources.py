"""Text sources of `train` and `count`: the options, which apply to all sources, and the resolution of names."""

from __future__ import annotations

import contextlib
import functools
import glob
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from hf_bpe import counting
from hf_bpe._utils.arguments import Function
from hf_bpe._utils.input_files import open_stream
from hf_bpe._utils.paths import is_url
from hf_bpe.cli.messages import QUIET, Verbosity, say
from hf_bpe.cli.options import Options, argument, dataclass_options, option, with_command_options
from hf_bpe.counting._locations import FileFormat
from hf_bpe.counting._sources import LINE_BYTES, Errors, OnError, Source
from hf_bpe.reference._options import LearningOptions

if TYPE_CHECKING:
    from hf_bpe.counting import WordCounts

SOURCE_HELP = (
    "Files, directories, globs and URLs of text: .txt, .jsonl, .parquet, the first two also .gz and .zst, and any "
    "other plain text; - for standard input."
)
WEIGHT_HELP = "Exact weight of a {}: 3, 0.1 or 1/3. Repeat the option, once for each, in their order."
FORMAT_HELP = "The format of the text files, whatever their names."
FORMAT_DEFAULT = "by the name, else text"
_COLUMN_HELP = "The column of the text in .jsonl objects and .parquet files."
_ERRORS_HELP = "Handling of invalid UTF-8: an error, U+FFFD instead, or the unchanged bytes."
_ON_ERROR_HELP = (
    "Error policy for malformed files: raise an error, or skip the line or the rest of the file with a warning."
)
_CAP_HELP = "Cut each document to this many bytes."
_LINE_HELP = "Longest line of JSON, or text without a safe cut, in decompressed bytes; a longer one is an error."
_MEMORY_HELP = "Limit for the memory of the process, such as 2GB; counts that do not fit are spilled to disk."
_WORK_HELP = "Folder for checkpoints, from which the same command resumes after an interruption. Delete it when done."

ManySources = Annotated[list[str] | None, argument("SOURCE", SOURCE_HELP.replace("- for", "- or none for"))]
_text_option = functools.partial(option, panel="Text")
InputFormat = Annotated[
    FileFormat | None, _text_option(FORMAT_HELP, "--input-format", "--format", show_default=FORMAT_DEFAULT)
]
TextColumn = Annotated[str, _text_option(_COLUMN_HELP, metavar="NAME")]
OnErrorPolicy = Annotated[OnError, _text_option(_ON_ERROR_HELP)]
SplitSpecialTokens = Annotated[bool, _text_option("Encode special tokens as ordinary text.", "--split-special-tokens")]

_WORKERS_HELP = "Number of threads or processes; the result does not depend on it."
STDIN = "-"
RunArguments = dict[str, Any]
"""The arguments by name of functions that count text, and perhaps learn merges; see `reads_text`."""

_PROGRESS_HELP = "Show progress bars with rate and time left."
Progress = Annotated[bool | None, option(_PROGRESS_HELP, panel="Output", show_default="on a terminal")]

Workers = Annotated[int | None, option(_WORKERS_HELP, metavar="N", min=1, show_default="one per core")]

_weight = _text_option(WEIGHT_HELP.format("source"), metavar="X", show_default="1 each")
_cap = _text_option(_CAP_HELP, metavar="N", min=1, show_default="no limit")
_line = _text_option(_LINE_HELP, metavar="N", min=1, show_default="256 MiB")
_memory = option(_MEMORY_HELP, metavar="SIZE", panel="Machine", show_default="no limit")

# Name → annotation and default of each option. `_READING` goes into each Source, the others to the library.
_WEIGHT: Options = {"weight": (Annotated[list[str] | None, _weight], None)}
_READING: Options = {
    "format": (InputFormat, None),
    "column": (TextColumn, "text"),
    "errors": (Annotated[Errors, _text_option(_ERRORS_HELP)], "strict"),
    "on_error": (OnErrorPolicy, "raise"),
    "max_document_bytes": (Annotated[int | None, _cap], None),
    "max_line_bytes": (Annotated[int, _line], LINE_BYTES),
}
_RUN_OPTIONS: Options = {
    "workers": (Workers, None),
    "max_memory": (Annotated[str | None, _memory], None),
    "work_dir": (Annotated[Path | None, option(_WORK_HELP, metavar="FOLDER", panel="Machine")], None),
    "progress": (Progress, None),
}
_LEARNING = dataclass_options(LearningOptions, panel="Vocabulary")


def reads_text(*, counts: bool = True, learns: bool = False) -> Callable[[Function], Function]:
    """Return a decorator that adds the options for reading text to a command.

    The command takes the context, for `named_sources`, and `run_arguments`: the arguments of functions of the library
    that count text, `num_workers`, `max_memory` and `show_progress`; with `counts`, for a command with weights and
    checkpoints, also `work_dir`; and if it learns merges, `LearningKeywords`.
    """
    added = {**(_LEARNING if learns else {}), **(_WEIGHT if counts else {}), **_READING, **_RUN_OPTIONS}
    if not counts:
        del added["work_dir"]

    def make_arguments(workers: int | None, progress: bool | None, **values: object) -> RunArguments:
        named = {name: value for name, value in values.items() if name not in ("weight", *_READING)}
        return {**named, "num_workers": workers, "show_progress": shows_progress(progress)}

    return with_command_options(make_arguments, added, parameter="run_arguments")


@contextlib.contextmanager
def named_sources(context: typer.Context, names: Sequence[str]) -> Iterator[list[Source]]:
    """Yield the sources that a command line names, with its options; standard input is copied to a file."""
    if STDIN in names and context.params.get("work_dir") is not None:
        raise typer.BadParameter("standard input cannot be read again; give files", param_hint="'--work-dir'")
    reading = {name: context.params[name] for name in _READING}
    with contextlib.ExitStack() as stack:
        yield [
            Source(name if is_found(name) else str(stack.enter_context(text_file(name))), weight=weight, **reading)
            for name, weight in zip(names, check_weights(context.params.get("weight"), len(names)), strict=True)
        ]


def check_text_or_counts(context: typer.Context, sources: Sequence[str] | None, counts: Path | None) -> None:
    """Raise a typer.BadParameter unless either sources or a counts file are given, the latter without their options."""
    if (not sources) == (counts is None):
        raise typer.BadParameter("expected exactly one of the two", param_hint="'SOURCE' / '--counts'")
    if counts is not None:
        refuse_source_options(context)


@contextlib.contextmanager
def text_or_counts(
    context: typer.Context, sources: Sequence[str] | None, counts: Path | None
) -> Iterator[list[Source] | WordCounts]:
    """Yield the sources of a command line, or the content of a counts file; after `check_text_or_counts`."""
    if counts is not None:
        yield counting.WordCounts.load(counts)
        return
    with named_sources(context, sources or []) as text:
        yield text


def refuse_source_options(context: typer.Context) -> None:
    """Raise a typer.BadParameter if an option of sources is given."""
    for name in ("weight", *_READING):
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            shown = "input-format" if name == "format" else name.replace("_", "-")
            raise typer.BadParameter("is only for SOURCE", param_hint=f"'--{shown}'")


def check_weights(weights: Sequence[str] | None, number: int) -> Sequence[str]:
    """Return one weight for each item; raise a typer.BadParameter if the number of weights is wrong."""
    if weights and len(weights) != number:
        raise typer.BadParameter(
            f"got {len(weights)} for {number}; give one for each, or none", param_hint="'--weight'"
        )
    return weights or ["1"] * number


def parse_share(text: str) -> tuple[int, int]:
    """Return the two numbers of I/N, part I of N; raise a typer.BadParameter if I is not from 0 to N-1."""
    match = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if match is None or int(match[1]) >= int(match[2]):
        raise typer.BadParameter(f"expected I/N, from 0/N to N-1/N, got {text!r}", param_hint="'--shard'")
    return int(match[1]), int(match[2])


def is_found(name: str) -> bool:
    """Return whether a name is a URL or a glob, rather than a path."""
    if is_url(name):
        return True
    if not glob.has_magic(name) or Path(name).exists():
        return False
    if next(glob.iglob(name, recursive=True), None) is None:  # noqa: PTH207  # Path.glob takes no absolute ones
        raise FileNotFoundError(f"no file matches {name!r}")
    return True


def shows_progress(progress: bool | None) -> bool:
    """Return whether to show progress bars; None depends on the terminal."""
    return (Verbosity.level > QUIET and sys.stderr.isatty()) if progress is None else progress


@contextlib.contextmanager
def text_file(name: str) -> Iterator[Path]:
    """Yield the path of a text file; standard input is copied to a temporary file first."""
    if name != STDIN:
        Path(name).stat()  # raises the system's error if there is no such file
        yield Path(name)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "stdin")
        with copy.open("wb") as file:
            shutil.copyfileobj(standard_input(), file)
        try:
            yield copy
        except ValueError as error:
            raise ValueError(str(error).replace(str(copy), "standard input")) from None


def check_text_file(name: str, verb: str) -> None:
    """Raise the system's error, or a FileNotFoundError that says how to give a text, if there is no such file."""
    try:
        Path(name).stat()
    except FileNotFoundError:
        raise FileNotFoundError(
            f"there is no file {name!r}; to {verb} this text itself, give --text {name!r}"
        ) from None


def open_input(file: str) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a file, or standard input, for reading."""
    return contextlib.nullcontext(standard_input()) if file == STDIN else open_stream(file)


def standard_input() -> BinaryIO:
    """Return standard input; say so on a terminal, where a command that waits looks as if it hung."""
    if sys.stdin.isatty():
        say("reading standard input, until Ctrl-D")
    return sys.stdin.buffer
