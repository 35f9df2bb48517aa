"""Count the pre-tokens of any source, in bounded memory and resumably.

The result never depends on workers, memory or interruptions. Shards are read one after the other and counted in tables.
When the memory for the tables is used up, or a checkpoint is due, they are spilled as sorted runs; when all shards are
read the runs are merged.
"""

from __future__ import annotations

import contextlib
import logging
import math
import os
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, TypedDict

from hf_bpe._native_core import require_core
from hf_bpe._utils.arguments import (
    at_least,
    check_callable,
    check_flag,
    checked,
    checks_of,
    option,
    optional,
    with_options,
)
from hf_bpe._utils.memory import available_bytes, format_bytes, parse_bytes, resident_bytes
from hf_bpe._utils.paths import check_output
from hf_bpe._utils.progress import Listener, Progress
from hf_bpe._utils.visible import with_noun
from hf_bpe.counting._checkpoint import WorkFolder
from hf_bpe.counting._count_tables import make_count_table
from hf_bpe.counting._error_policy import Skipped
from hf_bpe.counting._readers import Batch, read
from hf_bpe.counting._runs import Run, gather, open_run
from hf_bpe.counting._settings import Counted, CountSettings
from hf_bpe.counting._sources import Shard, TextSource, plan, split_shard
from hf_bpe.counting._word_counts import IN_MEMORY, WordCounts, merge_all
from hf_bpe.pretokenizers._pattern import AnyPattern

if TYPE_CHECKING:
    from typing_extensions import Unpack

logger = logging.getLogger(__name__)

_BATCH_BYTES = 1 << 24  # of text to hold at once; enough for many threads, whatever the length of the texts
_COMMIT_SECONDS = 30.0  # of work that an interruption can lose at most, if no shard takes longer
_FIRST_COMMIT_SECONDS = 3.0  # the same at the beginning
_PART_BYTES = 1 << 25  # of a large file to commit at once
_BYTES_PER_LINE_BYTE = 14  # of memory: one 4-byte character makes its whole str take 4 bytes per character
_MAX_ROOM = 1 << 36  # where the amount of memory is unknown
_MIN_ROOM = 48_000_000  # for the current text, buffers, and tables of a useful size


@dataclass(frozen=True)
class CountingOptions:
    """The options of all that counts, which decide no result.

    Args:
        num_workers: threads to count in, and to index pairs in; None for one per core.
        max_memory: limit for the memory of this process, in bytes or as "2GB". Counts that do not fit are spilled to
            files in `work_dir`, or in the temporary folder, and so is the result.
        work_dir: a folder for checkpoints, from which the same work resumes after an interruption: the counts every
            half minute, learned merges every ten seconds. New files are counted; a file that has changed, or is not
            among the sources any more, is an error. Iterables and pipes are counted each time. The folder may be
            deleted once you have the result.
        show_progress: show bars on standard error, of the bytes read and, with the last one, of the merges learned.
        callback: called with a `progress.Event` for each batch of text, and about twenty times a second in a long one
            and while merges are learned; an exception of it ends the work.
    """

    num_workers: int | None = option(None, optional(at_least(1)))
    max_memory: int | str | None = option(None, optional(lambda name, value: parse_bytes(value, name)))
    work_dir: str | os.PathLike[str] | None = option(None, optional(check_output))
    show_progress: bool = option(False, check_flag)
    callback: Listener | None = option(None, optional(check_callable))

    @property
    def max_bytes(self) -> int | None:
        """`max_memory` in bytes."""
        return None if self.max_memory is None else parse_bytes(self.max_memory, "max_memory")


class CountingKeywords(TypedDict, total=False):
    """The fields of `CountingOptions`, by keyword."""

    num_workers: int | None
    max_memory: int | str | None
    work_dir: str | os.PathLike[str] | None
    show_progress: bool
    callback: Listener | None


