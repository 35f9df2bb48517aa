"""The commands `encode` and `decode`.

Input and output are bytes; no encoding or line end is translated.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from hf_bpe.cli.shared import (
    EXAMPLE,
    FOLDER_HELP,
    STDIN,
    WORKERS_HELP,
    Progress,
    app,
    argument,
    load,
    open_input,
    option,
    say,
    shows_progress,
    text_file,
)

_TOKEN_ID = re.compile(rb"-?[0-9]{1,19}")  # int() alone would accept 1_000 and fail for long numbers
_PART_BYTES = 1 << 20  # of a line to read at once
_Folder = Annotated[str, argument("FOLDER", FOLDER_HELP)]
_File = Annotated[str, argument("FILE", "The file to read; - for standard input.")]

_LINES_HELP = "Encode each line separately, without its newline, and print one line of ids for each."
_AS_TEXT_HELP = "Encode special tokens as ordinary text."
_ARRAY_HELP = (
    "Write the ids to this .npy file instead, for training, and the offsets of documents to a file next to it."
)
_SEPARATOR_HELP = "With --output, the token that ends a document and is its last id; the end of a file also ends one."
_ENCODE_EXAMPLE = "echo 'Hello, world' | hf-bpe encode my-tokenizer\n  hf-bpe encode my-tokenizer *.txt -o tokens.npy"


@app.command(epilog=EXAMPLE + _ENCODE_EXAMPLE)
def encode(
    folder: _Folder,
    files: Annotated[list[str] | None, argument("FILE", "Files to read; - or none for standard input.")] = None,
    output: Annotated[Path | None, option(_ARRAY_HELP, "--output", "-o", metavar="FILE")] = None,
    separator: Annotated[
        str | None, option(_SEPARATOR_HELP, metavar="TOKEN", show_default="the tokenizer's eos_token")
    ] = None,
    lines: Annotated[bool, option(_LINES_HELP, "--lines")] = False,
    split_special_tokens: Annotated[bool, option(_AS_TEXT_HELP, "--split-special-tokens")] = False,
    workers: Annotated[int | None, option(WORKERS_HELP, metavar="N", min=1, show_default="one a core")] = None,
    progress: Progress = None,
) -> None:
    """Print the token ids of texts, separated by spaces, or write them to a file for training.

    Each file is one text, its last newline included, unless --lines is given. It may hold any bytes, UTF-8 or not:
    decode gives back the same. No special tokens are added. Printed ids are held in memory; a file of ids may have any
    size.
    """
    if output is not None and lines:
        raise typer.BadParameter("is only for printed ids", param_hint="'--lines'")
    if output is None and separator is not None:
        raise typer.BadParameter("is only for --output", param_hint="'--separator'")
    tokenizer = load(folder)
    as_text = split_special_tokens or None  # None: the tokenizer's setting
    if output is not None:
        with contextlib.ExitStack() as stack:
            written = tokenizer.encode_file(
                [stack.enter_context(text_file(name)) for name in files or [STDIN]],
                output,
                separator=separator,
                split_special_tokens=as_text,
                num_workers=workers,
                show_progress=shows_progress(progress),
            )
        found = f"{written.num_tokens} tokens of {written.num_documents} documents"
        say(f"{found} saved in {written.ids}, offsets of the documents in {written.offsets}")
        return
    for file in files or [STDIN]:
        with open_input(file) as source:
            for text in (line.removesuffix(b"\n") for line in source) if lines else [source.read()]:
                ids = tokenizer.encode_bytes(text, split_special_tokens=as_text)
                sys.stdout.buffer.write(" ".join(map(str, ids)).encode() + b"\n")
                sys.stdout.buffer.flush()  # an interactive caller may wait for each answer


@app.command(epilog=EXAMPLE + "echo 72 105 10 | hf-bpe decode my-tokenizer")
def decode(
    folder: _Folder,
    file: _File = STDIN,
    lines: Annotated[bool, option("Write a newline after the text of each line of ids.", "--lines")] = False,
    skip_special_tokens: Annotated[bool, option("Leave special tokens out.", "--skip-special-tokens")] = False,
) -> None:
    """Write the text of token ids.

    The ids are separated by white space. Exactly the bytes of the tokens are written, with nothing between or after
    them unless --lines is given. An id that is not in the vocabulary is an error, unless there is an unk_token.
    """
    tokenizer = load(folder)
    known = None if tokenizer.unk_token is not None else {*tokenizer.model.vocab, *tokenizer.added_tokens_decoder}
    with open_input(file) as source:
        for number, words, is_end in _words(source):
            for word in words:
                if not _TOKEN_ID.fullmatch(word):
                    raise ValueError(f"line {number}: expected a token id, got {word[:80].decode(errors='replace')!r}")
                if known is not None and int(word) not in known:
                    raise ValueError(f"line {number}: the id {int(word)} is not in the vocabulary")
            text = tokenizer.decode_bytes([*map(int, words)], skip_special_tokens=skip_special_tokens)
            sys.stdout.buffer.write(text + b"\n" if lines and is_end else text)
            sys.stdout.buffer.flush()


def _words(source: BinaryIO) -> Iterator[tuple[int, list[bytes], bool]]:
    """Yield line number, words, and whether the line ends; a long line is yielded in several parts."""
    number, begun, is_end = 1, b"", True
    while part := source.readline(_PART_BYTES):
        is_end = part.endswith(b"\n") or len(part) < _PART_BYTES
        words = (begun + part).split()
        is_cut = not is_end and not part[-1:].isspace() and len(words[-1]) <= 20  # a longer word is not an id
        begun = words.pop() if is_cut else b""
        yield number, words, is_end
        number += is_end
    if not is_end:
        yield number, begun.split(), True
