"""The commands `show`, which displays a text as its tokens, and `tree`, which displays the merges of a token."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from hf_bpe._utils.files import write_atomically
from hf_bpe.cli.messages import say
from hf_bpe.cli.options import EXAMPLE, argument, option
from hf_bpe.cli.outputs import Force, check_file
from hf_bpe.cli.program import command
from hf_bpe.cli.sources import STDIN, open_input
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, load, tokenizer_name

if TYPE_CHECKING:
    from rich.console import RenderableType

_TEXT_HELP = "The text itself, instead of a file."
_IDS_HELP = "Print the id after each token."
_PRE_TOKENS_HELP = "Show the pre-tokens that the pattern cuts, instead of the tokens."
_MAX_HELP = "Show at most N tokens; all are counted."
_HTML_HELP = "Write an HTML page to this file instead of printing."
_COLOR_HELP = "Print in colors, or as plain text."
_SHOW_EXAMPLE = "hf-bpe show my-tokenizer book.txt | less\n  hf-bpe show my-tokenizer --text 'Hello, world' --ids"
_TOKEN_HELP = "The token as text, or as in vocab.json."
_TREE_EXAMPLE = "hf-bpe tree my-tokenizer ' the'\n  hf-bpe tree my-tokenizer --id 262"
_Folder = Annotated[str, argument("FOLDER", FOLDER_HELP)]
_Html = Annotated[Path | None, option(_HTML_HELP, metavar="FILE", show_default="none")]
_Color = Annotated[
    bool | None, option(_COLOR_HELP, "--color/--no-color", show_default="if stdout is a terminal, unless NO_COLOR")
]


@command(epilog=EXAMPLE + _SHOW_EXAMPLE)
def show(
    folder: _Folder,
    file: Annotated[str, argument("FILE", "The file to read; - for standard input.")] = STDIN,
    text: Annotated[str | None, option(_TEXT_HELP, metavar="TEXT", show_default="none")] = None,
    ids: Annotated[bool, option(_IDS_HELP, "--ids")] = False,
    pre_tokens: Annotated[bool, option(_PRE_TOKENS_HELP, "--pre-tokens")] = False,
    max_tokens: Annotated[int, option(_MAX_HELP, metavar="N", min=1)] = 5000,
    html: _Html = None,
    color: _Color = None,
    pattern: RankPattern = "auto",
    force: Force = False,
) -> None:
    """Show a text as its tokens.

    They are printed in colors on a terminal, otherwise with | between them. The tokens are those of encode. A space is
    shown as ·, a tab as →, a newline as ↵, a byte of a partial character as <e4>, and any other invisible character by
    its code point, as <U+200B>.
    """
    from hf_bpe.analysis._show import show as shown

    if text is not None and file != STDIN:
        raise typer.BadParameter("cannot be combined with a FILE", param_hint="'--text'")
    if ids and pre_tokens:
        raise typer.BadParameter("cannot be combined with --ids", param_hint="'--pre-tokens'")
    if text is None and file != STDIN and not Path(file).exists():
        raise FileNotFoundError(f"there is no file {file!r}; to show this text itself, give --text {file!r}")
    check_file(html, force)
    tokenizer = load(folder, pattern)
    if text is not None:
        data = os.fsencode(text)
    else:
        with open_input(file) as source:
            data = source.read()
    tokens = shown(tokenizer, data, ids=ids, pre_tokens=pre_tokens, max_tokens=max_tokens)
    if html is not None:
        name = "a text" if text is not None else "standard input" if file == STDIN else Path(file).name
        _save(tokens.to_html(f"Tokens of {name} by {tokenizer_name(folder)}"), html)
    else:
        _print(tokens.marked, tokens.colored, color)
    say(tokens.summary)


@command(epilog=EXAMPLE + _TREE_EXAMPLE)
def tree(
    folder: _Folder,
    token: Annotated[str | None, argument("TOKEN", _TOKEN_HELP, show_default="none")] = None,
    token_id: Annotated[
        int | None, option("The id of the token, instead of TOKEN.", "--id", metavar="N", show_default="none")
    ] = None,
    html: _Html = None,
    color: _Color = None,
    pattern: RankPattern = "auto",
    force: Force = False,
) -> None:
    """Show the merges that make a token.

    They are printed down to the bytes, with ids and ranks.
    """
    from hf_bpe.analysis._show import merge_tree

    if (token is None) == (token_id is None):
        raise typer.BadParameter("expected either a TOKEN or --id", param_hint="'TOKEN'")
    check_file(html, force)
    found = merge_tree(load(folder, pattern), cast("int | str", token_id if token is None else token))
    if html is not None:
        _save(found.to_html(f"{found.title} of {tokenizer_name(folder)}"), html)
    else:
        _print(str(found), lambda _: found, color)


def _save(page: str, file: Path) -> None:
    write_atomically(file, page)
    say(f"saved in {file}")


def _print(plain: str, colored: Callable[[str | None], RenderableType], color: bool | None) -> None:
    """Print with or without colors, always in UTF-8, because few other encodings have the signs."""
    from rich.console import Console

    terminal = Console(force_terminal=color)  # detects what the terminal supports
    if color is None:
        can_color = terminal.color_system is not None and not (terminal.no_color or terminal.legacy_windows)
        color = terminal.is_terminal and can_color
    if color:
        system = cast("Literal['standard', '256', 'truecolor', 'windows']", terminal.color_system or "truecolor")
        drawn = Console(
            file=io.StringIO(),
            force_terminal=True,
            color_system=system,
            no_color=False,
            width=terminal.width,
            soft_wrap=not sys.stdout.isatty(),
            legacy_windows=False,
        )
        with drawn.capture() as capture:
            drawn.print(colored(system))
        plain = capture.get().removesuffix("\n")
    sys.stdout.buffer.write(plain.encode() + b"\n")
    sys.stdout.buffer.flush()
