"""Learn merges by the native core or, where it is not built, by the reference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from hf_bpe import reference
from hf_bpe._native_core import native_core, require_core
from hf_bpe.core._model import Merge
from hf_bpe.counting._runs import Run, RunOfCounts, read_whole
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._native_splitting import native_pattern
from hf_bpe.pretokenizers._pattern import GPT2, Pattern
from hf_bpe.reference import _training_alphabet as reference_alphabet
from hf_bpe.reference._options import LearningOptions
from hf_bpe.reference._parity import ParityMerges, ParityOptions
from hf_bpe.reference._training_alphabet import TrainingAlphabet

Counts: TypeAlias = Mapping[bytes, int] | WordCounts
"""Pre-token → number of occurrences."""


@dataclass(frozen=True)
class LearningStart:
    """The merges and characters that learning begins with."""

    merges: Sequence[Merge] = ()  # have lower ranks than the learned ones
    word_pattern: Pattern = GPT2  # cuts long words where none of the merges crosses
    alphabet: TrainingAlphabet | None = None  # the characters to learn from; None for bytes
    threads: int = 1  # threads that apply the merges and index pairs; the result does not depend on them


def run_factory(counts: Counts) -> Callable[[], Run]:
    """Return a function that returns the run for the native core to learn from."""
    if isinstance(counts, WordCounts):
        return counts.run
    run = read_whole(RunOfCounts(counts).read)
    return lambda: run


def learn_merges(
    counts: Counts,
    options: LearningOptions,
    max_merges: int,
    start: LearningStart,
    progress: Callable[[list[Merge], int], object] | None = None,
) -> list[Merge]:
    """Learn merges; the results equal those of `reference.learn_merges`.

    Args:
        progress: called with the merges learned since its last call, possibly none, and the count of the last merge (0
            before the first); the native core calls it about twenty times a second, and once at the end. The
            concatenation of all these lists is the result. Its exceptions propagate.

    Raises:
        OverflowError: native: the counts make 2**64 pairs or more.
        ValueError: an initial merge is given twice; native: the distinct pre-tokens have more than 2**32 bytes, or
            there are more than 2**21 initial tokens.
    """
    native = native_core()
    if native is None:
        given: dict[str, Any] = {"initial": start.merges, "alphabet": start.alphabet, "progress": progress}
        return reference.learn_merges(dict(counts.items()), max_merges=max_merges, **given, **vars(options))
    merges: list[Merge] = native.learn_merges(
        run_factory(counts),
        options,
        initial=[*start.merges],
        # There are never that many merges, and no pair has such a count.
        max_merges=min(max_merges, 2**32) if options.min_count < 2**64 else 0,
        parts=native_pattern(native, start.word_pattern),
        threads=min(start.threads, 2**31),
        alphabet=start.alphabet,
        progress=progress,
    )
    return merges


def count_characters(counts: Counts) -> Mapping[str, int]:
    """Return how often each character occurs; see `reference._training_alphabet.count_characters`."""
    native = native_core()
    if native is None:
        return reference_alphabet.count_characters(dict(counts.items()))
    return {chr(code): number for code, number in native.count_characters(run_factory(counts)).items()}


def learn_parity_merges(
    languages: Sequence[Counts],
    dev: Sequence[Counts],
    options: ParityOptions,
    progress: Callable[[int], object] | None = None,
) -> ParityMerges:
    """Learn merges for several languages; see `reference._parity.learn_parity_merges`.

    `progress` is called with the number of merges learned, after each.
    """
    native = require_core("several languages")
    merges, chosen = native.learn_parity_merges(
        [*map(run_factory, languages)],
        [*map(run_factory, dev)],
        options.learning,
        max_merges=min(options.max_merges, 2**32),  # there are never that many
        global_merges=min(options.global_merges, 2**32),
        window=min(options.window, 2**32),
        alpha=options.alpha,
        ratios=[*options.ratios],
        progress=progress,
    )
    return ParityMerges(merges, chosen)


def training_bytes(counts: Counts, max_merges: int, start: LearningStart) -> int:
    """Return the peak memory in bytes of `learn_merges`, without the memory of the counts.

    The estimate is conservative: on real text up to half as much again as needed. `max_merges` is the number of merges
    to learn plus that of initial merges.
    """
    native = require_core("estimates of memory")
    needed: int = native.training_bytes(
        run_factory(counts),
        [*start.merges],
        max_merges=min(max_merges, 2**32),
        parts=native_pattern(native, start.word_pattern),
        threads=min(start.threads, 2**31),
        alphabet=start.alphabet,
    )
    return needed
