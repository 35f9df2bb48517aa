"""Dispatch of learning supermerges; see `_dispatch`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hf_bpe.core import _supermerge_learning, reference
from hf_bpe.engine._dispatch import HasRun, native_core, native_limits, run_of

__all__ = ["learn_supermerges", "supertraining_bytes"]


def learn_supermerges(
    phrases: Mapping[bytes, int] | HasRun,
    *,
    merges: Sequence[tuple[bytes, bytes]],
    max_merges: int,
    tie_break: str = "lexicographic",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    length_penalty: float = 0.0,
    max_words: int | None = None,
    colon_space: bool = True,
    initial: Sequence[tuple[bytes, bytes]] = (),
    threads: int = 1,
    progress: Callable[[list[tuple[bytes, bytes]], int], object] | None = None,
) -> list[tuple[bytes, bytes]]:
    """Learn supermerges; the results equal those of `core._supermerge_learning.learn_supermerges`.

    Args:
        phrases: phrase → number of occurrences.
        merges: the merges inside pre-tokens.
        max_merges, tie_break, min_frequency, max_token_bytes, length_penalty, max_words, colon_space, initial,
            threads, progress: see `learn_merges`.

    Raises:
        OverflowError, ValueError: see `learn_merges`.
    """
    native = native_core()
    if native is None:
        return _supermerge_learning.learn_supermerges(
            dict(phrases.items()),
            merges=merges,
            max_merges=max_merges,
            tie_break=tie_break,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            length_penalty=length_penalty,
            max_words=max_words,
            colon_space=colon_space,
            initial=initial,
            progress=progress,
        )
    learned: list[tuple[bytes, bytes]] = native.learn_supermerges(
        run_of(phrases),
        merges=[*merges],
        initial=[*initial],
        length_penalty=length_penalty,
        colon_space=colon_space,
        progress=progress,
        **native_limits(max_merges, tie_break, min_frequency, max_token_bytes, max_words, threads),
    )
    return learned


def supertraining_bytes(phrases: Mapping[bytes, int] | HasRun, max_merges: int, threads: int = 1) -> int:
    """Return the peak memory in bytes of `learn_supermerges`, without the memory of the phrases.

    Args:
        phrases: see `learn_supermerges`.
        max_merges: number of supermerges to learn plus the number of initial ones.
        threads: see `learn_merges`.
    """
    native = native_core()
    if native is None:
        return reference.training_bytes(phrase for phrase, _ in phrases.items())
    needed: int = native.supertraining_bytes(
        run_of(phrases), max_merges=min(max_merges, 2**32), threads=min(threads, 2**31)
    )
    return needed
