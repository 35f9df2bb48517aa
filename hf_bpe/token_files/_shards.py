"""The token files: rows are written to shards, each of which is put in place when it is whole, and then recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hf_bpe._utils.files import staged_folder
from hf_bpe.token_files._formats import Target
from hf_bpe.token_files._formats.writer import TokenWriter
from hf_bpe.token_files._rows import Chunk


class ShardRecord(NamedTuple):
    """A shard that is in place.

    Attributes:
        files: name → number of bytes.
        tokens, rows: how many ids and rows it holds.
        details: what the index of the format says about it.
        modified: name → when the file was written, in nanoseconds.
    """

    files: dict[str, int]
    tokens: int
    rows: int
    details: dict[str, Any]
    modified: dict[str, int]


class ShardWriter:
    """Write a stream of rows to shards, each of which ends with the row that brings it to `shard_tokens` ids."""

    def __init__(
        self,
        target: Target,
        folder: Path,
        make: Callable[[Sequence[Path]], TokenWriter],
        records: list[ShardRecord],
        committed: Callable[[ShardRecord], None],
        needs_one: bool = True,
    ) -> None:
        self._needs_one = needs_one
        self._target, self._folder, self._make = target, folder, make
        self._records, self._committed = records, committed

    def write(self, chunks: Iterable[Chunk]) -> None:
        """Write all rows; the last one must end with the last chunk."""
        left: Iterator[Chunk] = iter(chunks)
        first = next(left, None)
        is_needed = self._needs_one and not self._records  # a corpus without text has one shard, with nothing in it
        while first is not None or is_needed:
            first = self._write_shard(first, left)
            is_needed = False

    def _write_shard(self, first: Chunk | None, left: Iterator[Chunk]) -> Chunk | None:
        """Write a shard that begins with a chunk, and return the part of a chunk that the next one begins with."""
        names = self._target.names(len(self._records))
        tokens = rows = 0
        rest: Chunk | None = None
        with ExitStack() as stack:
            staging = stack.enter_context(staged_folder(self._folder, last=names[:1]))
            writer = stack.enter_context(self._make([staging / name for name in names]))
            chunk = first
            while chunk is not None:
                chunk, rest = self._cut(chunk, self._target.shard_tokens, tokens)
                writer.append(chunk)
                tokens += len(chunk.ids)
                rows += len(chunk.ends)
                maximum = self._target.format.max_ids
                if maximum is not None and tokens > maximum:
                    raise ValueError(
                        f"got a file of more than {maximum} ids, the limit of this format; give shard_tokens"
                    )
                chunk = next(left, None) if rest is None else None
            details = dict(writer.finish())
            files = {name: (staging / name).stat().st_size for name in names}
            modified = {name: (staging / name).stat().st_mtime_ns for name in names}
        record = ShardRecord(files, tokens, rows, details, modified)
        self._records.append(record)
        self._committed(record)
        return next(left, None) if rest is not None and len(rest.ids) == 0 else rest

    @staticmethod
    def _cut(chunk: Chunk, shard_tokens: int | None, tokens: int) -> tuple[Chunk, Chunk | None]:
        """Return the part of a chunk that belongs to a shard with `tokens` ids, and the rest; None if all does."""
        if shard_tokens is None:
            return chunk, None
        last = int(np.searchsorted(chunk.ends, shard_tokens - tokens))
        if last == len(chunk.ends):
            return chunk, None
        end = int(chunk.ends[last])
        ids, ends, values = chunk
        rest = Chunk(ids[end:], ends[last + 1 :] - end, values[last + 1 :])
        return Chunk(ids[:end], ends[: last + 1], values[: last + 1]), rest


def without_empty_rows(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield chunks that begin at the end of a row, without empty ones and without that end."""
    is_first = True
    for ids, ends, values in chunks:
        left_out = int(np.searchsorted(ends, 0, "right")) if is_first else 0
        if len(ids) or len(ends) > left_out:
            yield Chunk(ids, ends[left_out:], values[left_out:])
            is_first = False


def check_in_place(folder: Path, records: Iterable[ShardRecord], work: Path) -> None:
    """Raise a ValueError if a file of a shard is missing, or was written again."""
    for record in records:
        for name, size in record.files.items():
            path = folder / name
            found = path.stat() if path.is_file() else None
            if found is None or (found.st_size, found.st_mtime_ns) != (size, record.modified[name]):
                raise ValueError(
                    f"{path} is missing or has changed since it was written, or was copied without its time; copy it "
                    f"with its time (cp -p, rsync -t), or delete {work} to encode again"
                )
