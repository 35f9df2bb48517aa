"""The native core. Only hf_bpe.engine imports it."""

from collections.abc import Callable, Iterator
from mmap import mmap

class WordCounts:
    """How often each word occurs, in 64 bits: what `dict` takes for a mapping. Words are not empty.

    One thread at a time may use it; a second gets a RuntimeError.
    """

    def __init__(self) -> None: ...
    def add(self, word: bytes, count: int) -> None:
        """Add to the count of a word. Raises OverflowError past 64 bits, TypeError for a negative count."""

    def __len__(self) -> int: ...
    def __getitem__(self, word: bytes) -> int: ...
    def __contains__(self, word: bytes) -> bool: ...
    def keys(self) -> list[bytes]: ...
    def values(self) -> list[int]: ...
    def items(self) -> list[tuple[bytes, int]]: ...
    def __iter__(self) -> Iterator[bytes]: ...

class Counter:
    """Counts the pre-tokens of texts in threads, none of which outlives a call.

    One thread at a time may call it; a second gets a RuntimeError.

    Args:
        pattern: the name of a pattern that is built in, None for no pre-tokenization.
        special_tokens: text is split at them first, at the longest where several begin.
        threads: at most so many; the result does not depend on it.
        simd: one of `simd_names()`, None for the best; the result does not depend on it.
        chunk_bytes: what a thread takes at a time; the result does not depend on it.
    """

    def __init__(
        self,
        pattern: str | None,
        special_tokens: list[bytes],
        *,
        threads: int,
        simd: str | None = None,
        chunk_bytes: int = ...,
    ) -> None: ...
    def add(
        self, texts: list[str | bytes | mmap], *, check_utf8: bool, progress: Callable[[int], object] | None
    ) -> tuple[int, int] | None:
        """Count texts, without copying them.

        Args:
            texts: a str must have no lone surrogates. Of a mapping that is read only, pages are given back to the
                system when they are counted.
            check_utf8: refuse texts that are not UTF-8; a str always is.
            progress: called about twenty times a second with the number of bytes done of these texts.

        Returns:
            The index of the first text that is not UTF-8 and the offset of its first byte that is not; the counts are
            of no more use then. None if all is well.

        Raises:
            UnicodeEncodeError: a str with lone surrogates.
            KeyboardInterrupt, or what `progress` raises: part of the texts is counted.
        """

    def finish(self) -> WordCounts:
        """Return the counts of all texts so far, and begin anew."""

def learn_merges(
    counts: WordCounts,
    *,
    max_merges: int,
    lexicographic: bool,
    min_frequency: int,
    max_token_bytes: int | None,
    length_penalty: float,
    progress: Callable[[int], object] | None,
    span: int = ...,
) -> list[tuple[bytes, bytes]]:
    """Learn merges as hf_bpe.reference does; `progress` is called about twenty times a second.

    Args:
        span: how many times rarer than the commonest pair a pair may be to be indexed; the result is always the same.
    """

def pre_tokenize(text: bytes, pattern: str | None, *, simd: str | None = None) -> list[bytes]:
    """Cut text into pre-tokens."""

def count_pre_tokens(text: bytes, pattern: str | None, *, simd: str | None = None) -> int:
    """Return the number of pre-tokens of a text."""

def simd_names() -> list[str]:
    """Return what the scanner can be told to use on this machine: "scalar", and "avx2" or "neon"."""
