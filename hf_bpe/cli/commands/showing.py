"""The commands `show`, which displays a text as its tokens, `tree`, the merges of one, and `playground`, typed text."""

from __future__ import annotations

import io
import json
import os
import sys
import threading
import webbrowser
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from hf_bpe._utils.files import write_atomically
from hf_bpe._utils.input_files import decode, read_bounded
from hf_bpe._utils.visible import printable
from hf_bpe.cli.messages import say
from hf_bpe.cli.options import EXAMPLE, argument, option
from hf_bpe.cli.outputs import Force, check_file
from hf_bpe.cli.program import LOOK, Terminated, command
from hf_bpe.cli.sources import STDIN, check_text_file, open_input
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, for_chats, load, load_several, tokenizer_name

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hf_bpe.analysis._show import Shown
    from hf_bpe.analysis._tokenizers import AnyTokenizer

_MORE_HELP = (
    "More tokenizers for the same text, and last the file with the text; - or none for standard input. With --text or "
    "--chat all are tokenizers."
)
_TEXT_HELP = "The text itself, instead of a file."
_CHAT_HELP = 'Show a chat turn by turn: a JSON list of {"role": …, "content": …}, in the tokenizer\'s chat template.'
_IDS_HELP = "Print the id after each token."
_PRE_TOKENS_HELP = "Show the pre-tokens that the pattern cuts, instead of the tokens."
_MAX_HELP = "Show at most N tokens; all are counted."
_HTML_HELP = "Write an HTML page to this file instead of printing."
_COLOR_HELP = "Print in colors, or as plain text."
_SHOW_EXAMPLE = (
    "hf-bpe show my-tokenizer book.txt | less\n"
    "  hf-bpe show my-tokenizer other-tokenizer --text 'Hello, world' --ids\n"
    "  hf-bpe show my-tokenizer --chat messages.json"
)
_TOKEN_HELP = "The token as text, or as in vocab.json."
_TREE_EXAMPLE = "hf-bpe tree my-tokenizer ' the'\n  hf-bpe tree my-tokenizer --id 262"
_START_HELP = "The text that the page begins with."
_PORT_HELP = "The port to listen on; 0 for a free one."
_PLAYGROUND_EXAMPLE = (
    "hf-bpe playground my-tokenizer\n  hf-bpe playground small large cl100k_base.tiktoken --port 8000 --no-browser"
)
_FORCE_COLORS = {"FORCE_COLOR", "TTY_COMPATIBLE"}  # by which rich takes a file for a terminal
_Folder = Annotated[str, argument("FOLDER", FOLDER_HELP)]
_Html = Annotated[Path | None, option(_HTML_HELP, metavar="FILE")]
_Color = Annotated[
    bool | None, option(_COLOR_HELP, "--color/--no-color", show_default="if stdout is a terminal, unless NO_COLOR")
]


