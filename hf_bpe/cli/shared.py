"""The parts that all commands share: the program, exit codes, errors, and input files.

Results go to standard output, messages to standard error.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from hf_bpe._utils.input_files import open_stream
from hf_bpe._utils.visible import printable
from hf_bpe._version import __version__
from hf_bpe.cli import messages
from hf_bpe.cli.messages import in_one_line, log_to_stderr, phase, say, show_result, warnings_said
from hf_bpe.cli.options import option
from hf_bpe.core.pretokenizers import NAMES

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

EXAMPLE = "\b\nExample:\n  "  # \b keeps the line breaks
SPLIT = f"{', '.join(NAMES)}, a regular expression, the JSON of a pre-tokenizer, or none."
FOLDER_HELP = "A folder or file with a tokenizer, in any format that convert knows. Nothing is downloaded."
WORKERS_HELP = "Number of threads or processes; the result does not depend on it."
PATTERN_HELP = f"The split pattern, for files that do not store it, such as .tiktoken: {SPLIT}"
STDIN = "-"
_UsageError: Any = typer.BadParameter.__base__  # from typer's own or external Click
_Function = TypeVar("_Function", bound=Callable[..., Any])

RankPattern = Annotated[str, option(PATTERN_HELP, "--pattern", metavar="PATTERN", show_default="from the file")]


class Terminated(KeyboardInterrupt):
    """Raised for SIGTERM, which ends a command like Ctrl-C."""


class Command(TyperCommand):
    """A command, which says what an interruption leaves."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with log_to_stderr():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as interrupt:
                interrupt.args = (_what_is_kept(ctx),)
                raise


def _what_is_kept(ctx: Any) -> str:
    """Return what an interrupted command leaves, and how to resume it."""
    if "work_dir" not in ctx.params:
        return "nothing was written"
    if ctx.params["work_dir"] is None:
        return "nothing was kept; with --work-dir FOLDER the same command resumes after an interruption"
    return f"the work so far is kept in {ctx.params['work_dir']}; resume with: {shlex.join(['hf-bpe', *sys.argv[1:]])}"


class Commands(TyperGroup):
    """The command group, which turns exceptions into one line on standard error and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the program's own options."""
        messages.set_level(messages.NORMAL)
        with _usage_errors_said():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> None:
        """Run a command."""
        try:
            with _usage_errors_said():
                super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            # The exit code that shells report for a program that a signal ended.
            name, number = ("terminated", 15) if isinstance(interrupt, Terminated) else ("interrupted", 2)
            say("error: " + "; ".join([name, *map(str, interrupt.args)]))
            raise typer.Exit(128 + number) from None
        except (OSError, TypeError, ValueError, ImportError, MemoryError, OverflowError) as error:
            _give_up_stdout()
            if not isinstance(error, BrokenPipeError):  # otherwise the reader, such as `head`, has ended
                if messages.level() == messages.VERBOSE:
                    traceback.print_exception(error)
                say(f"error: {_words_of_shell(_message(error))}")
                raise typer.Exit(1) from None


app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_LEVELS = {
    "quiet": ("-q", messages.QUIET, "Print only results, warnings and errors."),
    "verbose": ("-v", messages.VERBOSE, "For an error, also print where it was raised."),
}


def command(**settings: Any) -> Callable[[_Function], _Function]:
    """Return the decorator that makes a function a command, with the options --quiet and --verbose."""

    def decorate(function: _Function) -> _Function:
        own = [*inspect.signature(function, eval_str=True).parameters.values()]
        levels = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False,
                annotation=Annotated[bool, option(help, f"--{name}", short)],
            )
            for name, (short, _, help) in _LEVELS.items()
        ]

        @functools.wraps(function)
        def run(**given: Any) -> Any:
            for name, (_, level, _) in _LEVELS.items():
                if given.pop(name):
                    messages.set_level(level)
            return function(**given)

        run.__signature__ = inspect.Signature([*own, *levels])  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in (*own, *levels)}
        app.command(cls=Command, **settings)(run)
        return function

    return decorate


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
    return (messages.level() > messages.QUIET and sys.stderr.isatty()) if progress is None else progress


def tokenizer_class() -> type[BPETokenizer]:
    """Import and return BPETokenizer, which needs transformers; `--help` and counting do not."""
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")  # about missing torch, which is not needed here
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

    return BPETokenizer


