"""The command `encode-files`: files of ids for training, from one job or many."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hf_bpe._utils.arguments import MAX_UINT64
from hf_bpe._utils.paths import check_destination, is_url
from hf_bpe._utils.visible import counted
from hf_bpe.cli.messages import report_done
from hf_bpe.cli.options import EXAMPLE, Json, argument, option, size_of_at_least
from hf_bpe.cli.outputs import Force, check_file, is_resumed
from hf_bpe.cli.program import SWITCHES, USE, command
from hf_bpe.cli.sources import (
    FORMAT_DEFAULT,
    FORMAT_HELP,
    STDIN,
    ManySources,
    OnErrorPolicy,
    Progress,
    SplitSpecialTokens,
    TextColumn,
    Workers,
    is_found,
    parse_share,
    shows_progress,
    text_file,
)
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, load
from hf_bpe.counting._locations import Format
from hf_bpe.counting._sources import Source, plan

if TYPE_CHECKING:
    from hf_bpe.token_files._manifest import EncodedFiles

_OUTPUT_HELP = "The file of ids, next to which a manifest is written; for mds, a folder. The suffix may be left out."
_FORMAT_HELP = "The format of the files: that of NumPy, or of what will read them."
_SEPARATOR_HELP = "The token that ends a document of a text file and is its last id; in a record it is ordinary text."
_APPEND_HELP = "Put the separator after documents that do not end with it."
_BEGIN_HELP = "Put this token before each document."
_PACK_HELP = "Write sequences of N ids instead of documents, such as 2048 or 2Ki."
_ACROSS_HELP = "Whether a sequence may hold ids of several documents; if so, the last ids that fill none are left out."
_SHARD_TOKENS_HELP = "Begin another file after the document or sequence that brings this one to N ids."
_SHARD_HELP = (
    "Encode part I of N, with I from 0 to N-1, for N jobs on the same sources. The files of all parts, in their order, "
    "hold what one job would have written; --merge checks them."
)
_MERGE_HELP = (
    "Check that all parts of --shard are there, and write the manifest of the whole: OUT is their folder, or the "
    "--output that they were given. Nothing is encoded, and the files of the parts stay as they are."
)
_WORK_HELP = (
    "A folder for what is encoded, from which the same command resumes after an interruption. Delete it when done."
)
_COPY_HELP = (
    "Copy a column of JSON lines or Parquet next to the ids, as text, in the formats parquet and arrow. Give it once "
    "for each column."
)
_MASK_HELP = (
    "Write which ids are learned, in the formats datatrove, parquet and arrow: all but those of the ranges of "
    "characters, pairs [begin, end], in this column of JSON lines or Parquet."
)
_DROPOUT_HELP = "Encode at random by BPE-dropout: skip a merge with this probability each time it could be applied."
_SEED_HELP = "The seed for --dropout. The ids do not depend on the number of workers."
_TokenFormat = Literal["npy", "megatron", "datatrove", "nanogpt", "llm.c", "mds", "parquet", "arrow"]
_OF_MERGING = {"merge", "force", "as_json", *SWITCHES}


@command(
    group=USE,
    epilog=EXAMPLE
    + "hf-bpe encode-files my-tokenizer *.txt -o tokens.npy\n"
    + "  hf-bpe encode-files my-tokenizer corpus/ -o data/corpus --format megatron --work-dir work\n"
    + "  hf-bpe encode-files --merge data/corpus",
)
def encode_files(
    context: typer.Context,
    folder: Annotated[str | None, argument("FOLDER", FOLDER_HELP)] = None,
    files: ManySources = None,
    output: Annotated[Path | None, option(_OUTPUT_HELP, "--output", "-o", metavar="FILE")] = None,
    format: Annotated[_TokenFormat, option(_FORMAT_HELP, "--output-format", "--format")] = "npy",
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
    merge: Annotated[Path | None, option(_MERGE_HELP, metavar="OUT")] = None,
    copy_columns: Annotated[
        list[str] | None, option(_COPY_HELP, "--copy-column", metavar="NAME", panel="Token files")
    ] = None,
    loss_mask: Annotated[str | None, option(_MASK_HELP, metavar="COLUMN", panel="Token files")] = None,
    work_dir: Annotated[Path | None, option(_WORK_HELP, metavar="FOLDER", panel="Machine")] = None,
    dropout: Annotated[float | None, option(_DROPOUT_HELP, metavar="P", min=0, max=1, panel="Token files")] = None,
    seed: Annotated[int | None, option(_SEED_HELP, metavar="SEED", min=0, max=MAX_UINT64, panel="Token files")] = None,
    split_special_tokens: SplitSpecialTokens = False,
    input_format: Annotated[Format | None, option(FORMAT_HELP, panel="Text", show_default=FORMAT_DEFAULT)] = None,
    column: TextColumn = "text",
    on_error: OnErrorPolicy = "raise",
    workers: Workers = None,
    progress: Progress = None,
    pattern: RankPattern = "auto",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Encode text to files of token ids, for training.

    Each file of text is one document, its last newline included, or several with the separator between them; each
    record of JSON lines and Parquet is one. Text may hold any bytes, UTF-8 or not. Files may have any size.
    """
    if merge is not None:
        from hf_bpe.token_files import merge_manifests

        _refuse_with_merge(context)
        _report_files(merge_manifests(merge, overwrite=force), "", as_json)
        return
    if folder is None:
        raise typer.BadParameter("expected a tokenizer, or --merge OUT for parts", param_hint="'FOLDER'")
    if output is None:
        raise typer.BadParameter("give -o FILE to save the ids; encode prints them", param_hint="'--output'")
    from hf_bpe.token_files._formats import Target
    from hf_bpe.token_files._run import LOG
    from hf_bpe.token_files._shares import check_share

    checked = os.fspath(check_destination("output", output))
    share = None if shard is None else check_share("shard", parse_share(shard))
    with _wrong_output_named():
        target = Target(format, output, share, copy_columns or (), loss_mask is not None)
    for name, value in (("work-dir", work_dir), ("shard", share)):
        if STDIN in (files or [STDIN]) and value is not None:
            raise typer.BadParameter("standard input cannot be read again; give files", param_hint=f"'--{name}'")
    with contextlib.ExitStack() as stack:
        names = [name if is_found(name) else str(stack.enter_context(text_file(name))) for name in files or [STDIN]]
        reading: dict[str, Any] = {"format": input_format, "column": column, "errors": "bytes", "on_error": on_error}
        sources = [Source(name, **reading) for name in names]
        is_ours = is_resumed(work_dir, LOG)
        # Fewer ids than one for eight bytes are rare.
        room = sum(each.size or 0 for each in plan(sources)) // 4 // (1 if share is None else share.parts)
        is_sharded = shard_tokens is not None or target.format.shard_tokens is not None
        single = [] if is_sharded else target.single_there()
        for path in [*single, *target.about_all, *(target.shards_there() if is_sharded else [])]:
            # Of other files on an object store, `encode_files` tells whether an interrupted upload has left them.
            if not is_url(checked) or path in target.about_all:
                check_file(path, force or is_ours, room=room, urls=True)
        tokenizer = load(folder, pattern)
        given = {**context.params, "copy_columns": copy_columns or (), "num_workers": workers, "overwrite": force}
        given |= {"shard": share, "show_progress": shows_progress(progress), "paths": sources, "output": checked}
        given["split_special_tokens"] = split_special_tokens or None  # None: the tokenizer's setting
        parameters = inspect.signature(tokenizer.encode_files).parameters
        written = tokenizer.encode_files(**{name: value for name, value in given.items() if name in parameters})
    _report_files(written, "" if pack is None else f" in {counted(written.num_rows, 'sequence')}", as_json)


