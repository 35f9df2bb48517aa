"""Counting and sorted runs by the native core."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from hf_bpe._native_core import native_core, require_core
from hf_bpe.counting._runs import MAX_COUNT, Run, RunOfCounts, RunStream, read_whole
from hf_bpe.counting._runs import read_words as read_own_words
from hf_bpe.pretokenizers._native import native_pattern
from hf_bpe.pretokenizers._pattern import Pattern

if TYPE_CHECKING:
    from hf_bpe._native import Counter
_WORDS_AT_ONCE = 4096


def merge_runs(all_runs: Sequence[Run], multipliers: Sequence[int], minimum: int = 1) -> RunStream:
    """Return a merger of sorted runs, times their multipliers, which leaves out words below a minimum.

    Raises, also while it is read:
        ValueError: a run is damaged; the message says how, not which run.
        OverflowError: a sum exceeds 64 bits.
    """
    native = require_core("sums and parts of counts")
    # With a multiplier or limit of more than 64 bits, counts overflow 64 bits or are below the limit.
    merger: RunStream = native.RunMerger(all_runs, multipliers, min(minimum, MAX_COUNT))
    return merger


def read_words(run: Run) -> Iterator[tuple[bytes, int]]:
    """Yield the words of a sorted run and their counts.

    Raises:
        ValueError: the data is not a run, or ends too early.
    """
    native = native_core()
    if native is None:
        try:
            yield from read_own_words(run)
        except IndexError:
            raise ValueError("it ends inside a record") from None
        return
    reader = native.RunReader(run)
    while words := reader.next(_WORDS_AT_ONCE):
        yield from words


def native_counter(pattern: Pattern, special_tokens: Sequence[str], threads: int, memory: int = 0) -> Counter:
    """Return a native counter of pre-tokens that runs in threads.

    `memory` is the limit for its counts in bytes, 0 for no limit.

    Raises:
        ValueError: the native core cannot split by the pattern.
    """
    native = require_core("counts in threads")
    splits = native_pattern(native, pattern)
    specials = [special.encode() for special in special_tokens]
    # A number beyond the core's 32 bits is more threads than it would start.
    counter: Counter = native.Counter(splits, specials, threads=min(threads, 2**31), memory=memory)
    return counter


@runtime_checkable
class HasRun(Protocol):
    """Counts that can be read as a sorted run."""

    def run(self) -> Run:
        """Return a reader of the run from its beginning."""

    def items(self) -> Iterable[tuple[bytes, int]]:
        """Return the words and their counts."""


def run_factory(counts: Mapping[bytes, int] | HasRun) -> Callable[[], Run]:
    """Return a function that returns the run for the native core to learn from."""
    if isinstance(counts, HasRun):
        return counts.run
    run = read_whole(RunOfCounts(counts).read)
    return lambda: run