@command(group=LOOK, epilog=EXAMPLE + _SHOW_EXAMPLE)
def show(
    folder: _Folder,
    more: Annotated[list[str] | None, argument("FOLDER|FILE", _MORE_HELP)] = None,
    text: Annotated[str | None, option(_TEXT_HELP, metavar="TEXT")] = None,
    chat: Annotated[Path | None, option(_CHAT_HELP, metavar="FILE")] = None,
    ids: Annotated[bool, option(_IDS_HELP, "--ids")] = False,
    pre_tokens: Annotated[bool, option(_PRE_TOKENS_HELP, "--pre-tokens")] = False,
    max_tokens: Annotated[int, option(_MAX_HELP, metavar="N", min=1)] = 5000,
    html: _Html = None,
    color: _Color = None,
    pattern: RankPattern = "auto",
    force: Force = False,
) -> None:
    """Show a text as its tokens, by one tokenizer or by several.

    They are printed in colors on a terminal, otherwise with | between them. The tokens are those of encode. A space is
    shown as ·, a tab as →, a newline as ↵, a byte of a partial character as <e4>, and any other invisible character by
    its code point, as <U+200B>.
    """
    from hf_bpe.analysis._show import page_of_several
    from hf_bpe.analysis._show import show as shown

    if ids and pre_tokens:
        raise typer.BadParameter("cannot be combined with --ids", param_hint="'--pre-tokens'")
    if chat is not None and (text is not None or pre_tokens):
        raise typer.BadParameter("cannot be combined with --text or --pre-tokens", param_hint="'--chat'")
    folders, file = _divide([folder, *(more or [])], is_text_given=text is not None or chat is not None)
    check_file(html, force)
    tokenizers = load_several(folders, pattern) if len(folders) > 1 else {tokenizer_name(folder): load(folder, pattern)}
    options: dict[str, Any] = {"ids": ids, "pre_tokens": pre_tokens, "max_tokens": max_tokens}
    results: list[tuple[str, Shown]] = []
    if chat is not None:
        messages = _read_messages(chat)
        for name, tokenizer in tokenizers.items():
            whole, turns = _show_turns(name, for_chats(tokenizer), messages, options)
            results += [(f"{name}, {turn}" if len(tokenizers) > 1 else turn, tokens) for turn, tokens in turns]
            say(f"{name}: {whole.summary}")
        source = chat.name
    else:
        data = os.fsencode(text) if text is not None else _read(file)
        results = [(name, shown(tokenizer, data, **options)) for name, tokenizer in tokenizers.items()]
        source = "a text" if text is not None else "standard input" if file == STDIN else Path(file).name
    title = f"Tokens of {source} by {' and '.join(tokenizers)}"
    if len(results) == 1 and chat is None:
        ((_, tokens),) = results
        if html is not None:
            _save(tokens.to_html(title), html)
        else:
            _print(tokens.marked, tokens.colored, color)
        say(tokens.summary)
        return
    if html is not None:
        _save(page_of_several(results, title), html)
        return
    for number, (heading, tokens) in enumerate(results):
        _write(f"{chr(10) * (number > 0)}{printable(heading)}: {tokens.summary}")
        _print(tokens.marked, tokens.colored, color)


def _divide(names: Sequence[str], *, is_text_given: bool) -> tuple[list[str], str]:
    """Return the tokenizers that a command line names, and the file with the text, which is the last of several."""
    if is_text_given or len(names) == 1 or Path(names[-1]).is_dir():
        return [*names], STDIN
    *folders, file = names
    if file != STDIN:
        check_text_file(file, "show")
    return folders, file


def _read(file: str) -> bytes:
    with open_input(file) as source:
        return source.read()


def _read_messages(path: Path) -> list[Mapping[str, Any]]:
    """Return the messages of a chat in a file of JSON: a list, or an object that holds it as `messages`."""
    try:
        content = json.loads(decode(path, read_bounded(path, "list of messages")))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: expected JSON, a list of messages: {error}") from None
    messages = content.get("messages") if isinstance(content, dict) else content
    are_messages = isinstance(messages, list) and all(
        isinstance(each, dict) and isinstance(each.get("role"), str) and isinstance(each.get("content"), str)
        for each in messages
    )
    if not messages or not are_messages:
        raise ValueError(
            f'{path}: expected a list of messages, such as [{{"role": "user", "content": "Hello"}}], with a role and '
            "a content that are text"
        )
    return cast("list[Mapping[str, Any]]", messages)


