"""A job: what `BPETokenizer.encode_files` is asked for, checked before anything is read or written."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hf_bpe._utils.arguments import MAX_INT64, check_path, check_sequence
from hf_bpe._utils.object_stores import StorageOptions
from hf_bpe._utils.tables import refuse_tables
from hf_bpe.counting._locations import TEXT_ADVICE
from hf_bpe.counting._sources import Shard, Source, is_splittable, plan
from hf_bpe.encoding._randomness import Randomness
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.token_files._documents import DocumentEncoder, Framing
from hf_bpe.token_files._formats import FORMATS
from hf_bpe.token_files._formats.arrow import COLUMN
from hf_bpe.token_files._loss_masks import MASK_COLUMN
from hf_bpe.token_files._options import Share, TokenFileOptions
from hf_bpe.token_files._packing import Dtype
from hf_bpe.token_files._shards import OutputFiles


class Job(NamedTuple):
    """Sources to encode to token files, and how."""

    sources: Sequence[Shard]  # files, each whole; of a share of a corpus, also ranges of files
    target: OutputFiles  # the format and the names of files
    options: TokenFileOptions  # the options, of which `target` and `documents` are made, too
    documents: DocumentEncoder  # how the documents of the sources are encoded
    dtype: Dtype  # the type of the ids in the files
    settings: dict[str, object]  # the tokenizer and options, as JSON values for the manifest
    first_source: int = 0  # the number of the first source among those of the corpus
    # The URL of the manifest, if the files of the target are uploaded; None if they stay
    destination: str | None = None

    @property
    def described_sources(self) -> list[dict[str, object]]:
        """The manifest's entry about the sources."""
        described: list[dict[str, object]] = []
        for source in self.sources:
            column = {} if source.format == "text" else {"column": source.source.column}
            range_ = {} if (source.start, source.stop) == (0, None) else {"range": [source.start, source.stop]}
            about = {"name": source.name, "bytes": source.size, "format": source.format}
            described.append({**about, **column, **range_})
        return described

    @property
    def key(self) -> str:
        """A value that differs for other sources, or sources that have changed."""
        return hashlib.sha256("\n".join(source.key for source in self.sources).encode()).hexdigest()

    @property
    def output(self) -> str:
        """The place of the manifest."""
        return self.destination or str(self.target.manifest.absolute())

    @property
    def identity(self) -> dict[str, object]:
        """The values that the token files depend on, to resume the work."""
        for source in self.sources:
            if source.version is None:
                raise ValueError(
                    f"work_dir: {source.name} can be read only once, so encoding cannot be resumed; use a file"
                )
        settings = {"token_format" if name == "format" else name: value for name, value in self.settings.items()}
        return {**settings, "shard_tokens": self.target.shard_tokens, "output": self.output, "sources": self.key}

    def check_no_source_is_replaced(self) -> None:
        """Raise a ValueError if a file to write is one to read."""
        target = self.target
        written = [*target.manifest_files, *target.single_shard_paths(), *target.existing_shards()]
        resolved = {path.resolve() for path in written}
        for source in self.sources:
            if source.is_file and Path(source.name).resolve() in resolved:
                raise ValueError(f"output: {source.name} is a source; choose another output")


def as_shards(paths: object, storage_options: StorageOptions | None = None) -> list[Shard]:
    """Return the files that `encode_files` is given, each whole; the options are for files without any."""
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


