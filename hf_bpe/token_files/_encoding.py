"""Encode sources to token files; see `BPETokenizer.encode_files`."""

from __future__ import annotations

import errno
import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hf_bpe._native_core import require_core
from hf_bpe._utils.files import scratch_folder, write_atomically
from hf_bpe._version import __version__
from hf_bpe.counting._sources import Shard
from hf_bpe.token_files._documents import DocumentEncoder
from hf_bpe.token_files._formats import Target
from hf_bpe.token_files._pieces import PieceFolder
from hf_bpe.token_files._progress import EncodingProgress, with_progress
from hf_bpe.token_files._replacing import (
    files_of_manifest,
    files_to_replace,
    finish_replacement,
    replace_files,
    staging_folder,
)
from hf_bpe.token_files._rows import Chunk, pack
from hf_bpe.token_files._run import LOG, RunLog, Totals
from hf_bpe.token_files._shards import ShardRecord, ShardWriter, check_in_place, without_empty_rows
from hf_bpe.token_files._shares import Share
from hf_bpe.token_files._shuffling import shuffled_stream
from hf_bpe.token_files._sorted_runs import RunTarget
from hf_bpe.token_files._stream import DirectStream, PieceStream, in_units, number_of_processes
from hf_bpe.token_files._writer import TokenWriter
from hf_bpe.token_files._written import StoredStream, TokenFiles

UNSHUFFLED = "unshuffled"  # in the work folder of a job that shuffles, that of the one that writes its runs
_RUNS = "runs"


class Packing(NamedTuple):
    """Sequences of at most `length` ids, which may hold ids of several documents if `across`."""

    length: int
    across: bool


class Job(NamedTuple):
    """What is to be encoded, and how.

    Attributes:
        sources: files, each whole; of a share of a corpus, also ranges of files.
        target: the format and the names of files.
        documents: what gives the documents as ids: an encoder of the sources, or token files.
        dtype: the type of the ids in the files.
        packing: how documents become rows; None if each is one.
        shard_tokens: the size of a shard; None for one file.
        settings: the tokenizer and options, as JSON values for the manifest.
        first_source: the number of the first source among those of the corpus.
        destination: the URL of the manifest, if the files of the target are uploaded; None if they stay.
        order: the order of the documents; None for that of the sources.
    """

    sources: Sequence[Shard]
    target: Target
    documents: DocumentEncoder | TokenFiles
    dtype: np.dtype[Any]
    packing: Packing | None
    shard_tokens: int | None
    settings: dict[str, Any]
    first_source: int = 0
    destination: str | None = None
    order: Order | None = None

    @property
    def is_share(self) -> bool:
        """Whether this is a share of a corpus, which may have nothing to encode."""
        return "shard" in self.settings

    @property
    def held_dtype(self) -> np.dtype[Any]:
        """The type of ids on their way to the files, with room for the marks of a loss mask."""
        has_marks = isinstance(self.documents, DocumentEncoder) and self.documents.no_loss is not None
        return np.dtype("<u4") if has_marks else self.dtype

    @property
    def described_sources(self) -> list[dict[str, Any]]:
        """What the manifest says about the sources."""
        if isinstance(self.documents, TokenFiles):
            return list(self.documents.content["sources"])
        return [_described(source) for source in self.sources]

    @property
    def key(self) -> str:
        """What differs for other sources, or sources that have changed."""
        if isinstance(self.documents, TokenFiles):
            return self.documents.key
        return hashlib.sha256("\n".join(source.key for source in self.sources).encode()).hexdigest()

    def unshuffled(self, folder: Path) -> Job:
        """Return the job that writes the documents to sorted runs in a folder, of which this one makes its files."""
        assert self.order is not None
        runs = RunTarget(folder, self.held_dtype, *self.order)
        # When the work is resumed, the folder may be a copy at another place.
        output = self.destination or str(self.target.manifest.absolute())
        return self._replace(
            target=runs,
            dtype=self.held_dtype,
            packing=None,
            shard_tokens=runs.shard_tokens,
            destination=output,
            order=None,
        )


class Order(NamedTuple):
    """The order of shuffled documents: by the keys that a seed gives them, and only those of a share of all keys."""

    seed: int
    share: Share = Share(0, 1)


class EncodedFiles(NamedTuple):
    """The files that `encode_files` wrote: paths, or URLs as str if the output is a URL.

    Attributes:
        ids: the path of the ids; of several shards, that of the first. If part I of N has no ids, there is no file.
        offsets: for NumPy's format, the path of the offsets at which documents, or packed sequences, begin, with the
            end of the last; None for other formats.
        num_tokens: number of ids in the files.
        num_documents: number of documents.
        manifest: the path of the manifest, a JSON file that lists all files, sources and options.
        files: the paths of all files with ids and their indices.
        num_rows: number of rows: documents or packed sequences.
    """

    ids: Path | str
    offsets: Path | str | None
    num_tokens: int
    num_documents: int
    manifest: Path | str
    files: Sequence[Path | str]
    num_rows: int


