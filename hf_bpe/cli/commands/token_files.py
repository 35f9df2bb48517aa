"""The command `encode-files`: files of ids for training, from one job or many."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hf_bpe._utils.arguments import checks_of
from hf_bpe._utils.paths import check_destination, check_output, is_url
from hf_bpe._utils.processes import threads_of
from hf_bpe._utils.visible import with_noun
from hf_bpe.cli.messages import report_done
from hf_bpe.cli.options import EXAMPLE, Json, argument, dataclass_options, option, with_command_options
from hf_bpe.cli.outputs import Force, check_file, is_resumed
from hf_bpe.cli.program import SWITCHES, USE, command
from hf_bpe.cli.sources import (
    FORMAT_DEFAULT,
    FORMAT_HELP,
    STDIN,
    ManySources,
    OnErrorPolicy,
    Progress,
    TextColumn,
    Workers,
    is_found,
    parse_share,
    shows_progress,
    text_file,
)
from hf_bpe.cli.tokenizers import FOLDER_HELP, RankPattern, load
from hf_bpe.counting._locations import FileFormat
from hf_bpe.counting._sources import Source, plan
from hf_bpe.token_files._options import TokenFileOptions

if TYPE_CHECKING:
    from hf_bpe.token_files._manifest import EncodedFiles

_OUTPUT_HELP = "The file of ids, next to which a manifest is written; for mds, a folder. The suffix may be left out."
_MERGE_HELP = (
    "Check that all parts of --shard are there, and write the manifest of the whole: OUT is their folder, or the "
    "--output that they were given. Nothing is encoded, and the files of the parts stay as they are."
)
_WORK_HELP = (
    "A folder for what is encoded, from which the same command resumes after an interruption. Delete it when done."
)
_OPTIONS = dataclass_options(TokenFileOptions)
_MERGING_OPTIONS = {"merge", "force", "as_json", *SWITCHES}


@command(
    group=USE,
    epilog=EXAMPLE
    + "hf-bpe encode-files my-tokenizer *.txt -o tokens.npy\n"
    + "  hf-bpe encode-files my-tokenizer corpus/ -o data/corpus --format megatron --work-dir work\n"
    + "  hf-bpe encode-files --merge data/corpus",
)
@with_command_options(
    lambda **values: {name: value for name, value in values.items() if value is not None}, _OPTIONS, parameter="options"
)
def encode_files(
    *,
    context: typer.Context,
    folder: Annotated[str | None, argument("FOLDER", FOLDER_HELP)] = None,
    files: ManySources = None,
    output: Annotated[Path | None, option(_OUTPUT_HELP, "--output", "-o", metavar="FILE")] = None,
    options: dict[str, Any],
    merge: Annotated[Path | None, option(_MERGE_HELP, metavar="OUT")] = None,
    work_dir: Annotated[Path | None, option(_WORK_HELP, metavar="FOLDER", panel="Machine")] = None,
    input_format: Annotated[FileFormat | None, option(FORMAT_HELP, panel="Text", show_default=FORMAT_DEFAULT)] = None,
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
    from hf_bpe.formats._pipeline import Pipeline
    from hf_bpe.token_files._job import as_shards, make_job
    from hf_bpe.token_files._remote import Places
    from hf_bpe.token_files._resume.record import LOG
    from hf_bpe.token_files._shards import OutputFiles

    checked = os.fspath(check_destination("output", output))
    if "shard" in options:
        options["shard"] = parse_share(options["shard"])
    checks = checks_of(TokenFileOptions)
    chosen = TokenFileOptions(**{name: checks[name](name, value) for name, value in options.items()})
    if work_dir is not None:
        check_output("work_dir", work_dir)
    try:
        target = OutputFiles(chosen, output)
    except ValueError as error:
        if not str(error).startswith("output: "):
            raise
        problem = str(error).removeprefix("output: ").replace(" as format", " as --format")
        raise typer.BadParameter(problem, param_hint="'--output'") from None
    for name, value in (("work-dir", work_dir), ("shard", chosen.share)):
        if STDIN in (files or [STDIN]) and value is not None:
            raise typer.BadParameter("standard input cannot be read again; give files", param_hint=f"'--{name}'")
    with contextlib.ExitStack() as stack:
        names = [name if is_found(name) else str(stack.enter_context(text_file(name))) for name in files or [STDIN]]
        reading: dict[str, Any] = {"format": input_format, "column": column, "errors": "bytes", "on_error": on_error}
        sources = [Source(name, **reading) for name in names]
        is_ours = is_resumed(work_dir, LOG)
        # Fewer ids than one for eight bytes are rare.
        room = sum(each.size or 0 for each in plan(sources)) // 4 // (1 if chosen.share is None else chosen.share.parts)
        manifests = target.manifest_files
        there = (
            [*target.single_shard_paths(), *manifests]
            if target.shard_tokens is None
            else [*manifests, *target.existing_shards()]
        )
        for path in there:
            # Of other files on an object store, `encode_files` tells whether an interrupted upload has left them.
            if not is_url(checked) or path in manifests:
                check_file(path, force or is_ours, room=room, urls=True)
        pipeline = Pipeline.from_definition(load(folder, pattern))
        with Places(checked, work_dir, None).opened() as places:
            job = make_job(pipeline, as_shards(sources), places.output, chosen, threads_of(workers))
            written = places.encode(job, threads_of(workers), shows_progress(progress), force)
    _report_files(written, "" if chosen.pack is None else f" in {with_noun(written.num_rows, 'sequence')}", as_json)


def _refuse_with_merge(context: typer.Context) -> None:
    """Raise an error of usage for what is given besides the parts to merge."""
    for param in context.command.params:
        source = context.get_parameter_source(param.name or "")
        if param.name not in _MERGING_OPTIONS and source is not None and source.name != "DEFAULT":
            shown = max(param.opts, key=len) if param.opts[0].startswith("-") else param.metavar
            raise typer.BadParameter("cannot be combined with --merge", param_hint=f"'{shown}'")


def _report_files(written: EncodedFiles, rows: str, as_json: bool) -> None:
    """Report files that were written; `rows` says how the ids are packed."""
    where = str(written.ids) if len(written.files) <= 3 else f"{len(written.files)} files, the first {written.ids}"
    if not written.files:
        where = str(written.manifest)  # of a part of a corpus that has nothing
    offsets = "" if written.offsets is None or not written.files else f", offsets of the documents in {written.offsets}"
    documents = with_noun(written.num_documents, "document")
    message = f"{with_noun(written.num_tokens, 'token')} of {documents}{rows} saved in {where}{offsets}"
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
