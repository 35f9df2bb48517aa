"""Count on a cluster, with Ray: a task for some shards, and a tree of tasks that merge their counts.

There is nothing here but the order in which it is done: `plan`, `count` and `WordCounts.merge` do the work, and any
other map and reduce may call them (docs/how-to/train-at-scale.md). Counts go from worker to worker; this process gets
the last only.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from hf_bpe._utils.arguments import check_int
from hf_bpe._utils.progress import Listener, Progress
from hf_bpe.counting import _count as counting
from hf_bpe.counting._sources import Shard, TextSource, plan
from hf_bpe.counting._word_counts import Settings, WordCounts

__all__ = ["count"]


def count(
    source: TextSource,
    *,
    pattern: str | None = "gpt2",
    special_tokens: Sequence[str] = (),
    address: str | None = None,
    shard_bytes: int = 1 << 28,
    fan_in: int = 8,
    max_retries: int = 3,
    max_memory: int | str | None = None,
    show_progress: bool = False,
    callback: Listener | None = None,
) -> WordCounts:
    """Return how often each pre-token occurs in the source, as `hf_bpe.count` does; by the workers of a cluster.

    They must see the same files, by the same names, and have this version of hf_bpe.

    Args:
        source: files by paths, globs, directories or URLs; or `Source` objects or shards of such.
        pattern, special_tokens: as in `hf_bpe.count`.
        address: of a running cluster, "auto" for the one that this machine is of, None for one that is begun for this
            call; of no use if `ray.init` was called before.
        shard_bytes: about how much a task reads.
        fan_in: how many counts a task merges.
        max_retries: how often a task is tried again whose worker is lost.
        max_memory: bound of the memory of each task, as in `hf_bpe.count`.
        show_progress, callback: as in `hf_bpe.count`.

    Raises:
        ImportError: Ray is not installed.
        TypeError: an iterable among the sources, which other machines cannot read.
        ray.exceptions.RayError: tasks that failed, more often than they are tried; the cause stands in it.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError("counting on a cluster takes Ray: pip install 'hf_bpe[ray]'") from error
    fan_in = check_int("fan_in", fan_in, 2)
    settings = Settings.checked(pattern, special_tokens)
    shards = plan(source, shard_bytes=shard_bytes)
    for shard in shards:
        if not shard.is_file:
            raise TypeError(f"source: {shard.name} is no file; only files can be read by other machines")

    with _connected(ray, address):
        task = ray.remote(num_cpus=1, max_retries=max_retries)
        count_some, merge = task(_count), task(_merge)
        at_once = 2 * _cpus(ray)
        total = sum(shard.size or 0 for shard in shards)
        groups = _in_tasks(shards, shard_bytes)
        levels: defaultdict[int, list[Any]] = defaultdict(list)  # counts by how many merges they have been through
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
    """Yield small shards together, so that no task is too small to be worth it."""
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


@contextlib.contextmanager
def _connected(ray: Any, address: str | None) -> Iterator[None]:
    if ray.is_initialized():
        yield
        return
    ray.init(address=address, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()
