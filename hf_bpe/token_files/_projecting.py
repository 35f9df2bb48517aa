"""Token files of smaller vocabularies from those of a larger one; see `BPETokenizer.project_files`."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from hf_bpe._utils.files import scratch_folder
from hf_bpe.encoding._projection import ProjectionTable
from hf_bpe.token_files._formats import Target
from hf_bpe.token_files._manifest import EncodedFiles, make_manifest, settings_of, write_manifest
from hf_bpe.token_files._replacing import check_free, finish_replacement, put_in_place
from hf_bpe.token_files._rows import Chunk
from hf_bpe.token_files._shards import ShardRecord, ShardWriter
from hf_bpe.token_files._shares import Share
from hf_bpe.token_files._written import TokenFiles

_REFUSED = {
    "pack": "where a sequence ends depends on the number of tokens",
    "dropout": "they are random",
    "loss_mask": "the mask is one of other ids",
}
_QUEUED = 2  # chunks
_PATIENCE = 0.1  # seconds between looks at a writer that takes nothing


class Projected(NamedTuple):
    """Token files of a smaller vocabulary.

    Attributes:
        target: the format and the names of files.
        table: the ids of the smaller vocabulary for each id.
        highest_id: the highest id of the smaller tokenizer.
        settings: what the manifest says about the smaller tokenizer.
    """

    target: Target
    table: ProjectionTable
    highest_id: int
    settings: Mapping[str, Any]


def make_target(files: TokenFiles, output: Path) -> Target:
    """Return the files to write in the format of other files."""
    shard = files.content.get("shard")
    share = None if shard is None else Share(*shard)
    return Target(files.content["format"], output, share, files.columns)


def project_all(files: TokenFiles, wanted: Sequence[Projected], overwrite: bool) -> list[EncodedFiles]:
    """Write token files of several smaller vocabularies from one pass over those of the larger one."""
    files.check_rows(_REFUSED)
    own = {path.resolve() for path in (files.path, *files.files)}
    shard_tokens = files.content["shard_tokens"]
    with ExitStack() as stack:
        writers: list[Callable[[Iterator[Chunk]], EncodedFiles]] = []
        for each in wanted:
            target = each.target
            written = {
                *target.about_all,
                *target.single_there(),
                *target.shards_there(),
            }
            if {path.resolve() for path in written} & own:
                raise ValueError(f"output: {target.manifest} or its files are those to read; choose another output")
            target.folder.mkdir(parents=True, exist_ok=True)
            finish_replacement(target)
            check_free(target, shard_tokens, 0, overwrite)
            staging = stack.enter_context(scratch_folder(target.folder))
            writers.append(partial(_write, files, each, staging, overwrite))
        return _broadcast(files.chunks(), writers)


def _write(
    files: TokenFiles, wanted: Projected, staging: Path, overwrite: bool, chunks: Iterator[Chunk]
) -> EncodedFiles:
    """Write the files of one smaller vocabulary."""
    target, content = wanted.target, files.content
    dtype, shard_tokens = target.format.dtype(wanted.highest_id), content["shard_tokens"]
    make = partial(target.make, dtype=dtype)
    records: list[ShardRecord] = []
    writer = ShardWriter(target, staging, make, shard_tokens, records, lambda _: None, bool(content["shards"]))
    narrow = "<u2" if wanted.table.highest_id < 1 << 16 else "<u4"
    writer.write(chunk._replace(**_projected(wanted.table, chunk, narrow)) for chunk in chunks)
    if not (target.format.keeps_rows or target.has_index):  # the one shard has all rows
        records = [record._replace(rows=content["rows"]) for record in records]
    totals = replace(files.totals, tokens=sum(record.tokens for record in records))
    settings = {**settings_of(content), **wanted.settings}
    manifest = make_manifest(settings, dtype, shard_tokens, records, totals, content["sources"])
    encoded = write_manifest(target, staging, manifest, records)
    put_in_place(target, staging, records, shard_tokens is not None, overwrite)
    return encoded


def _projected(table: ProjectionTable, chunk: Chunk, dtype: str) -> dict[str, Any]:
    ids, ends = table.apply(chunk.ids, chunk.ends, dtype)
    return {"ids": ids, "ends": ends}


def _broadcast(
    chunks: Iterator[Chunk], writers: Sequence[Callable[[Iterator[Chunk]], EncodedFiles]]
) -> list[EncodedFiles]:
    """Call writers, each in a thread of its own, with the same chunks; raise the first of their errors.

    If reading fails, so does every writer; a writer that fails ends the others that are not done.
    """
    queues: list[queue.Queue[Chunk | BaseException | None]] = [queue.Queue(_QUEUED) for _ in writers]
    results: list[EncodedFiles | BaseException | None] = [None] * len(writers)

    def run(number: int) -> None:
        try:
            results[number] = writers[number](_queued(queues[number]))
        except BaseException as error:
            results[number] = error

    def give(number: int, item: Chunk | BaseException | None) -> None:
        while results[number] is None:  # the writer has not failed
            with suppress(queue.Full):
                return queues[number].put(item, timeout=_PATIENCE)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(len(writers))]
    for thread in threads:
        thread.start()
    end: BaseException | None = None
    try:
        for chunk in chunks:
            if any(isinstance(result, BaseException) for result in results):
                end = RuntimeError("another size failed")
                break
            for number in range(len(writers)):
                give(number, chunk)
    except BaseException as error:
        end = error
    for number in range(len(writers)):
        give(number, end)
    for thread in threads:
        thread.join()
    errors = [result for result in results if isinstance(result, BaseException) and result is not end]
    if errors or end is not None:
        raise next(iter(errors), end or AssertionError)
    return [result for result in results if isinstance(result, EncodedFiles)]


def _queued(chunks: queue.Queue[Chunk | BaseException | None]) -> Iterator[Chunk]:
    """Yield what comes from a queue until its end, which may be an error."""
    while isinstance(item := chunks.get(), Chunk):
        yield item
    if isinstance(item, BaseException):
        raise item