def encode_sources(
    job: Job, workers: int, work_dir: Path | None, show_progress: bool, overwrite: bool = False
) -> EncodedFiles:
    """Write the token files and the manifest."""
    require_core("token files")
    target, units = job.target, in_units(job.sources, job.first_source)
    _check_no_source_is_replaced(job)
    processes = number_of_processes(units, workers) if workers > 1 else 1
    sizes = [source.size for source in job.sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    is_shuffled, has_input = job.order is not None, bool(units) or isinstance(job.documents, TokenFiles)
    keeps_log = has_input and (work_dir is not None or (processes > 1 and not is_shuffled))
    with ExitStack() as stack:
        stack.enter_context(_full_disk_named(target.folder))
        stack.enter_context(_no_empty_folder(target))
        target.folder.mkdir(parents=True, exist_ok=True)
        work = work_dir
        if work is None and (keeps_log or is_shuffled):
            work = stack.enter_context(scratch_folder(target.folder))
        finish_replacement(target)
        staging = None if work_dir is None else staging_folder(target, work_dir)
        is_staged = staging is not None and staging.exists()
        log = None
        if keeps_log and work is not None:
            log = stack.enter_context(_run_log(job, work, len(units) or 1, overwrite, staging if is_staged else None))
        else:
            check_free(target, job.shard_tokens, 0, overwrite)
        records = [] if log is None else log.records
        output = target.folder
        if work_dir is None:
            output = stack.enter_context(scratch_folder(target.folder))  # no run can resume from what is there
        elif is_staged or (not records and files_to_replace(target, job.shard_tokens is not None, overwrite)):
            output = staging_folder(target, work_dir)
            output.mkdir(exist_ok=True)
        stream: DirectStream | PieceStream | StoredStream
        if job.order is not None:
            assert work is not None
            encoding = None if work_dir is None else work / UNSHUFFLED
            runs = encode_sources(job.unshuffled(work / _RUNS), workers, encoding, show_progress)
            stream = shuffled_stream(runs.files, runs.manifest, job.held_dtype, job.order.share, log)
        elif isinstance(job.documents, TokenFiles):
            stream = StoredStream(job.documents, job.documents.totals, log)
        else:
            progress = EncodingProgress(len(units), total, 0 if log is None else log.totals.read, show_progress)
            stack.enter_context(progress)
            if log is None:
                stream = DirectStream(job.documents, units, progress.report)
            else:
                folder = PieceFolder(log.pieces, job.held_dtype, is_durable=work_dir is not None)
                stream = PieceStream(job.documents, units, processes, folder, log, progress.report)
        chunks = stream.chunks()
        if show_progress and isinstance(stream, StoredStream):
            chunks = with_progress(chunks, stream.totals.tokens, "Shuffling" if is_shuffled else "Sorting")
        rows = without_empty_rows(chunks)
        if job.packing is not None:
            rows = pack(rows, job.packing.length, across=job.packing.across)
        make = partial(target.make, dtype=job.dtype)
        if target.format.is_numbered:
            make = _numbered(make, records)
        writer = ShardWriter(target, output, make, job.shard_tokens, records, stream.committed, not job.is_share)
        writer.write(_not_nothing(rows, job, records))
        written = _describe(job, records, stream.totals, output)
        if output != target.folder:
            new = [name for record in records for name in reversed(record.files)]
            about = [path.name for path in reversed(target.about_all) if (output / path.name).exists()]
            old = files_to_replace(target, job.shard_tokens is not None, overwrite)
            replace_files(target, output, old, [*new, *about])
        return written


def _numbered(make: Callable[..., TokenWriter], records: Sequence[ShardRecord]) -> Any:
    """Return a function that makes writers that know how many rows the shards before have."""
    return lambda paths: make(paths, first_row=sum(record.rows for record in records))


def _not_nothing(rows: Iterator[Chunk], job: Job, records: Sequence[ShardRecord]) -> Generator[Chunk, None, None]:
    """Yield rows; raise a ValueError if there are none at all."""
    is_empty = not records
    for chunk in rows:
        is_empty = False
        yield chunk
    if job.is_share:
        return
    if is_empty and job.packing is not None:
        raise ValueError(f"pack: expected sources with at least {job.packing.length} ids, got fewer")
    if is_empty and job.settings["format"] != "npy":
        raise ValueError("paths: expected sources with text, got nothing to encode")


def _describe(job: Job, records: Sequence[ShardRecord], totals: Totals, output: Path) -> EncodedFiles:
    """Write the manifest, and the index of the format, if it has one, to the folder of the shards."""
    target = job.target
    if (index := target.index([record.details for record in records])) is not None:
        write_atomically(output / index[0], index[1])
    tokens = sum(record.tokens for record in records)
    rows = sum(record.rows for record in records)
    manifest = {
        "made_by": f"hf_bpe {__version__}",
        **job.settings,
        "dtype": job.dtype.name,
        "shard_tokens": job.shard_tokens,
        "tokens": tokens,
        "documents": totals.documents,
        "rows": rows,
        "tokens_left_out": totals.tokens - tokens,
        "skipped": totals.skipped,
        "shards": [{"files": record.files, "tokens": record.tokens, "rows": record.rows} for record in records],
        "sources": job.described_sources,
    }
    write_atomically(output / target.manifest.name, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    files = [target.folder / name for record in records for name in record.files]
    names = [target.folder / name for name in target.names(None if job.shard_tokens is None else 0)]
    offsets = names[1] if job.settings["format"] == "npy" else None
    return EncodedFiles(names[0], offsets, tokens, totals.documents, target.manifest, files, rows)


def _described(source: Shard) -> dict[str, Any]:
    column = {} if source.format == "text" else {"column": source.source.column}
    range_ = {} if (source.start, source.stop) == (0, None) else {"range": [source.start, source.stop]}
    return {"name": source.name, "bytes": source.size, "format": source.format, **column, **range_}


def _run_log(job: Job, work: Path, units: int, overwrite: bool, staging: Path | None) -> RunLog:
    """Open the log of a job, after checks of what it says about the output, or about the staging folder."""
    target, is_resumed = job.target, (work / LOG).exists()

    def names(shard: int) -> list[str]:
        return target.names(None if job.shard_tokens is None else shard)

    def check(records: list[ShardRecord]) -> None:
        if staging is None:
            # After a kill, the shard after those of the log may be in place.
            check_free(target, job.shard_tokens, len(records) + is_resumed, overwrite and not records)
        else:
            check_free(target, job.shard_tokens, 0, overwrite)
        check_in_place(staging or target.folder, records, work)

    return RunLog(work, _identity(job), names, units, check)


def _identity(job: Job) -> dict[str, Any]:
    """Return what the token files depend on.

    Raises:
        ValueError: a source can be read only once.
    """
    for source in job.sources:
        if source.version is None:
            raise ValueError(
                f"work_dir: {source.name} can be read only once, so encoding cannot be resumed; use a file"
            )
    target = job.destination or str(job.target.manifest.absolute())
    settings = {"token_format" if name == "format" else name: value for name, value in job.settings.items()}
    return {**settings, "shard_tokens": job.shard_tokens, "output": target, "sources": job.key}


def _check_no_source_is_replaced(job: Job) -> None:
    """Raise a ValueError if a file to write is one to read."""
    target = job.target
    written = [*target.about_all, *target.single_there(), *target.shards_there()]
    resolved = {path.resolve() for path in written}
    names = [source.name for source in job.sources if source.is_file]
    if isinstance(job.documents, TokenFiles):
        names = [str(path) for path in (job.documents.path, *job.documents.files)]
    for name in names:
        if Path(name).resolve() in resolved:
            raise ValueError(f"output: {name} is a source; choose another output")


def check_free(target: Target, shard_tokens: int | None, ours: int, overwrite: bool) -> None:
    """Raise a FileExistsError for shards of another run, which could be taken for some of this one.

    Args:
        target: the output.
        shard_tokens: the size of a shard; None for one file, which needs no check.
        ours: how many shards may be in place already.
        overwrite: whether the shards of an earlier run are replaced.
    """
    if shard_tokens is None:
        return
    known = {target.folder / name for number in range(ours) for name in target.names(number)}
    known |= {*files_of_manifest(target)} if overwrite else set()
    there = [path for path in target.shards_there() if path not in known]
    if there:
        raise FileExistsError(f"{there[0]} is a shard of another run; delete its shards, or choose another output")


@contextmanager
def _no_empty_folder(target: Target) -> Iterator[None]:
    """Delete the folder of a format of folders if the body raises and has left nothing in it."""
    try:
        yield
    except BaseException:
        if target.format.is_folder:
            with suppress(OSError):  # the folder has other files
                target.folder.rmdir()
        raise


@contextmanager
def _full_disk_named(folder: Path) -> Iterator[None]:
    """Name the folder in the error for a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(folder)) from None
        raise
