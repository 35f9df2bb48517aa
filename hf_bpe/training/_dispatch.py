"""Learning of merges by the native core or, where it is not built, in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hf_bpe._native_core import native_core
from hf_bpe.counting._native import HasRun, run_of
from hf_bpe.pretokenizers._native import NotNativeError, native_pattern
from hf_bpe.reference import _parity
from hf_bpe.reference import _trainer as reference
from hf_bpe.reference._parity import ParityMerges, ParityOptions

if TYPE_CHECKING:
    pass


def learn_merges(
    counts: Mapping[bytes, int] | HasRun,
    *,
    max_merges: int,
    tie_break: str = "lexicographic",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    length_penalty: float = 0.0,
    max_words: int | None = None,
    colon_space: bool = True,
    initial: Sequence[tuple[bytes, bytes]] = (),
    parts: str | None = "gpt2",
    threads: int = 1,
    progress: Callable[[list[tuple[bytes, bytes]], int], object] | None = None,
) -> list[tuple[bytes, bytes]]:
    """Learn merges; the results equal those of `reference.learn_merges`.

    Args:
        counts: pre-token → number of occurrences.
        max_merges, tie_break, min_frequency, max_token_bytes, length_penalty, max_words, colon_space, initial: see
            `reference.learn_merges`.
        parts: native: the pattern by which the initial merges were learned, which helps to apply them to long words.
        threads: native: threads that apply the initial merges and index pairs; the result does not depend on them.
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
        return reference.learn_merges(
            dict(counts.items()),
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
    merges: list[tuple[bytes, bytes]] = native.learn_merges(
        run_of(counts),
        initial=[*initial],
        parts=_native_or_gpt2(native, parts),
        length_penalty=length_penalty,
        colon_space=colon_space,
        progress=progress,
        **native_limits(max_merges, tie_break, min_frequency, max_token_bytes, max_words, threads),
    )
    return merges


def native_limits(
    max_merges: int,
    tie_break: str,
    min_frequency: int,
    max_token_bytes: int | None,
    max_words: int | None,
    threads: int,
) -> dict[str, Any]:
    """Return options of `learn_merges` as the native core takes them: in its types, with the same result."""
    return {
        # There are never that many merges, and no pair has such a count.
        "max_merges": min(max_merges, 2**32) if min_frequency < 2**64 else 0,
        "lexicographic": tie_break == "lexicographic",
        "min_frequency": min(min_frequency, 2**64 - 1),
        "max_token_bytes": None if max_token_bytes is None else min(max_token_bytes, 2**32),
        "max_words": None if max_words is None else min(max_words, 2**32),
        "threads": min(threads, 2**31),
    }


def _native_or_gpt2(native: ModuleType, pattern: str | None) -> Any:
    try:
        return native_pattern(native, pattern)
    except NotNativeError:
        return "gpt2"


def learn_parity_merges(
    languages: Sequence[Mapping[bytes, int] | HasRun],
    dev: Sequence[Mapping[bytes, int] | HasRun],
    options: ParityOptions,
    progress: Callable[[int], object] | None = None,
) -> ParityMerges:
    """Learn merges for several languages; arguments and results are those of `core._parity.learn_parity_merges`.

    Raises:
        OverflowError, ValueError: see `learn_merges`.
    """
    native = native_core()
    if native is None:
        words, dev_words = ([dict(counts.items()) for counts in each] for each in (languages, dev))
        return _parity.learn_parity_merges(words, dev_words, options, progress)
    most_bytes = options.max_token_bytes
    merges, chosen = native.learn_parity_merges(
        [*map(run_of, languages)],
        [*map(run_of, dev)],
        max_merges=min(options.max_merges, 2**32),  # there are never that many
        global_merges=min(options.global_merges, 2**32),
        window=min(options.window, 2**32),
        alpha=options.alpha,
        ratios=[*options.ratios],
        lexicographic=options.tie_break == "lexicographic",
        min_frequency=min(options.min_frequency, 2**64 - 1),
        max_token_bytes=None if most_bytes is None else min(most_bytes, 2**32),
        progress=progress,
    )
    return ParityMerges(merges, chosen)


def training_bytes(
    counts: Mapping[bytes, int] | HasRun,
    max_merges: int,
    initial: Sequence[tuple[bytes, bytes]] = (),
    *,
    parts: str | None = "gpt2",
    threads: int = 1,
) -> int:
    """Return the peak memory in bytes of `learn_merges`, without the memory of the counts.

    The estimate is conservative: on real text up to half as much again as needed.

    Args:
        counts, initial, parts, threads: see `learn_merges`.
        max_merges: number of merges to learn plus the number of initial merges.

    Raises:
        OverflowError, ValueError: see `learn_merges`.
    """
    native = native_core()
    if native is None:
        return reference.training_bytes(word for word, _ in counts.items())
    needed: int = native.training_bytes(
        run_of(counts),
        [*initial],
        max_merges=min(max_merges, 2**32),
        parts=_native_or_gpt2(native, parts),
        threads=min(threads, 2**31),
    )
    return needed