def load(source: str, pattern: str = "auto", *, is_one_of_several: bool = False) -> BPETokenizer:
    """Load a tokenizer from a folder or a file of any format.

    Args:
        source: the path.
        pattern: the split pattern, for a file that does not store it.
        is_one_of_several: whether the pattern is for other files if this one stores its own.
    """
    path = existing(source)
    with phase(f"loading {source}"), warnings_said():
        if not is_one_of_several or pattern == "auto":
            return tokenizer_class().convert_from(path, pattern=pattern)
        tokenizer_type = tokenizer_class()
        from hf_bpe.tokenizer._files.definition import PatternNeeded

        try:
            return tokenizer_type.convert_from(path)
        except PatternNeeded:
            return tokenizer_type.convert_from(path, pattern=pattern)


def name_of(source: str) -> str:
    """Return the name of a tokenizer: that of its folder or file."""
    return Path(source).resolve().name


def save(tokenizer: BPETokenizer, folder: Path) -> None:
    """Save a tokenizer in a folder, verified."""
    with phase(f"saving and verifying {folder}"), warnings_said():
        tokenizer.save_pretrained(folder)


def report_done(message: str, values: Mapping[str, Any], as_json: bool) -> None:
    """Print what was done as JSON on standard output, or say it."""
    if as_json:
        show_result(json.dumps(values, indent=2))
    else:
        say(message)


def existing(source: str) -> Path:
    """Return the path of an existing tokenizer, so that transformers does not take it for a name on the Hub."""
    if not Path(source).exists():
        repository = {"gpt2": "openai-community/gpt2"}.get(source, source)
        advice = f"; get one with: hf download {repository} --local-dir {source}" if _REPOSITORY.match(source) else ""
        raise FileNotFoundError(f"no file or folder {source!r}; tokenizers are not downloaded{advice}")
    return Path(source)


_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?$")


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


@contextlib.contextmanager
def _usage_errors_said() -> Iterator[None]:
    """Say errors of usage like all others, and exit with 2."""
    try:
        yield
    except _UsageError as error:
        if not error.format_message():  # help was shown, because there are no arguments
            raise
        program = "hf-bpe" if error.ctx is None else error.ctx.command_path
        say(f"error: {_usage_message(error)} (see {program} --help)")
        raise typer.Exit(2) from None


def _usage_message(error: Any) -> str:
    text = error.message
    if isinstance(error, typer.BadParameter) and type(error).__name__ == "BadParameter":
        hint: Any = error.param_hint
        if hint is None and error.param is not None:
            param: Any = error.param  # whose own hint takes other arguments in each release of click
            hint = param.opts[0] if param.opts[0].startswith("-") else (param.metavar or param.name).upper()
        hint = " ".join(hint) if isinstance(hint, (list, tuple)) else hint or ""
        where = hint.replace("'", "").split(" / ")[0] if error.param_hint is None else hint.replace("'", "")
        return printable(in_one_line(f"{where}: {_of_value(text)}" if where else _of_value(text)))
    return printable(in_one_line(error.format_message())).removesuffix(".")


def _of_value(text: str) -> str:
    """Return what is wrong with a value without the terms of the library that parses it."""
    text = text.removeprefix("Value error, ").removesuffix(".")
    text = re.sub(r"^Input should be a valid integer.*", "expected a whole number", text)
    text = re.sub(r"^Input should be a valid number.*", "expected a number", text)
    text = re.sub(r"^Input should be greater than or equal to", "expected at least", text)
    text = re.sub(r"^('.*') is not one of (.*)$", r"expected one of \2; got \1", text)
    return re.sub(r"^(\S+) is not in the range x>=(\S+)$", r"expected at least \2, got \1", text)


_OPTIONS = "num_workers|max_memory|work_dir|special_tokens|vocab_size|min_frequency|max_token_bytes|max_line_bytes"
_OF_PYTHON = {"num_workers": "workers", "special_tokens": "special-token"}


def _words_of_shell(message: str) -> str:
    """Return an error of the library with options as they are called in a shell, but not what it says of a file."""
    message = message.replace("read it with Source(…, errors='replace') or errors='bytes'", "give --errors replace")
    return re.sub(
        rf"(?<!: )\b({_OPTIONS})(?=[:=])",
        lambda found: "--" + _OF_PYTHON.get(found[1], found[1].replace("_", "-")),
        message,
    )


def _give_up_stdout() -> None:
    """Keep Python from flushing a broken standard output again at exit, with a traceback."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'input or output'}: {error.strerror}"
    return in_one_line(str(error)) or type(error).__name__  # some errors, such as MemoryError, have no message
