"""The commands `encode` and `decode`.

Input and output are bytes; no encoding or line end is translated.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

import typer

from hf_bpe._utils.arguments import MAX_INT64, MAX_UINT64
from hf_bpe._utils.input_files import open_stream
from hf_bpe.cli.id_files import ids_of_array
from hf_bpe.cli.options import EXAMPLE, Json, argument, option, size_of_at_least
from hf_bpe.cli.outputs import Force
from hf_bpe.cli.program import USE, command
from hf_bpe.cli.sources import (
    COLUMN_HELP,
    FORMAT_DEFAULT,
    FORMAT_HELP,
    ON_ERROR_HELP,
    SOURCE_HELP,
    STDIN,
    WORKERS_HELP,
    Progress,
    check_text_file,
    is_found,
    open_input,
    standard_input,
    text_file,
)
from hf_bpe.cli.token_files import ONLY_FOR_FILES, write_token_files
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, load
from hf_bpe.counting._locations import Format
from hf_bpe.counting._readers import Skipped, read_documents
from hf_bpe.counting._sources import OnError, Source, plan

_TOKEN_ID = re.compile(rb"-?[0-9]{1,19}")  # int() alone would accept 1_000 and fail for long numbers
_PART_BYTES = 1 << 20  # of a line to read at once
_Folder = Annotated[str, argument("FOLDER", FOLDER_HELP)]
_File = Annotated[str, argument("FILE", "The file to read; - for standard input.")]

_SOURCE_HELP = SOURCE_HELP.replace("- for", "- or none for")
_TEXT_HELP = "The text itself, instead of a SOURCE."
_LINES_HELP = "Encode each line separately, without its newline, and print one line of ids for each."
_AS_TEXT_HELP = "Encode special tokens as ordinary text."
_OUTPUT_HELP = (
    "Write the ids to this file instead, for training, with a manifest next to it; for mds, to this folder. The suffix "
    "of the format may be left out."
)
_FILES_HELP = "With --output, the format of the files: that of NumPy, or of what will read them."
_SEPARATOR_HELP = (
    "With --output, the token that ends a document of a text file and is its last id; in a record it is ordinary text."
)
_APPEND_HELP = "With --output, put the separator after documents that do not end with it."
_BEGIN_HELP = "With --output, put this token before each document."
_PACK_HELP = "With --output, write sequences of N ids instead of documents, such as 2048 or 2Ki."
_ACROSS_HELP = "Whether a sequence may hold ids of several documents; if so, the last ids that fill none are left out."
_SHARD_TOKENS_HELP = "With --output, begin another file after the document or sequence that brings this one to N ids."
_SHARD_HELP = (
    "With --output, encode part I of N, with I from 0 to N-1, for N jobs on the same sources. The files of all parts, "
    "in their order, hold what one job would have written; merge-manifests checks them."
)
_WORK_HELP = (
    "With --output, a folder for what is encoded, from which the same command resumes after an interruption. Delete it "
    "when done."
)
_COPY_HELP = (
    "With --output and --format parquet or arrow, copy a column of JSON lines or Parquet next to the ids, as text. "
    "Give it once for each column."
)
_MASK_HELP = (
    "With --output and --format datatrove, parquet or arrow, write which ids are learned: all but those of the ranges "
    "of characters, pairs [begin, end], in this column of JSON lines or Parquet."
)
_DROPOUT_HELP = (
    "With --output, encode at random by BPE-dropout: skip a merge with this probability each time it could be applied."
)
_SEED_HELP = "The seed for --dropout. The ids do not depend on the number of workers."
_ENCODE_EXAMPLE = (
    "hf-bpe encode my-tokenizer --text 'Hello, world'\n"
    "  cat book.txt | hf-bpe encode my-tokenizer --lines\n"
    "  hf-bpe encode my-tokenizer *.txt -o tokens.npy\n"
    "  hf-bpe encode my-tokenizer corpus/ -o data/corpus --format megatron --work-dir work"
)
_TokenFormat = Literal["npy", "megatron", "datatrove", "nanogpt", "llm.c", "mds", "parquet", "arrow"]


@command(group=USE, epilog=EXAMPLE + _ENCODE_EXAMPLE)
def encode(
    context: typer.Context,
    folder: _Folder,
    files: Annotated[list[str] | None, argument("SOURCE", _SOURCE_HELP)] = None,
    output: Annotated[Path | None, option(_OUTPUT_HELP, "--output", "-o", metavar="FILE")] = None,
    format: Annotated[_TokenFormat, option(_FILES_HELP, "--output-format", "--format")] = "npy",
    text: Annotated[str | None, option(_TEXT_HELP, metavar="TEXT")] = None,
    separator: Annotated[
        str | None, option(_SEPARATOR_HELP, metavar="TOKEN", show_default="the tokenizer's eos_token")
    ] = None,
    append_separator: Annotated[
        bool | None, option(_APPEND_HELP, show_default="if there is a separator", panel="Token files")
    ] = None,
    begin_token: Annotated[str | None, option(_BEGIN_HELP, metavar="TOKEN", panel="Token files")] = None,
    pack: Annotated[
        int | None, option(_PACK_HELP, metavar="N", parser=size_of_at_least(1), show_default="documents")
    ] = None,
    pack_across: Annotated[bool, option(_ACROSS_HELP, panel="Token files")] = True,
    shard_tokens: Annotated[
        int | None,
        option(
            _SHARD_TOKENS_HELP,
            metavar="N",
            parser=size_of_at_least(1),
            show_default="one file, 16Mi for mds",
            panel="Token files",
        ),
    ] = None,
    shard: Annotated[str | None, option(_SHARD_HELP, metavar="I/N", panel="Machine", show_default="everything")] = None,
    copy_columns: Annotated[
        list[str] | None, option(_COPY_HELP, "--copy-column", metavar="NAME", panel="Token files")
    ] = None,
    loss_mask: Annotated[str | None, option(_MASK_HELP, metavar="COLUMN", panel="Token files")] = None,
    work_dir: Annotated[Path | None, option(_WORK_HELP, metavar="FOLDER", panel="Machine")] = None,
    dropout: Annotated[float | None, option(_DROPOUT_HELP, metavar="P", min=0, max=1, panel="Token files")] = None,
    seed: Annotated[int | None, option(_SEED_HELP, metavar="SEED", min=0, max=MAX_UINT64, panel="Token files")] = None,
    lines: Annotated[bool, option(_LINES_HELP, "--lines")] = False,
    split_special_tokens: Annotated[bool, option(_AS_TEXT_HELP, "--split-special-tokens", panel="Text")] = False,
    input_format: Annotated[Format | None, option(FORMAT_HELP, panel="Text", show_default=FORMAT_DEFAULT)] = None,
    column: Annotated[str, option(COLUMN_HELP, metavar="NAME", panel="Text")] = "text",
    on_error: Annotated[OnError, option(ON_ERROR_HELP, panel="Text")] = "raise",
    workers: Annotated[int | None, option(WORKERS_HELP, metavar="N", min=1, show_default="one a core")] = None,
    progress: Progress = None,
    pattern: RankPattern = "auto",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Encode text as token ids.

    The ids are printed, separated by spaces, or written to files for training. Each file of text is one document, its
    last newline included, unless --lines is given, and so is each record of JSON lines and Parquet. Text may hold any
    bytes, UTF-8 or not: decode gives back the same. Printed ids are held in memory, and no special tokens are added to
    them; files of ids may have any size.
    """
    reading = {"format": input_format, "column": column, "errors": "bytes", "on_error": on_error}
    if text is not None and files:
        raise typer.BadParameter("cannot be combined with SOURCE", param_hint="'--text'")
    if output is not None:
        _refuse_given(context, ["lines", "text"], "for printed ids")
        if pack is None:
            _refuse_given(context, ["pack_across"], "with --pack")
        write_token_files(folder, files or [], output, context.params, reading)
        return
    _refuse_given(context, [*ONLY_FOR_FILES, "workers", "progress", "force", "as_json"], "for --output")
    tokenizer = load(folder, pattern)
    sources = files or [STDIN]
    found = (each for file in sources for each in _texts(file, reading, lines))
    for each in found if text is None else _lines(io.BytesIO(os.fsencode(text)), lines):
        ids = tokenizer.encode_bytes(each, split_special_tokens=split_special_tokens or None)
        sys.stdout.buffer.write(" ".join(map(str, ids)).encode() + b"\n")
        sys.stdout.buffer.flush()  # an interactive caller may wait for each answer


