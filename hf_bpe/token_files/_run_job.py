"""Run a job: encode its sources to shards, and put these in place with their manifest."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np

from hf_bpe._native_core import require_core
from hf_bpe._utils.files import scratch_folder
from hf_bpe._version import __version__
from hf_bpe.token_files._job import Job
from hf_bpe.token_files._manifest import EncodedFiles, write_manifest
from hf_bpe.token_files._packing import Chunk, pack
from hf_bpe.token_files._resume import replacement
from hf_bpe.token_files._resume.pieces import PieceFolder
from hf_bpe.token_files._resume.record import LOG, PieceTotals, RunLog
from hf_bpe.token_files._shards import OutputFiles, ShardRecord, check_in_place, without_empty_rows, write_shards
from hf_bpe.token_files._workers import DirectStream, EncodingProgress, PieceStream, Work, in_units, number_of_processes


def run_job(
    job: Job, workers: int, work_dir: Path | None, show_progress: bool, overwrite: bool = False
) -> EncodedFiles:
    """Write the token files and the manifest."""
    require_core("token files")
    job.check_no_source_is_replaced()
    target, units = job.target, in_units(job.sources, job.first_source)
    processes = number_of_processes(units, workers) if workers > 1 else 1
    with ExitStack() as stack:
        stack.enter_context(_full_disk_named(target.folder))
        stack.enter_context(_no_empty_folder(target))
        target.folder.mkdir(parents=True, exist_ok=True)
        replacement.finish(target)
        is_logged = bool(units) and (work_dir is not None or processes > 1)
        log, output = _folders(stack, job, work_dir, len(units) if is_logged else None, overwrite)
        records = [] if log is None else log.records
        sizes = [source.size for source in job.sources]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        progress = EncodingProgress(len(units), total, 0 if log is None else log.totals.read, show_progress)
        stack.enter_context(progress)
        work = Work(job.documents, units, progress.report)
        stream: DirectStream | PieceStream
        if log is None:
            stream = DirectStream(work)
        else:
            # Ids on their way to the files have room for the marks of a loss mask.
            dtype = job.dtype if job.options.loss_mask is None else np.dtype("<u4")
            stream = PieceStream(work, processes, PieceFolder(log.pieces, dtype, work_dir is not None), log)
        rows = _rows(stream.chunks(), job, bool(records))
        for record in write_shards(target, output, rows, job.dtype, len(records)):
            records.append(record)
            stream.committed(record)
        written = write_manifest(target, output, _make_manifest(job, records, stream.totals), records)
        if output != target.folder:
            replacement.put_in_place(target, output, records, overwrite)
        return written


def _folders(
    stack: ExitStack, job: Job, work_dir: Path | None, logged: int | None, overwrite: bool
) -> tuple[RunLog | None, Path]:
    """Return the log of `logged` units, None if it needs none, and the folder for the new files."""
    target = job.target
    staging = None if work_dir is None else replacement.staging_folder(target, work_dir)
    is_staged = staging is not None and staging.exists()
    log = None
    if logged is not None:
        work = work_dir or stack.enter_context(scratch_folder(target.folder))
        log = stack.enter_context(_run_log(job, work, logged, overwrite, staging if is_staged else None))
    else:
        replacement.check_free(target, 0, overwrite)
    if staging is None:  # no run can resume from what is there
        return log, stack.enter_context(scratch_folder(target.folder))
    is_begun = log is not None and log.records
    if is_staged or (not is_begun and replacement.files_to_replace(target, overwrite)):
        staging.mkdir(exist_ok=True)
        return log, staging
    return log, target.folder


def _rows(chunks: Iterator[Chunk], job: Job, is_begun: bool) -> Iterator[Chunk]:
    """Yield the rows of documents; raise a ValueError if there are none at all."""
    rows = without_empty_rows(chunks)
    length = job.options.pack
    if length is not None:
        rows = pack(rows, length, across=job.options.pack_across)
    is_empty = not is_begun
    for chunk in rows:
        is_empty = False
        yield chunk
    if not is_empty or job.options.shard is not None:
        return
    if length is not None:
        raise ValueError(f"pack: expected sources with at least {length} ids, got fewer")
    if job.options.format != "npy":
        raise ValueError("paths: expected sources with text, got nothing to encode")


def _run_log(job: Job, work: Path, units: int, overwrite: bool, staging: Path | None) -> RunLog:
    """Open the log of a job, after checks of what it says about the output, or about the staging folder."""
    target, is_resumed = job.target, (work / LOG).exists()

    def check(records: list[ShardRecord]) -> None:
        if staging is None:
            # After a kill, the shard after those of the log may be in place.
            replacement.check_free(target, len(records) + is_resumed, overwrite and not records)
        else:
            replacement.check_free(target, 0, overwrite)
        check_in_place(staging or target.folder, records, work)

    return RunLog(work, job.identity, target.names, units, check)


@contextmanager
def _no_empty_folder(target: OutputFiles) -> Iterator[None]:
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
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(folder)) from None
        raise


def _make_manifest(job: Job, records: Sequence[ShardRecord], totals: PieceTotals) -> dict[str, object]:
    """Return a manifest of shards; `totals` is what was read, which the files may lack some ids of."""
    tokens = sum(record.tokens for record in records)
    return {
        "made_by": f"hf_bpe {__version__}",
        **job.settings,
        "dtype": job.dtype.name,
        "shard_tokens": job.target.shard_tokens,
        "tokens": tokens,
        "documents": totals.documents,
        "rows": sum(record.rows for record in records),
        "tokens_left_out": totals.tokens - tokens,
        "skipped": totals.skipped,
        "shards": [{"files": record.files, "tokens": record.tokens, "rows": record.rows} for record in records],
        "sources": job.described_sources,
    }
