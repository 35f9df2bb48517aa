"""Count on a Ray cluster: tasks that count shards, and a tree of tasks that merge their counts.

This module only schedules: `plan`, `count` and `WordCounts.merge` do the work, and any other map-reduce system may call
them (docs/how-to/train-at-scale.md). Counts go from worker to worker; this process receives only the final counts.
"""

from __future__ import annotations

import contextlib
import importlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from hf_bpe._utils.arguments import check_int
from hf_bpe._utils.progress import Listener, Progress
from hf_bpe.counting import _count as counting
from hf_bpe.counting._sources import Shard, TextSource, plan
from hf_bpe.counting._word_counts import Settings, WordCounts
from hf_bpe.pretokenizers._patterns import AnyPattern

__all__ = ["count"]


def count(
    source: TextSource,
    *,
    pattern: AnyPattern = "gpt2",
    special_tokens: Sequence[str] = (),
    address: str | None = None,
    shard_bytes: int = 1 << 28,
    fan_in: int = 8,
    max_retries: int = 3,
    max_memory: int | str | None = None,
    show_progress: bool = False,
    callback: Listener | None = None,
) -> WordCounts:
    """Count how often each pre-token occurs in the source on the workers of a cluster; see `hf_bpe.count`.

    The workers must see the same files under the same names, and have this version of hf_bpe.

    Args:
        source: files by paths, globs, directories or URLs; or `Source` objects or shards of files.
        pattern, special_tokens: as in `hf_bpe.count`.
        address: the address of a running cluster, "auto" for the cluster of this machine, None to start one for this
            call; ignored if `ray.init` was called before.
        shard_bytes: the approximate number of bytes that a task reads.
        fan_in: the number of counts that a task merges.
        max_retries: how often a task is retried if its worker is lost.
        max_memory: limit for the memory of each task, as in `hf_bpe.count`.
        show_progress, callback: as in `hf_bpe.count`.

    Raises:
        ImportError: Ray is not installed.
        TypeError: a source is an iterable, which other machines cannot read.
        ray.exceptions.RayError: a task failed more often than it is retried; the exception holds the cause.
    """
    ray = import_ray()
    fan_in = check_int("fan_in", fan_in, 2)
    settings = Settings.checked(pattern, special_tokens)
    shards = plan(source, shard_bytes=shard_bytes)
    for shard in shards:
        if not shard.is_file:
            raise TypeError(f"source: {shard.name} is not a file; other machines can read only files")

    with connected(ray, address):
        task = ray.remote(num_cpus=1, max_retries=max_retries)
        count_some, merge = task(_count), task(_merge)
        at_once = 2 * _cpus(ray)
        total = sum(shard.size or 0 for shard in shards)
        groups = _in_tasks(shards, shard_bytes)
        levels: defaultdict[int, list[Any]] = defaultdict(list)  # level → counts that have been merged that many times
        running: dict[Any, tuple[int, int]] = {}  # task → the level of its result, and the bytes that it reads
        with Progress("counting", total, show=show_progress, listener=callback) as progress:
            while True:
                while len(running) < at_once and (group := next(groups, None)):
                    size = sum(shard.size or 0 for shard in group)
                    running[count_some.remote(group, settings, max_memory)] = 0, size
                if not running:
                    break
                for done in ray.wait(list(running))[0]:
                    level, size = running.pop(done)
                    levels[level].append(done)
                    progress.show(progress.done + size)
                    if len(levels[level]) == fan_in:
                        running[merge.remote(*levels.pop(level))] = level + 1, 0
            left = [one for level in sorted(levels) for one in levels[level]]
            while len(left) > 1:
                left = [*left[fan_in:], merge.remote(*left[:fan_in])]
            counts: WordCounts = ray.get(left[0])
        return counts


def _count(shards: list[Shard], settings: Settings, max_memory: int | str | None) -> WordCounts:
    return counting.count(
        shards,
        pattern=settings.pattern,
        special_tokens=settings.special_tokens,
        num_workers=1,
        max_memory=max_memory,
    )


def _merge(first: WordCounts, *others: WordCounts) -> WordCounts:
    return first.merge(*others)


def _in_tasks(shards: Sequence[Shard], size: int) -> Iterator[list[Shard]]:
    """Yield groups of small shards, so that no task is too small."""
    group: list[Shard] = []
    total = 0
    for shard in shards:
        group.append(shard)
        total += shard.size or size
        if total >= size:
            yield group
            group, total = [], 0
    if group:
        yield group


def _cpus(ray: Any) -> int:
    return max(int(ray.cluster_resources().get("CPU", 1)), 1)


def import_ray() -> Any:
    """Return Ray, or raise an ImportError that says how to install it."""
    try:
        return importlib.import_module("ray")
    except ImportError as error:
        raise ImportError("work on a cluster needs Ray: pip install 'hf_bpe[ray]'") from error


@contextlib.contextmanager
def connected(ray: Any, address: str | None) -> Iterator[None]:
    """Connect to a cluster, unless this process is connected, and leave it afterwards."""
    if ray.is_initialized():
        yield
        return
    ray.init(address=address, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()
