"""The command `shuffle`: token files with the documents of others in a random order."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from hf_bpe._utils.paths import check_destination, is_url
from hf_bpe._utils.visible import counted
from hf_bpe.cli.options import EXAMPLE, Json, argument, option, seed_option, size_of_at_least
from hf_bpe.cli.outputs import Force, check_file, is_resumed, wrong_output_named
from hf_bpe.cli.program import USE, command
from hf_bpe.cli.sources import Progress, parse_share, shows_progress
from hf_bpe.cli.token_files import report_files

_TOKENS_HELP = "What encode was given as --output, or the manifest that it or merge-manifests wrote."
_OUTPUT_HELP = "The path of the new files, as for encode."
_SEED_HELP = "The seed of the order, which depends on it and the number of documents."
_PACK_HELP = "Write sequences of N ids instead of documents, such as 2048 or 2Ki."
_ACROSS_HELP = "Whether a sequence may hold ids of several documents; if so, the last ids that fill none are left out."
_SHARD_TOKENS_HELP = "Begin another file after the document or sequence that brings this one to N ids."
_SHARD_HELP = (
    "Write part I of N of the shuffled documents, with I from 0 to N-1, for N jobs. The files of all parts, in their "
    "order, hold what one job would have written; merge-manifests checks them."
)
_WORK_HELP = "A folder from which the same command resumes after an interruption. Delete it when done."


@command(
    group=USE,
    epilog=EXAMPLE
    + "hf-bpe shuffle data/corpus -o data/shuffled --seed 1\n"
    + "  hf-bpe shuffle data/corpus -o data/shuffled --seed 1 --shard 7/100 --work-dir work/7",
    loads_tokenizer=False,
)
def shuffle(
    tokens: Annotated[Path, argument("TOKENS", _TOKENS_HELP)],
    output: Annotated[Path, option(_OUTPUT_HELP, "--output", "-o", metavar="OUT")],
    seed: Annotated[int, seed_option(_SEED_HELP)],
    pack: Annotated[
        int | None, option(_PACK_HELP, metavar="N", parser=size_of_at_least(1), show_default="documents")
    ] = None,
    pack_across: Annotated[bool, option(_ACROSS_HELP)] = True,
    shard_tokens: Annotated[
        int | None,
        option(_SHARD_TOKENS_HELP, metavar="N", parser=size_of_at_least(1), show_default="one file, 16Mi for mds"),
    ] = None,
    shard: Annotated[str | None, option(_SHARD_HELP, metavar="I/N", show_default="everything")] = None,
    work_dir: Annotated[Path | None, option(_WORK_HELP, metavar="FOLDER")] = None,
    progress: Progress = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the documents of token files in a random order.

    The files equal the output of encode --shuffle, byte for byte, into how many parts the corpus was divided for
    encoding. No text is needed, and memory does not grow with the files. Packed files and files that do not say where
    documents end (nanogpt, llm.c) are refused.
    """
    from hf_bpe.token_files._formats import Target
    from hf_bpe.token_files._run import LOG
    from hf_bpe.token_files._shares import check_share
    from hf_bpe.token_files._shuffle_documents import shuffle_documents
    from hf_bpe.token_files._written import TokenFiles

    checked = os.fspath(check_destination("output", output))
    share = None if shard is None else check_share("shard", parse_share(shard))
    if pack is None and not pack_across:
        raise typer.BadParameter("is only with --pack", param_hint="'--pack-across'")
    files = TokenFiles.find(tokens)
    with wrong_output_named():
        target = Target(files.content["format"], output, share)
    is_sharded = shard_tokens is not None or target.format.shard_tokens is not None
    for path in [*target.about_all, *([] if is_sharded else target.single_there())]:
        if not is_url(checked) or path == target.manifest:
            check_file(path, force or is_resumed(work_dir, LOG), urls=True)
    written = shuffle_documents(
        tokens,
        checked,
        seed,
        pack=pack,
        pack_across=pack_across,
        shard_tokens=shard_tokens,
        shard=share,
        work_dir=work_dir,
        overwrite=force,
        show_progress=shows_progress(progress),
    )
    report_files(written, "" if pack is None else f" in {counted(written.num_rows, 'sequence')}", as_json)
