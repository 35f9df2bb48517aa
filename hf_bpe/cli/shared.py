"""What all commands share: the program, how it ends, what it says, and where text comes from.

Results go to standard output, what is said about them to standard error.
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
from hf_bpe.core.pretokenizers import PATTERNS

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

EXAMPLE = "\b\nExample:\n  "  # \b has the lines printed as they are
SPLIT = f"{', '.join(PATTERNS)}, a regular expression, or none for no split."
FOLDER_HELP = "A folder or file with a tokenizer, of any format that convert knows. Nothing is ever downloaded."
WORKERS_HELP = "Threads or processes to work in; the result never depends on it."
STDIN = "-"
_UsageError: Any = typer.BadParameter.__base__  # of the Click that this typer has, its own or another's


class Terminated(KeyboardInterrupt):
    """SIGTERM: ends whatever goes on as Ctrl-C does."""


class Commands(TyperGroup):
    """Turns what a command raises into one line on standard error and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the options of the program itself."""
        with _printable_usage_errors():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> None:
        """Run a command."""
        try:
            with _log_to_stderr(), _printable_usage_errors():
                super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            # What shells report for a program that a signal has ended.
            name, number = ("terminated", 15) if isinstance(interrupt, Terminated) else ("interrupted", 2)
            say(name)
            raise typer.Exit(128 + number) from None
        except (OSError, TypeError, ValueError, ImportError, MemoryError, OverflowError) as error:
            _give_up_stdout()
            if not isinstance(error, BrokenPipeError):  # then the reader, such as `head`, has what it wanted
                say(f"error: {_in_one_line(error)}")
                raise typer.Exit(1) from None


def option(help: str, *names: str, **settings: Any) -> Any:
    """Return what makes a parameter an option."""
    return typer.Option(*names, help=help, **settings)


def argument(name: str, help: str, **settings: Any) -> Any:
    """Return what makes a parameter an argument."""
    return typer.Argument(metavar=name, help=help, **settings)


app = typer.Typer(cls=Commands, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)

_PROGRESS_HELP = "Show progress bars, with rate and time left."
Progress = Annotated[bool | None, option(_PROGRESS_HELP, show_default="if stderr is a terminal")]


def main() -> None:
    """Run the command line; the entry point of the script `hf-bpe`."""
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
    """Return whether to show bars, where the option may be left out."""
    return sys.stderr.isatty() if progress is None else progress


def tokenizer_class() -> type[BPETokenizer]:
    """Return BPETokenizer, which takes transformers: `--help` and counting do without."""
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # where torch is missing, nobody here misses it
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

    return BPETokenizer


def load(source: str) -> BPETokenizer:
    """Load a tokenizer from a folder, or a file of any format."""
    path = existing(source)
    with warnings_said():
        return tokenizer_class().convert_from(path)


def existing(source: str) -> Path:
    """Return the path of a tokenizer, if there is one; others would take it for a name on the Hub."""
    if not Path(source).exists():
        raise FileNotFoundError(f"there is no {source!r}; tokenizers are not downloaded")
    return Path(source)


def check_folder(folder: Path) -> None:
    """Raise an error if a folder to save in is a file: better said now than after hours."""
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file; expected a folder to save in")


@contextlib.contextmanager
def text_file(name: str) -> Iterator[Path]:
    """Give a file of text; standard input is copied to one, which is read piece by piece however large it is."""
    if name != STDIN:
        Path(name).stat()  # for the system's own words if there is no such file
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
    """Open a file to read, or standard input."""
    return contextlib.nullcontext(sys.stdin.buffer) if file == STDIN else open_stream(file)


def say(message: str) -> None:
    """Print a line on standard error."""
    print(f"hf-bpe: {printable(message)}", file=sys.stderr)


def show_result(text: str) -> None:
    """Print a result on standard output, with nothing in it that a terminal would obey."""
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
    """Say at the end what the library has warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for warning in caught:
        say(f"warning: {warning.message}")


class _Log(logging.Handler):
    """Says what the library logs, above its progress bars."""

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
    """Keep Python from flushing a broken standard output once more at its end, with a traceback."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'input or output'}: {error.strerror}"
    return _joined(str(error)) or type(error).__name__  # as that of Python where memory is out


def _joined(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines())
