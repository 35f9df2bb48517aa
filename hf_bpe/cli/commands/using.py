"""The commands `encode` and `decode`.

Input and output are bytes; no encoding or line end is translated.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import typer

from hf_bpe import counting
from hf_bpe._utils.arguments import MAX_INT64
from hf_bpe._utils.input_files import open_stream
from hf_bpe.cli.id_files import ids_of_array
from hf_bpe.cli.options import EXAMPLE, argument, option
from hf_bpe.cli.program import USE, command
from hf_bpe.cli.sources import (
    STDIN,
    InputFormat,
    ManySources,
    OnErrorPolicy,
    SplitSpecialTokens,
    TextColumn,
    check_text_file,
    is_found,
    open_input,
    standard_input,
    text_file,
)
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, load

_TOKEN_ID = re.compile(rb"-?[0-9]{1,19}")  # int() alone would accept 1_000 and fail for long numbers
_PART_BYTES = 1 << 20  # of a line to read at once
_Folder = Annotated[str, argument("FOLDER", FOLDER_HELP)]
_File = Annotated[str, argument("FILE", "The file to read; - for standard input.")]

_TEXT_HELP = "The text itself, instead of a SOURCE."
_LINES_HELP = "Encode each line separately, without its newline, and print one line of ids for each."


@command(
    group=USE,
    epilog=EXAMPLE
    + "hf-bpe encode my-tokenizer --text 'Hello, world'\n  cat book.txt | hf-bpe encode my-tokenizer --lines",
)
def encode(
    folder: _Folder,
    files: ManySources = None,
    text: Annotated[str | None, option(_TEXT_HELP, metavar="TEXT")] = None,
    lines: Annotated[bool, option(_LINES_HELP, "--lines")] = False,
    split_special_tokens: SplitSpecialTokens = False,
    input_format: InputFormat = None,
    column: TextColumn = "text",
    on_error: OnErrorPolicy = "raise",
    pattern: RankPattern = "auto",
) -> None:
    """Print the token ids of text.

    The ids are separated by spaces. Each file of text is one text, its last newline included, unless --lines is given,
    and so is each record of JSON lines and Parquet. Text may hold any bytes, UTF-8 or not: decode gives back the same.
    Ids are held in memory, and no special tokens are added; encode-files writes files of any size.
    """
    from hf_bpe.formats._pipeline import Pipeline

    reading = {"format": input_format, "column": column, "errors": "bytes", "on_error": on_error}
    if text is not None and files:
        raise typer.BadParameter("cannot be combined with SOURCE", param_hint="'--text'")
    pipeline = Pipeline.from_definition(load(folder, pattern))
    options = pipeline.options(split_special_tokens or None).for_bytes()
    sources = files or [STDIN]
    texts = (each for file in sources for each in _texts(file, reading, lines))
    for each in texts if text is None else _lines(io.BytesIO(os.fsencode(text)), lines):
        ids = pipeline.encoder.encode(each, options)
        sys.stdout.buffer.write(" ".join(map(str, ids)).encode() + b"\n")
        sys.stdout.buffer.flush()  # an interactive caller may wait for each answer


def _texts(name: str, reading: dict[str, Any], lines: bool) -> Iterator[str | bytes]:
    """Yield the texts of a source, one for each line of ids."""
    from hf_bpe.counting._error_policy import Skipped
    from hf_bpe.counting._readers import as_bytes, read_documents

    if name != STDIN and not is_found(name):
        check_text_file(name, "encode")
    shards = [] if name == STDIN else counting.plan(counting.Source(name, **reading), shard_bytes=MAX_INT64)
    if name == STDIN and reading["format"] is None:
        yield from _lines(standard_input(), lines)
        return
    if name == STDIN:
        with text_file(name) as copy:
            yield from _texts(str(copy), reading, lines)
        return
    for shard in shards:
        if shard.format != "text":
            yield from read_documents(shard, Skipped())
        elif shard.is_local and shard.compression is None:
            with open_stream(shard.name) as source:
                yield from _lines(source, lines)
        else:
            yield from _lines(io.BytesIO(b"".join(map(as_bytes, read_documents(shard, Skipped())))), lines)


def _lines(source: BinaryIO, lines: bool) -> Iterator[bytes]:
    yield from (line.removesuffix(b"\n") for line in source) if lines else [source.read()]


@command(
    group=USE, epilog=EXAMPLE + "echo 72 105 10 | hf-bpe decode my-tokenizer\n  hf-bpe decode my-tokenizer tokens.npy"
)
def decode(
    folder: _Folder,
    file: _File = STDIN,
    lines: Annotated[bool, option("Write a newline after the text of each line of ids.", "--lines")] = False,
    skip_special_tokens: Annotated[bool, option("Leave special tokens out.", "--skip-special-tokens")] = False,
    pattern: RankPattern = "auto",
) -> None:
    """Write the text of token ids.

    The ids are separated by white space, or in a .npy file that encode-files has written; there --lines ends each
    document with a newline. Exactly the bytes of the tokens are written, with nothing between or after them unless
    --lines is given. An id that is not in the vocabulary is an error, unless there is an unk_token.
    """
    from hf_bpe.formats._pipeline import Pipeline

    pipeline = Pipeline.from_definition(load(folder, pattern))
    vocab = None if "unk_token" in pipeline.names else {*pipeline.model.vocab, *pipeline.added_tokens}

    def write(ids: list[int], where: str, end: bytes) -> None:
        if vocab is not None and (unknown := next((each for each in ids if each not in vocab), None)) is not None:
            raise ValueError(f"{where}: the id {unknown} is not in the vocabulary")
        text = pipeline.decode_bytes(ids, skip_special_tokens)
        sys.stdout.buffer.write(text + end)
        sys.stdout.buffer.flush()

    if file.endswith(".npy"):
        for ids, is_end in ids_of_array(Path(file), by_document=lines):
            write(ids.tolist(), file, b"\n" if is_end else b"")
        return
    with open_input(file) as source:
        for number, words, is_end in _words(source):
            for word in words:
                if not _TOKEN_ID.fullmatch(word):
                    raise ValueError(f"line {number}: expected a token id, got {word[:80].decode(errors='replace')!r}")
            write([*map(int, words)], f"line {number}", b"\n" if lines and is_end else b"")


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