@checked(**checks_of(CountingOptions))
@with_options(CountingOptions)
def count(
    source: TextSource,
    *,
    pattern: AnyPattern = "gpt2",
    special_tokens: Sequence[str] = (),
    **options: Unpack[CountingKeywords],
) -> WordCounts:
    """Count how often each pre-token occurs in the source, after splitting it at special tokens.

    Args:
        source: a path, glob, directory or URL, several of them, an iterable of texts, or `Source` objects, which have
            weights and reading options; or shards of these, from `plan`.
        pattern: how text is cut into pre-tokens, as in `train`.
        special_tokens: text is split at these tokens; they are not counted.
        options: those of `CountingOptions`, each by its name.

    Raises:
        OSError, TypeError, ValueError: a source is invalid or cannot be read.
        ValueError: a number is out of range, `max_memory` is too small, or `work_dir` belongs to another count.
        OverflowError: with these weights counts could exceed 64 bits.

    >>> sorted(count(["low low<|x|>lower"], special_tokens=["<|x|>"]).items())
    [(b' low', 1), (b'low', 1), (b'lower', 1)]
    """
    settings, counting_options = CountSettings.checked(pattern, special_tokens), CountingOptions(**options)
    if counting_options.work_dir is not None:
        require_core("work folders of counts")
    with contextlib.closing(_Counting(source, settings, counting_options)) as counting:
        counting.count_all()
        return counting.word_counts()


