"""Counting and sorted runs by the native core or, where it is not built, in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hf_bpe._native_core import native_core
from hf_bpe.counting import _runs as runs
from hf_bpe.pretokenizers._native import native_pattern

if TYPE_CHECKING:
    from hf_bpe._native import Counter
_WORDS_AT_ONCE = 4096


def merge_runs(all_runs: Sequence[runs.Run], multipliers: Sequence[int], minimum: int = 1) -> runs.RunMerger:
    """Return a merger of sorted runs, see `runs.RunMerger`."""
    native = native_core()
    if native is None:
        return runs.RunMerger(all_runs, multipliers, minimum)
    # With a multiplier or limit of more than 64 bits, counts overflow 64 bits or are below the limit.
    merger: runs.RunMerger = native.RunMerger(all_runs, multipliers, min(minimum, 2**64 - 1))
    return merger


def read_words(run: runs.Run) -> Iterator[tuple[bytes, int]]:
    """Yield the words of a sorted run and their counts, see `runs.read_words`."""
    native = native_core()
    if native is None:
        yield from runs.read_words(run)
        return
    reader = native.RunReader(run)
    while words := reader.next(_WORDS_AT_ONCE):
        yield from words


def native_counter(pattern: str | None, special_tokens: Sequence[str], threads: int, memory: int = 0) -> Counter | None:
    """Return a native counter of pre-tokens that runs in threads; None if the native core is not built.

    `memory` is the limit for its counts in bytes, 0 for no limit.

    Raises:
        ValueError: the native core cannot split by the pattern.
    """
    native = native_core()
    if native is None:
        return None
    splits = native_pattern(native, pattern)
    specials = [special.encode() for special in special_tokens]
    # A number beyond the core's 32 bits is more threads than it would start.
    counter: Counter = native.Counter(splits, specials, threads=min(threads, 2**31), memory=memory)
    return counter


@runtime_checkable
class HasRun(Protocol):
    """Counts that can be read as a sorted run."""

    def run(self) -> runs.Run:
        """Return a reader of the run from its beginning."""

    def items(self) -> Iterable[tuple[bytes, int]]:
        """Return the words and their counts."""


def run_factory(counts: Mapping[bytes, int] | HasRun) -> Callable[[], runs.Run]:
    """Return a function that returns the run for the native core to learn from."""
    if isinstance(counts, HasRun):
        return counts.run
    merger = runs.RunMerger.of(counts)
    run = b"".join(iter(lambda: merger.read(runs.PIECE), b""))
    return lambda: run