def make_job(pipeline: Pipeline, sources: list[Shard], output: Path, options: TokenFileOptions, threads: int) -> Job:
    """Return the job of `BPETokenizer.encode_files`."""
    format, pack, pack_across, loss_mask = options.format, options.pack, options.pack_across, options.loss_mask
    random = Randomness.from_arguments(options.dropout, options.seed)
    encoding = pipeline.options(options.split_special_tokens)
    target = OutputFiles(options, output)
    separator = pipeline.names.get("eos_token") if options.separator is None else options.separator
    if separator in ("none", "None", "") and separator not in pipeline.ids:
        raise ValueError(f"separator: {separator!r} is no token; for no separator give append_separator=False")
    separator_id = pipeline.named_token_id("separator", separator)
    # A file of offsets says where documents end without it.
    is_needed = target.format.needs_separator or separator_id is not None
    appends = is_needed if options.append_separator is None else options.append_separator
    if appends and separator_id is None:
        raise ValueError(
            f"separator: expected a token to end documents for format {format!r}, and the tokenizer has no eos_token; "
            "give one, or append_separator=False"
        )
    if pack is None and not pack_across:
        raise ValueError("pack_across: False is only for packed sequences")
    if pack is not None and not (pack_across or target.format.keeps_rows):
        raise ValueError(f"pack_across=False: format {format!r} does not say where rows end; choose another format")
    if options.copy_columns:
        _check_columns(options, target, sources)
    if loss_mask is not None:
        _check_mask(target, sources, random)
    # The texts of an iterable are records, whatever its format says.
    are_texts = all(source.is_file and source.format == "text" for source in sources)
    begin_id = pipeline.named_token_id("begin_token", options.begin_token)
    framing = Framing(-1 if separator_id is None else separator_id, appends, begin_id)
    # The same pipeline for all files, because the ids of tokens added meanwhile may not fit.
    decides_ids = pipeline.model.fingerprint, pipeline.token_tuples, encoding
    settings = {
        "format": format,
        "tokenizer": hashlib.sha256(repr(decides_ids).encode()).hexdigest(),
        "separator": framing.separator_id,
        "append_separator": appends,
        "begin_token": framing.begin_id,
        "split_special_tokens": encoding.split_special_tokens,
        "pack": pack,
        "pack_across": pack_across if pack is not None else None,
    }
    if random.dropout:
        settings |= {"dropout": random.dropout, "seed": random.seed}
    if options.copy_columns:
        settings["copy_columns"] = [*options.copy_columns]
    if loss_mask is not None:
        settings["loss_mask"] = loss_mask
    first_source = 0
    if options.share is not None:
        # The number of a record, which randomness depends on, is known only where its file is read from the beginning.
        cuts_lines = not random.dropout
        settings |= {"shard": [*options.share], "plan": _plan_digest(sources, cuts_lines=cuts_lines)}
        numbered = [*_sources_of_share(sources, options.share, cuts_lines)]
        first_source, sources = numbered[0][0] if numbered else 0, [source for _, source in numbered]
    # The separator is ordinary text in records.
    found = None if are_texts else pipeline.added_tokens.get(framing.separator_id)
    text = "" if found is None else found.content
    of_records = pipeline.encoder_without(lambda token: token.content == text) if text else pipeline.encoder
    documents = DocumentEncoder(pipeline.encoder, of_records, text, encoding, framing, threads, random, options)
    dtype = target.format.dtype(max([*pipeline.model.vocab, *pipeline.added_tokens], default=0))
    return Job(sources, target, options, documents, dtype, settings, first_source)


def _check_columns(options: TokenFileOptions, target: OutputFiles, sources: Sequence[Shard]) -> None:
    """Check that the format, the rows and the sources have a place for columns besides the ids."""
    if not target.format.holds_columns:
        able = " or ".join(repr(name) for name, format in FORMATS.items() if format.holds_columns)
        raise ValueError(f"copy_columns: expected a format with columns of text, {able}; choose one of them")
    if options.pack is not None and options.pack_across:
        raise ValueError("copy_columns: a packed sequence may hold several documents; give pack_across=False as well")
    own = [COLUMN, *([MASK_COLUMN] if options.loss_mask is not None else [])]
    if len({*options.copy_columns, *own}) < len(options.copy_columns) + len(own):
        names = ", ".join(map(repr, own))
        raise ValueError(f"copy_columns: expected different names other than {names}, got {[*options.copy_columns]}")
    _check_records("copy_columns", sources)


def _check_mask(target: OutputFiles, sources: Sequence[Shard], random: Randomness) -> None:
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


def _plan_digest(sources: Sequence[Shard], *, cuts_lines: bool) -> str:
    """Return a digest that all shares of the same corpus have, however many they are."""
    for source in sources:
        if source.version is None:
            raise ValueError(f"shard: {source.name} can be read only once, so no other job reads the same; use a file")
    return hashlib.sha256(json.dumps([cuts_lines, *(source.key for source in sources)]).encode()).hexdigest()


def _sources_of_share(sources: Sequence[Shard], share: Share, cuts_lines: bool) -> Iterator[tuple[int, Shard]]:
    """Yield the number of each source of a share, and the source or a range of it; all shares make the corpus.

    The corpus is a line of as many bytes as its files have, of which each share has its part. A file of JSON lines is
    cut where a part ends; any other belongs to the share that has its middle.
    """
    sizes = [1 if source.size is None else source.size for source in sources]
    total = sum(sizes)
    begin, end = (total * part // share.parts for part in (share.part, share.part + 1))
    is_last = share.part == share.parts - 1
    place = 0
    for number, (source, size) in enumerate(zip(sources, sizes, strict=True)):
        if cuts_lines and source.format == "jsonl" and source.size and is_splittable(source):
            start, stop = max(begin - place, 0), min(end - place, size)
            if start < stop:
                is_end = stop == size
                yield number, replace(source, start=start, stop=None if is_end else stop, size=stop - start)
        elif begin <= place + size // 2 and (is_last or place + size // 2 < end):
            yield number, source
        place += size
