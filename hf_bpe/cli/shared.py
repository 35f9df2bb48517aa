"""The parts that all commands share: the program, exit codes, messages, and input files.

Results go to standard output, messages to standard error.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer
from tqdm import tqdm
from typer.core import TyperGroup

from hf_bpe._utils.input_files import open_stream
from hf_bpe._utils.visible import printable
from hf_bpe._version import __version__
from hf_bpe.core.pretokenizers import NAMES

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

EXAMPLE = "\b\nExample:\n  "  # \b keeps the line breaks
SPLIT = f"{', '.join(NAMES)}, a regular expression, the JSON of a pre-tokenizer, or none."
FOLDER_HELP = "A folder or file with a tokenizer, in any format that convert knows. Nothing is downloaded."
WORKERS_HELP = "Number of threads or processes; the result does not depend on it."
STDIN = "-"
_UsageError: Any = typer.BadParameter.__base__  # from typer's own or external Click


class Terminated(KeyboardInterrupt):
    """Raised for SIGTERM, which ends a command like Ctrl-C."""


class Commands(TyperGroup):
    """The command group, which turns exceptions into one line on standard error and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the program's own options."""
        with _printable_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> None:
        """Run a command."""
        try:
            with _log_to_stderr(), _printable_usage_errors():
                super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            # The exit code that shells report for a program that a signal ended.
            name, number = ("terminated", 15) if isinstance(interrupt, Terminated) else ("interrupted", 2)
            say(name)
            raise typer.Exit(128 + number) from None
        except (OSError, TypeError, ValueError, ImportError, MemoryError, OverflowError) as error:
            _give_up_stdout()
            if not isinstance(error, BrokenPipeError):  # otherwise the reader, such as `head`, has ended
                say(f"error: {_in_one_line(error)}")
                raise typer.Exit(1) from None


def option(help: str, *names: str, **settings: Any) -> Any:
    """Return the annotation that makes a parameter an option."""
    return typer.Option(*names, help=help, **settings)


def argument(name: str, help: str, **settings: Any) -> Any:
    """Return the annotation that makes a parameter an argument."""
    return typer.Argument(metavar=name, help=help, **settings)


app = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_PROGRESS_HELP = "Show progress bars with rate and time left."
Progress = Annotated[bool | None, option(_PROGRESS_HELP, show_default="if stderr is a terminal")]


def main() -> None:
    """Run the command line: the entry point of the script `hf-bpe`."""
    signal.signal(signal.SIGTERM, _terminate)
    app(prog_name="hf-bpe")


def _terminate(number: int, frame: object) -> None:
    raise Terminated


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hf-bpe {__version__}")
        raise typer.Exit


_Version = Annotated[bool, option("Print the version and exit.", "--version", callback=_print_version, is_eager=True)]


@app.callback(no_args_is_help=True, epilog=EXAMPLE + "hf-bpe train book.txt -o my-tokenizer --vocab-size 8000")
def _program(version: _Version = False) -> None:
    """Train, use, measure, edit and convert byte-level BPE tokenizers for Hugging Face transformers."""


def shows_progress(progress: bool | None) -> bool:
    """Return whether to show progress bars; None depends on the terminal."""
    return sys.stderr.isatty() if progress is None else progress


def tokenizer_class() -> type[BPETokenizer]:
    """Import and return BPETokenizer, which needs transformers; `--help` and counting do not."""
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # about missing torch, which is not needed here
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

    return BPETokenizer


def load(source: str) -> BPETokenizer:
    """Load a tokenizer from a folder or a file of any format."""
    path = existing(source)
    with warnings_said():
        return tokenizer_class().convert_from(path)


def existing(source: str) -> Path:
    """Return the path of an existing tokenizer, so that transformers does not take it for a name on the Hub."""
    if not Path(source).exists():
        raise FileNotFoundError(f"no file or folder {source!r}; tokenizers are not downloaded")
    return Path(source)


def check_folder(folder: Path) -> None:
    """Raise an error if a folder to save in is a file, before hours of work."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; expected a folder to save in")


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
            shutil.copyfileobj(sys.stdin.buffer, file)
        try:
            yield copy
        except ValueError as error:
            raise ValueError(str(error).replace(str(copy), "standard input")) from None


def open_input(file: str) -> contextlib.AbstractContextManager[BinaryIO]:
    """Open a file, or standard input, for reading."""
    return contextlib.nullcontext(sys.stdin.buffer) if file == STDIN else open_stream(file)


def say(message: str) -> None:
    """Print a message on standard error."""
    print(f"hf-bpe: {printable(message)}", file=sys.stderr)


def show_result(text: str) -> None:
    """Print a result on standard output, with control characters escaped."""
    print(printable(text))


@contextlib.contextmanager
def _printable_usage_errors() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = printable(error.message)
        raise


@contextlib.contextmanager
def warnings_said() -> Iterator[None]:
    """Print the library's warnings on standard error at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        say(f"warning: {warning.message}")


class _Log(logging.Handler):
    """Print what the library logs, above its progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        level = "warning: " if record.levelno >= logging.WARNING else ""
        tqdm.write(f"hf-bpe: {level}{printable(_joined(record.getMessage()))}", file=sys.stderr)


@contextlib.contextmanager
def _log_to_stderr() -> Iterator[None]:
    logger, handler = logging.getLogger("hf_bpe"), _Log(logging.INFO)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def _give_up_stdout() -> None:
    """Keep Python from flushing a broken standard output again at exit, with a traceback."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'input or output'}: {error.strerror}"
    return _joined(str(error)) or type(error).__name__  # some errors, such as MemoryError, have no message


def _joined(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())
