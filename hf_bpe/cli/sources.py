"""Where `train` and `count` take text from: the options of sources, and what the command line names.

The options are for all sources alike, but for the weights, of which there is one for each.
"""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from hf_bpe.cli.shared import STDIN, WORKERS_HELP, option, text_file
from hf_bpe.counting._locations import Format, is_url
from hf_bpe.counting._sources import Errors, OnError, Source
from hf_bpe.counting._word_counts import WordCounts

SOURCE_HELP = (
    "Files, directories, globs and URLs of text: .txt, .jsonl, .parquet, the first two also .gz and .zst, and whatever "
    "is plain text; - for standard input."
)
WEIGHT_HELP = "How many times a {} counts, exactly: 3, 0.1 or 1/3. Repeat the option, once for each in their order."
_FORMAT_HELP = "What the files are, whatever they are called."
_COLUMN_HELP = "What has the text in .jsonl objects and .parquet files."
_ERRORS_HELP = "Invalid UTF-8: an error, U+FFFD in its place, or the bytes as they are."
_ON_ERROR_HELP = "Stop at what is wrong in a file, or skip that line or the rest of that file, and say so."
_CAP_HELP = "Leave out what is beyond so many bytes of a document."
_LINE_HELP = "Longest line of JSON, or text without a place to be cut, in bytes, unpacked; a longer one is an error."
_MEMORY_HELP = "Bound of the memory of the process, such as 2GB; what does not fit is put on disk."
_WORK_HELP = "Note finished work in this folder; after an interruption the same command goes on. Delete it when done."

Weight = Annotated[list[str] | None, option(WEIGHT_HELP.format("source"), metavar="X", show_default="1 each")]
FileFormat = Annotated[Format | None, option(_FORMAT_HELP, show_default="by the name, else text")]
Column = Annotated[str, option(_COLUMN_HELP, metavar="NAME")]
ErrorsInText = Annotated[Errors, option(_ERRORS_HELP)]
ErrorsInFiles = Annotated[OnError, option(_ON_ERROR_HELP)]
Cap = Annotated[int | None, option(_CAP_HELP, metavar="N", min=1, show_default="no limit")]
LongestLine = Annotated[int, option(_LINE_HELP, metavar="N", min=1)]
_READING = (
    "format",
    "column",
    "errors",
    "on_error",
    "max_document_bytes",
    "max_line_bytes",
)  # what these parameters are called

# And how it is counted.
Workers = Annotated[
    int | None,
    option(WORKERS_HELP, metavar="N", min=1, show_default="one a core; with a pattern of your own, 1 if not Linux"),
]
Memory = Annotated[str | None, option(_MEMORY_HELP, metavar="SIZE", show_default="no limit")]
WorkFolder = Annotated[Path | None, option(_WORK_HELP, metavar="FOLDER", show_default="none")]


@contextlib.contextmanager
def sources_of(context: typer.Context, names: Sequence[str], weights: Sequence[str] | None) -> Iterator[list[Source]]:
    """Give what a command line names, read as its options say; standard input is copied to a file.

    Raises:
        OSError: there is no such file.
        ValueError, typer.BadParameter: options that are wrong.
    """
    if STDIN in names and context.params.get("work_dir") is not None:
        raise typer.BadParameter("standard input cannot be read again; give files", param_hint="'--work-dir'")
    reading = {name: context.params[name] for name in _READING}
    with contextlib.ExitStack() as stack:
        yield [
            Source(name if _is_found(name) else str(stack.enter_context(text_file(name))), weight=weight, **reading)
            for name, weight in zip(names, weights_of(weights, len(names)), strict=True)
        ]


@contextlib.contextmanager
def text_or_counts(
    context: typer.Context, sources: Sequence[str] | None, weights: Sequence[str] | None, counts: Path | None
) -> Iterator[list[Source] | WordCounts]:
    """Give what to learn from: what `sources_of` gives, or what is in a counts file; raises what it does."""
    if (not sources) == (counts is None):
        raise typer.BadParameter("give one of the two", param_hint="'SOURCE' / '--counts'")
    if counts is not None:
        refuse_source_options(context)
        yield WordCounts.load(counts)
        return
    with sources_of(context, sources or [], weights) as text:
        yield text


def refuse_source_options(context: typer.Context) -> None:
    """Raise a typer.BadParameter if there is an option of sources."""
    for name in ("weight", *_READING):
        source = context.get_parameter_source(name)
        if source is not None and source.name != "DEFAULT":
            raise typer.BadParameter("goes with SOURCE only", param_hint=f"'--{name.replace('_', '-')}'")


def weights_of(weights: Sequence[str] | None, number: int) -> Sequence[str]:
    """Return one weight for each of a number of things; a typer.BadParameter is raised if there is another number."""
    if weights and len(weights) != number:
        raise typer.BadParameter(
            f"got {len(weights)} for {number}; give one for each, or none", param_hint="'--weight'"
        )
    return weights or ["1"] * number


def _is_found(name: str) -> bool:
    """Say whether a name is a URL, or a glob, rather than a path."""
    if is_url(name):
        return True
    if not glob.has_magic(name) or Path(name).exists():
        return False
    if next(glob.iglob(name, recursive=True), None) is None:  # noqa: PTH207  # Path.glob takes no absolute ones
        raise FileNotFoundError(f"no file matches {name!r}")
    return True