def _refuse_with_merge(context: typer.Context) -> None:
    """Raise an error of usage for what is given besides the parts to merge."""
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if param.name not in _OF_MERGING and source is not None and source.name != "DEFAULT":
            shown = max(param.opts, key=len) if param.opts[0].startswith("-") else param.metavar
            raise typer.BadParameter("cannot be combined with --merge", param_hint=f"'{shown}'")


@contextlib.contextmanager
def _wrong_output_named() -> Iterator[None]:
    """Raise the error of a wrong argument `output` as one of the option."""
    try:
        yield
    except ValueError as error:
        problem = str(error).removeprefix("output: ").replace(" as format", " as --format")
        if problem == str(error):
            raise
        raise typer.BadParameter(problem, param_hint="'--output'") from None


def _report_files(written: EncodedFiles, rows: str, as_json: bool) -> None:
    """Report files that were written; `rows` says how the ids are packed."""
    where = str(written.ids) if len(written.files) <= 3 else f"{len(written.files)} files, the first {written.ids}"
    if not written.files:
        where = str(written.manifest)  # of a part of a corpus that has nothing
    offsets = "" if written.offsets is None or not written.files else f", offsets of the documents in {written.offsets}"
    documents = counted(written.num_documents, "document")
    message = f"{counted(written.num_tokens, 'token')} of {documents}{rows} saved in {where}{offsets}"
    arrays = {} if written.offsets is None else {"ids": str(written.ids), "offsets": str(written.offsets)}
    values = {
        **arrays,
        "files": [str(path) for path in written.files],
        "manifest": str(written.manifest),
        "tokens": written.num_tokens,
        "documents": written.num_documents,
        "rows": written.num_rows,
    }
    report_done(message, values, as_json)
