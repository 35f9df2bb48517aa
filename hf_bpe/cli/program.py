"""The program that all commands belong to: help, exit codes, errors, and the options that commands share."""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from hf_bpe._native_core import NoCoreError
from hf_bpe._utils.arguments import Function
from hf_bpe._version import __version__
from hf_bpe.cli.errors import error_message, no_such_command, usage_message, words_of_shell
from hf_bpe.cli.messages import NORMAL, QUIET, VERBOSE, Verbosity, colored_help, log_to_stderr, say
from hf_bpe.cli.options import EXAMPLE, FastValues, option, with_command_options
from hf_bpe.cli.panels import write_commands, write_options
from hf_bpe.cli.tokenizers import DOWNLOAD_HELP, Downloads

_UsageError: Any = typer.BadParameter.__base__  # from typer's own or external Click


class Terminated(KeyboardInterrupt):
    """Raised for SIGTERM, which ends a command like Ctrl-C."""


class _Command:
    """What commands and their group share: colored help, and the conversion of simple values."""

    def get_help(self, ctx: Any) -> str:
        """Return the help, in colors on a terminal."""
        return colored_help(super().get_help(ctx))  # type: ignore[misc]

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if "get_runtime_param" in dir(type(param)) and "get_runtime_param" not in vars(param):
                param.get_runtime_param = functools.partial(FastValues, param.get_runtime_param)
        return params


class InterruptibleCommand(_Command, TyperCommand):
    """A command, which says what an interruption leaves."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options to the help, in panels."""
        write_options(self.get_params(ctx), ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the line of usage; some releases of typer put required ones in braces."""
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with log_to_stderr():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt as interrupt:
                interrupt.args = (_kept_work(ctx),)
                raise


def _kept_work(ctx: Any) -> str:
    """Return what an interrupted command leaves, and how to resume it."""
    if "work_dir" not in ctx.params or (ctx.params.get("output", "") is None and ctx.params["work_dir"] is None):
        return "nothing was written"
    if ctx.params["work_dir"] is None:
        return "nothing was kept; with --work-dir FOLDER the same command resumes after an interruption"
    return f"the work so far is kept in {ctx.params['work_dir']}; resume with: {shlex.join(['hf-bpe', *sys.argv[1:]])}"


class Commands(_Command, TyperGroup):
    """The command group, which turns exceptions into one line on standard error and an exit code."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands to the help, in groups, and the options of the program."""
        write_commands(self, ctx, formatter)
        write_options(self.get_params(ctx), ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the first argument names."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise _UsageError(no_such_command(args[0], self.list_commands(ctx)), ctx=ctx)
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; without any, print the help on standard error and exit with 2, as uv and ruff do.

        Click has its own way, but that depends on the release: up to 8.1 the help is a result and the exit code 0, from
        8.2 on it is the message of an exception.
        """
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(colored_help(TyperGroup.get_help(self, ctx), sys.stderr), err=True)
            raise typer.Exit(2)
        return list(super().parse_args(ctx, args))

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the program's own options."""
        Verbosity.level, Downloads.allowed = NORMAL, False
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
        except (OSError, TypeError, ValueError, ImportError, MemoryError, OverflowError, NoCoreError) as error:
            _give_up_stdout()
            if not isinstance(error, BrokenPipeError):  # otherwise the reader, such as `head`, has ended
                if Verbosity.level == VERBOSE:
                    traceback.print_exception(error)
                command = self.get_command(ctx, ctx.invoked_subcommand or "")
                say(f"error: {words_of_shell(error_message(error), command.params if command else [])}")
                raise typer.Exit(1) from None


app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


# The groups of commands in `hf-bpe --help`.
TRAIN = "Train a tokenizer"
USE = "Encode and decode"
LOOK = "Look and measure"
EDIT = "Edit a vocabulary"
CONVERT = "Convert, inspect, verify"
HELP = "Help"

_QUIET_HELP = "Print only results, warnings and errors."
_VERBOSE_HELP = "For an error, also print where it was raised."
# The options of most commands. `download` is for commands that load a tokenizer.
SWITCHES = {
    "quiet": (Annotated[bool, option(_QUIET_HELP, "--quiet", "-q", panel="Output")], False),
    "verbose": (Annotated[bool, option(_VERBOSE_HELP, "--verbose", "-v", panel="Output")], False),
    "download": (Annotated[bool, option(DOWNLOAD_HELP, "--download", panel="Machine")], False),
}


def command(
    *, group: str | None = None, loads_tokenizer: bool = True, **settings: Any
) -> Callable[[Function], Function]:
    """Return the decorator that makes a function a command of a group, with the options that commands share.

    Only one that loads a tokenizer has `--download`; `settings` are what else typer takes for a command.
    """
    switches = {name: switch for name, switch in SWITCHES.items() if loads_tokenizer or name != "download"}

    def decorate(function: Function) -> Function:
        run = with_command_options(_set_switches, switches)(function)
        app.command(cls=InterruptibleCommand, rich_help_panel=group, **settings)(run)
        return function

    return decorate


def _set_switches(quiet: bool, verbose: bool, download: bool = False) -> None:
    if quiet or verbose:
        Verbosity.level = VERBOSE if verbose else QUIET
    Downloads.allowed = download


def main() -> None:
    """Run the command line: the entry point of the script `hf-bpe`."""
    # No command needs torch, but transformers imports it with AutoTokenizer: seconds, and 250 MB. None hides a package.
    sys.modules.setdefault("torch", None)  # type: ignore[arg-type]
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
    """Train, use, measure, edit and convert BPE tokenizers for Hugging Face transformers."""


@contextlib.contextmanager
def _usage_errors_said() -> Iterator[None]:
    """Say errors of usage like all errors, and exit with 2."""
    try:
        yield
    except _UsageError as error:
        program = "hf-bpe" if error.ctx is None else error.ctx.command_path
        say(f"error: {usage_message(error)} (see {program} --help)")
        raise typer.Exit(2) from None


def _give_up_stdout() -> None:
    """Keep Python from flushing a broken standard output again at exit, with a traceback."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
