"""A request of `BPETokenizer.encode_files`, checked before anything is read or written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_bpe._utils.arguments import MAX_INT64, check_path, check_sequence, check_strs
from hf_bpe._utils.object_stores import StorageOptions
from hf_bpe._utils.tables import refuse_tables
from hf_bpe.counting._locations import TEXT_ADVICE
from hf_bpe.counting._sources import Shard, Source, plan
from hf_bpe.encoding._encoder import Encoder, Options
from hf_bpe.encoding._randomness import Randomness
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.token_files._arrow import COLUMN
from hf_bpe.token_files._documents import DocumentEncoder, Framing
from hf_bpe.token_files._formats import FORMATS, Target
from hf_bpe.token_files._job import Job, Packing
from hf_bpe.token_files._loss_masks import MASK_COLUMN
from hf_bpe.token_files._shares import Share, plan_digest, sources_of_share


def as_shards(paths: Any, storage_options: StorageOptions | None = None) -> list[Shard]:
    """Return the files that `encode_files` is given, each whole; the options are for those that bring none."""
    if not isinstance(paths, (str, os.PathLike, Source)):
        refuse_tables("paths", paths, "paths of files")
    listed = [paths] if isinstance(paths, (str, os.PathLike, Source)) else check_sequence("paths", paths, "paths")
    sources = [
        path if isinstance(path, Source) else Source(os.fspath(check_path("paths", path)), errors="bytes")
        for path in listed
    ]
    if storage_options is not None:
        sources = [
            source if source.storage_options is not None else replace(source, storage_options=storage_options)
            for source in sources
        ]
    for source in sources:
        if not isinstance(source.data, (str, os.PathLike)):
            raise TypeError(f"paths: expected a Source of a path, got one of {type(source.data).__name__}")
        if source.weight != 1 or source.max_document_bytes is not None:
            raise ValueError("paths: weight and max_document_bytes of a Source are only for counting")
    try:
        return plan(sources, shard_bytes=MAX_INT64) if sources else []
    except FileNotFoundError as error:
        if TEXT_ADVICE not in str(error):
            raise
        raise FileNotFoundError(str(error).replace(TEXT_ADVICE, "; for texts in memory call encode_to_numpy")) from None


def make_job(
    pipeline: Pipeline,
    sources: list[Shard],
    output: Path,
    *,
    format: str,
    separator: str | None,
    append_separator: bool | None,
    begin_token: str | None,
    pack: int | None,
    pack_across: bool,
    shard_tokens: int | None,
    copy_columns: Sequence[str],
    loss_mask: str | None,
    options: Options,
    random: Randomness,
    threads: int,
    share: Share | None = None,
) -> Job:
    """Return the job of `BPETokenizer.encode_files`."""
    copied = tuple(check_strs("copy_columns", copy_columns))
    target = Target(format, output, share, copied, loss_mask is not None)
    separator_id = pipeline.named_token_id(
        "separator", pipeline.names.get("eos_token") if separator is None else separator
    )
    # A file of offsets says where documents end without it.
    is_needed = target.format.needs_separator or separator_id is not None
    appends = is_needed if append_separator is None else append_separator
    if appends and separator_id is None:
        raise ValueError(
            f"separator: expected a token to end documents for format {format!r}, and the tokenizer has no eos_token; "
            "give one, or append_separator=False"
        )
    if pack is None and not pack_across:
        raise ValueError("pack_across: False is only for packed sequences")
    if pack is not None and not (pack_across or target.format.keeps_rows):
        raise ValueError(f"pack_across=False: format {format!r} does not say where rows end; choose another format")
    if copied:
        _check_columns(
            copied, target, sources, has_mask=loss_mask is not None, is_across=pack is not None and pack_across
        )
    if loss_mask is not None:
        _check_mask(target, sources, random)
    # The texts of an iterable are records, whatever its format says.
    are_texts = all(source.is_file and source.format == "text" for source in sources)
    framing = Framing(
        -1 if separator_id is None else separator_id, appends, pipeline.named_token_id("begin_token", begin_token)
    )
    # The same pipeline for all files, because the ids of tokens added meanwhile may not fit.
    decides_ids = pipeline.model.fingerprint, pipeline.token_tuples, options
    settings = {
        "format": format,
        "tokenizer": hashlib.sha256(repr(decides_ids).encode()).hexdigest(),
        "separator": framing.separator_id,
        "append_separator": appends,
        "begin_token": framing.begin_id,
        "split_special_tokens": options.split_special_tokens,
        "pack": pack,
        "pack_across": pack_across if pack is not None else None,
    }
    if random.dropout:
        settings |= {"dropout": random.dropout, "seed": random.seed}
    if copied:
        settings["copy_columns"] = [*copied]
    if loss_mask is not None:
        settings["loss_mask"] = loss_mask
    first_source = 0
    if share is not None:
        # The number of a record, which randomness depends on, is known only where its file is read from the beginning.
        settings |= {"shard": [*share], "plan": plan_digest(sources, cuts_lines="seed" not in settings)}
        first_source, sources = sources_of_share(sources, share, cuts_lines="seed" not in settings)
    return Job(
        sources,
        target,
        DocumentEncoder(
            pipeline.encoder,
            *_for_records(pipeline, -1 if are_texts else framing.separator_id),
            options,
            framing,
            threads,
            random,
            copied,
            loss_mask,
            format == "datatrove",
        ),
        target.format.dtype(max([*pipeline.model.vocab, *pipeline.added_tokens], default=0)),
        None if pack is None else Packing(pack, pack_across),
        target.format.shard_tokens if shard_tokens is None else shard_tokens,
        settings,
        first_source,
    )


def _for_records(pipeline: Pipeline, separator_id: int) -> tuple[Encoder, str]:
    """Return the encoder to which the separator is ordinary text, and the text of the separator, if it is another."""
    separator = pipeline.added_tokens.get(separator_id)
    if separator is None:
        return pipeline.encoder, ""
    return pipeline.encoder_without(lambda token: token.content == separator.content), separator.content


def _check_columns(
    copied: Sequence[str], target: Target, sources: Sequence[Shard], *, has_mask: bool, is_across: bool
) -> None:
    """Check that the format, the rows and the sources have a place for columns besides the ids."""
    if not target.format.holds_columns:
        able = " or ".join(repr(name) for name, format in FORMATS.items() if format.holds_columns)
        raise ValueError(f"copy_columns: expected a format with columns of text, {able}; choose one of them")
    if is_across:
        raise ValueError("copy_columns: a packed sequence may hold several documents; give pack_across=False as well")
    own = [COLUMN, *([MASK_COLUMN] if has_mask else [])]
    if len({*copied, *own}) < len(copied) + len(own):
        names = ", ".join(map(repr, own))
        raise ValueError(f"copy_columns: expected different names other than {names}, got {[*copied]}")
    _check_records("copy_columns", sources)


def _check_mask(target: Target, sources: Sequence[Shard], random: Randomness) -> None:
    """Check that the format has a place for a loss mask, and the sources have ranges of characters."""
    if target.format.mask_suffix is None:
        able = ", ".join(repr(name) for name, format in FORMATS.items() if format.mask_suffix is not None)
        raise ValueError(f"loss_mask: expected a format with a place for loss masks: {able}; choose one of them")
    if random.dropout:
        raise ValueError("loss_mask: expected no dropout, whose ids have no places in the text")
    _check_records("loss_mask", sources)


def _check_records(argument: str, sources: Sequence[Shard]) -> None:
    for source in sources:
        if source.is_file and source.format == "text":
            raise ValueError(
                f"{argument}: expected sources of records (JSON lines, Parquet), got the text file {source.name}"
            )
