"""The part of `encode` that writes files of ids for training."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hf_bpe._utils.paths import check_destination, is_url
from hf_bpe._utils.visible import counted
from hf_bpe.cli.messages import report_done
from hf_bpe.cli.outputs import check_file, is_resumed
from hf_bpe.cli.sources import STDIN, is_found, parse_share, shows_progress, text_file
from hf_bpe.cli.tokenizers import load
from hf_bpe.counting._sources import Source, plan

if TYPE_CHECKING:
    from hf_bpe.token_files._manifest import EncodedFiles

ONLY_FOR_FILES = (
    "format",
    "separator",
    "append_separator",
    "begin_token",
    "pack",
    "pack_across",
    "shard_tokens",
    "shard",
    "copy_columns",
    "loss_mask",
    "work_dir",
    "dropout",
    "seed",
)
"""The parameters of the command, and arguments of `encode_files`, that are not for printed ids."""


def write_token_files(
    folder: str, files: Sequence[str], output: Path, params: dict[str, Any], reading: dict[str, Any]
) -> None:
    """Encode sources to files of ids, and report them.

    Args:
        folder: the tokenizer.
        files: the sources; none for standard input.
        output: the path of the file of ids.
        params: the other parameters of the command.
        reading: the options of each `Source`.
    """
    from hf_bpe.token_files._formats import Target
    from hf_bpe.token_files._run import LOG
    from hf_bpe.token_files._shares import check_share

    checked = os.fspath(check_destination("output", output))
    share = None if params["shard"] is None else check_share("shard", parse_share(params["shard"]))
    columns = params["copy_columns"] or ()
    with _wrong_output_named():
        target = Target(params["format"], output, share, columns, params["loss_mask"] is not None)
    for name, value in (("work-dir", params["work_dir"]), ("shard", share)):
        if STDIN in (files or [STDIN]) and value is not None:
            raise typer.BadParameter("standard input cannot be read again; give files", param_hint=f"'--{name}'")
    with contextlib.ExitStack() as stack:
        names = [name if is_found(name) else str(stack.enter_context(text_file(name))) for name in files or [STDIN]]
        sources = [Source(name, **reading) for name in names]
        is_forced, is_ours = params["force"], is_resumed(params["work_dir"], LOG)
        # Fewer ids than one for eight bytes are rare.
        room = sum(shard.size or 0 for shard in plan(sources)) // 4 // (1 if share is None else share.parts)
        is_sharded = params["shard_tokens"] is not None or target.format.shard_tokens is not None
        single = [] if is_sharded else target.single_there()
        for path in [*single, *target.about_all, *(target.shards_there() if is_sharded else [])]:
            # Of other files on an object store, `encode_files` tells whether an interrupted upload has left them.
            if not is_url(checked) or path in target.about_all:
                check_file(path, is_forced or is_ours, room=room, urls=True)
        options = {name: params[name] for name in ONLY_FOR_FILES}
        options |= {"copy_columns": columns, "shard": share}
        written = load(folder, params["pattern"]).encode_files(
            sources,
            checked,
            split_special_tokens=params["split_special_tokens"] or None,  # None: the tokenizer's setting
            num_workers=params["workers"],
            show_progress=shows_progress(params["progress"]),
            overwrite=is_forced,
            **options,
        )
    report_files(
        written, "" if params["pack"] is None else f" in {counted(written.num_rows, 'sequence')}", params["as_json"]
    )


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


def report_files(written: EncodedFiles, rows: str, as_json: bool) -> None:
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