def _show_turns(
    name: str, tokenizer: AnyTokenizer, messages: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
) -> tuple[Shown, list[tuple[str, Shown]]]:
    """Return the tokens of a chat, and of each turn; of all as one part if they do not decode to the text."""
    from dataclasses import replace

    from hf_bpe.analysis._show import show as shown
    from hf_bpe.encoding._encoder import as_str
    from hf_bpe.playground._chats import render_turns

    try:
        text, parts = render_turns(tokenizer, messages, add_generation_prompt=False)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    whole = shown(tokenizer, text, **options)
    if not whole.is_exact:
        return whole, [("all turns", whole)]
    starts = [len(as_str(text[: part.start]).encode()) for part in parts]
    turns: list[list[Any]] = [[] for _ in parts]
    place = 0
    for token in whole.tokens:
        turns[bisect_right(starts, place) - 1].append(token)
        place += len(token.data)
    sizes = [sum(len(token.data) for token in tokens) for tokens in turns]
    return whole, [
        (part.name, replace(whole, tokens=(*tokens,), num_tokens=len(tokens), num_bytes=size))
        for part, tokens, size in zip(parts, turns, sizes, strict=True)
        if tokens
    ]


@command(group=LOOK, epilog=EXAMPLE + _TREE_EXAMPLE)
def tree(
    folder: _Folder,
    token: Annotated[str | None, argument("TOKEN", _TOKEN_HELP)] = None,
    token_id: Annotated[int | None, option("The id of the token, instead of TOKEN.", "--id", metavar="N")] = None,
    html: _Html = None,
    color: _Color = None,
    pattern: RankPattern = "auto",
    force: Force = False,
) -> None:
    """Show the merges that make a token.

    They are printed down to the bytes, with ids and ranks.
    """
    from hf_bpe.analysis import merge_tree

    if (token is None) == (token_id is None):
        raise typer.BadParameter("expected either a TOKEN or --id", param_hint="'TOKEN'")
    check_file(html, force)
    tokenizer = load(folder, pattern)
    try:
        merges = merge_tree(tokenizer, cast("int | str", token_id if token is None else token))
    except ValueError as error:
        if token is None or not token.isascii() or not token.isdigit():
            raise
        raise ValueError(f"{error}; for the token with the id {token} give --id {token}") from None
    if html is not None:
        _save(merges.to_html(f"{merges.title} of {tokenizer_name(folder)}"), html)
    else:
        _print(str(merges), lambda _: merges, color)


@command(group=LOOK, epilog=EXAMPLE + _PLAYGROUND_EXAMPLE)
def playground(
    folders: Annotated[list[str], argument("FOLDER", f"{FOLDER_HELP} One or more.")],
    text: Annotated[str, option(_START_HELP, metavar="TEXT")] = "",
    port: Annotated[int, option(_PORT_HELP, metavar="N", min=0, max=65535)] = 0,
    no_browser: Annotated[bool, option("Do not open the page in a browser.", "--no-browser")] = False,
    pattern: RankPattern = "auto",
) -> None:
    """Type text and see its tokens, in a browser on this machine.

    Several tokenizers are shown side by side. The first line printed is the address of the page, which has a secret:
    without it nobody on this machine, and no other page in the browser, can ask for anything. Ctrl-C ends it.
    """
    from hf_bpe.playground import Playground

    tokenizers = {name: for_chats(definition) for name, definition in load_several(folders, pattern).items()}
    with Playground(tokenizers, text=text, port=port, in_frames=False) as page:
        try:
            print(page.url, flush=True)
            say("this address works on this machine until Ctrl-C")
            if not no_browser:  # in a thread, for browsers in a terminal do not return
                threading.Thread(target=webbrowser.open, args=(page.url,), daemon=True).start()
            page.wait()
        except Terminated:
            raise
        except KeyboardInterrupt:
            say("ended")


def _save(page: str, file: Path) -> None:
    write_atomically(file, page)
    say(f"saved in {file}")


def _print(plain: str, colored: Callable[[str | None], RenderableType], color: bool | None) -> None:
    """Print with or without colors, always in UTF-8, because few other encodings have the signs."""
    if color is False or (color is None and not sys.stdout.isatty() and not _FORCE_COLORS & {*os.environ}):
        _write(plain)
        return
    from rich.console import Console  # as slow as the rest of the command

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
    _write(plain)


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode() + b"\n")
    sys.stdout.buffer.flush()