class _Counting:
    """A running count: a count table, and the runs that have been spilled from it."""

    def __init__(self, source: TextSource, settings: CountSettings, options: CountingOptions) -> None:
        self.settings, self.options = settings, options
        self.shards = plan(source)
        self.scale = math.lcm(*(shard.weight.denominator for shard in self.shards))
        for shard in self.shards:
            if shard.weight * self.scale >= 2**63:
                raise OverflowError(
                    f"weight {shard.weight} with the others makes counts exceed 64 bits; choose rounder weights"
                )
        self.is_limited = options.max_bytes is not None
        room = 0 if options.max_bytes is None else _room(options.max_bytes)
        self.max_bytes = room // _BYTES_PER_LINE_BYTE if self.is_limited else None
        self.batch_bytes = min(_BATCH_BYTES, room // 32) if self.is_limited else _BATCH_BYTES
        self.table = make_count_table(settings, options.num_workers, room // 2)
        self.work: WorkFolder | None = None
        if options.work_dir is not None:
            self.work = WorkFolder(options.work_dir, {**settings.identity(), "scale": self.scale})
        self.folder = None if self.work is None else self.work.path
        if self.work is not None:  # so that a large file can be resumed inside
            self.shards = [
                part
                for shard in self.shards
                for part in ([shard] if self.work.has_finished(shard) else split_shard(shard, _PART_BYTES))
            ]
        # Shards, runs and skip counts that are not committed yet.
        self.open_shards: list[Shard] = []
        self.open_runs: list[str] = []
        self.skipped = Skipped()
        self.runs: list[Run] = []  # only without a work folder

    def close(self) -> None:
        if self.work is not None:
            self.work.close()

    def count_all(self) -> None:
        left, uncommittable = self.shards, []
        if self.work is not None:
            left = self.work.unfinished([shard for shard in self.shards if shard.version is not None])
            self.work.delete_leftovers()
            # Data without a version may have other content the next time.
            uncommittable = [shard for shard in self.shards if shard.version is None]
        total = None if any(shard.size is None for shard in self.shards) else _bytes(self.shards)
        done = _bytes(self.shards) - _bytes(left) - _bytes(uncommittable)
        if done:
            logger.info("counted before: %s of %s", format_bytes(done), format_bytes(_bytes(self.shards)))
        began = committed = time.monotonic()
        show, listener = self.options.show_progress, self.options.callback
        with Progress("counting", total, done=done, show=show, listener=listener) as progress:
            for group in _in_groups(left, self.batch_bytes):
                self._count(group, progress)
                self.open_shards += group
                now = time.monotonic()
                # Each commit empties the table, so they get rarer.
                interval = min(_COMMIT_SECONDS, max(_FIRST_COMMIT_SECONDS, (now - began) / 10))
                if self.work is not None and now - committed >= interval:
                    self._commit()
                    committed = time.monotonic()
            if self.work is not None:
                self._commit()
            for group in _in_groups(uncommittable, self.batch_bytes):
                self._count(group, progress)
        self._report()

    def _count(self, group: Sequence[Shard], progress: Progress) -> None:
        before = progress.done
        with contextlib.closing(self._read(group)) as batches:
            weight = int(group[0].weight * self.scale)
            for _ in self.table.add(batches, weight, lambda read: progress.show(before + read)):
                self._spill()
        progress.show(before + _bytes(group))

    def _read(self, group: Sequence[Shard]) -> Generator[Batch, None, None]:
        """Yield the texts of several small files as one batch, and of a large file as several batches."""
        parts = (read(shard, self.settings, self.batch_bytes, self.skipped, self.max_bytes) for shard in group)
        if len(group) == 1:
            yield from next(parts)
        else:
            yield Batch([text for part in parts for batch in part for text in batch.texts], _bytes(group))

    def _spill(self) -> None:
        merger = self.table.drain()
        if self.work is not None:
            self.open_runs.append(self.work.write_run(merger))
        else:
            self.runs.append(open_run(gather(merger)))
        logger.info("memory limit reached: %s spilled to a file", with_noun(merger.words, "distinct pre-token"))

    def _commit(self) -> None:
        assert self.work is not None
        if self.open_shards:
            self.open_runs.append(self.work.write_run(self.table.drain()))
            self.work.commit(self.open_shards, self.open_runs, asdict(self.skipped))
        self.open_shards, self.open_runs, self.skipped = [], [], Skipped()

    def word_counts(self) -> WordCounts:
        merger = self.table.drain()
        runs = self.runs if self.work is None else [*self.work.runs(), *map(self.work.run, self.open_runs)]
        if runs:
            merger = merge_all([*runs, open_run(gather(merger, folder=self.folder))], folder=self.folder)
        sources = [
            Counted(shard.name, str(shard.weight), int(shard.is_file and shard.start == 0), shard.size or 0)
            for shard in self.shards
        ]
        # What was in memory may stay in memory, because a run is smaller than a table.
        max_in_memory = 0 if self.is_limited else IN_MEMORY if runs else sys.maxsize
        store = partial(gather, max_in_memory=max_in_memory, folder=self.folder)
        counts = WordCounts.from_run(merger, self.settings, self.scale, store)
        return counts.counted_from(sources, self._all_skipped())

    def _all_skipped(self) -> dict[str, int]:
        before = Skipped() if self.work is None else Skipped(**self.work.skipped())
        return asdict(before + self.skipped)

    def _report(self) -> None:
        skipped = self._all_skipped()
        number = len({(shard.name, shard.start if self.work is None else 0) for shard in self.shards})
        size = _bytes(self.shards)  # unknown for texts in memory
        logger.info("read %s%s", with_noun(number, "shard"), f", {format_bytes(size)}" if size else "")
        if any(skipped.values()):
            logger.warning(
                "skipped: the rest of %(files)d files and %(documents)d documents; shortened: %(shortened)d documents",
                skipped,
            )


def _bytes(shards: Iterable[Shard]) -> int:
    return sum(shard.size or 0 for shard in shards)


def _room(max_memory: int) -> int:
    """Return the memory that is left for counting."""
    used = resident_bytes()
    if max_memory - used < _MIN_ROOM:
        raise ValueError(
            f"max_memory: {format_bytes(max_memory)} is too little: this process already uses {format_bytes(used)}; "
            f"give at least {format_bytes(used + _MIN_ROOM)}"
        )
    # Tables have their full size from the beginning, so it must not exceed the available memory.
    return min(max_memory - used, max(available_bytes() or _MAX_ROOM, _MIN_ROOM))


def _in_groups(shards: Iterable[Shard], size: int) -> Iterator[list[Shard]]:
    """Yield groups of consecutive small files with the same weight, of at most `size` bytes in all."""
    group: list[Shard] = []
    room = 0
    for shard in shards:
        is_small = shard.size is not None and (shard.start, shard.stop) == (0, None)
        needed = (shard.size or 0) if is_small else size + 1
        if group and (needed > room or shard.weight != group[0].weight):
            yield group
            group, room = [], size
        room = (room if group else size) - needed
        group.append(shard)
    if group:
        yield group