def _refuse_given(context: typer.Context, names: Iterable[str], where: str) -> None:
    """Raise an error of usage for options that were given where they mean nothing."""
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if param.name in names and source is not None and source.name != "DEFAULT":
            shown = " / ".join(each for each in param.opts if each.startswith("--"))
            raise typer.BadParameter(f"is only {where}", param_hint=f"'{shown}'")


def _texts(name: str, reading: dict[str, Any], lines: bool) -> Iterator[str | bytes]:
    """Yield the texts of a source, of which each has its own line of ids."""
    if name != STDIN and not is_found(name):
        check_text_file(name, "encode")
    shards = [] if name == STDIN else plan(Source(name, **reading), shard_bytes=MAX_INT64)
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
            yield from _lines(io.BytesIO(b"".join(map(_as_bytes, read_documents(shard, Skipped())))), lines)


def _as_bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode()


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

    The ids are separated by white space, or in a .npy file that encode has written; there --lines ends each document
    with a newline. Exactly the bytes of the tokens are written, with nothing between or after them unless --lines is
    given. An id that is not in the vocabulary is an error, unless there is an unk_token.
    """
    tokenizer = load(folder, pattern)
    known = None if tokenizer.unk_token is not None else {*tokenizer.model.vocab, *tokenizer.added_tokens_decoder}

    def write(ids: list[int], where: str, end: bytes) -> None:
        if known is not None and (unknown := next((each for each in ids if each not in known), None)) is not None:
            raise ValueError(f"{where}: the id {unknown} is not in the vocabulary")
        text = tokenizer.decode_bytes(ids, skip_special_tokens=skip_special_tokens)
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
