"""Prefix caches: the ids of the beginnings of texts, for texts that begin alike: growing conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from hf_bpe._native_core import require_core
from hf_bpe._utils.memory import format_bytes, parse_bytes

if TYPE_CHECKING:
    from hf_bpe.encoding._encoder import Encoder

_MIN_BYTES = 1 << 17  # a few texts


class PrefixCacheStatistics(NamedTuple):
    """Figures of a prefix cache: hits, misses and contents.

    Attributes:
        texts: how many texts were looked up; shorter ones than 1024 bytes are not.
        hits: of how many of them a beginning was known.
        text_bytes: the bytes of all these texts, in UTF-8.
        reused_bytes: how many of these bytes were not encoded again.
        size_bytes: the memory that the cache takes now.
        blocks: how many pieces of text, of up to 8 KiB, are in it.
        evicted_blocks: how many were dropped to stay within the limit.
    """

    texts: int
    hits: int
    text_bytes: int
    reused_bytes: int
    size_bytes: int
    blocks: int
    evicted_blocks: int


class PrefixCache:
    """A bounded store of texts and their ids, used by tokenizers whose `prefix_cache` it is.

    Of a text that begins like one that was encoded before, only the rest is encoded. Ids are the same with and without
    it (docs/explanation/algorithm.md has the proof). Threads share it, and so may several tokenizers; their texts are
    kept apart. Pickles are empty. Copies are the cache itself.

    Args:
        max_bytes: the most memory that it takes: a number of bytes, or a str such as "256MB".

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=260)
    >>> tokenizer.prefix_cache = PrefixCache("16MB")
    >>> ids = tokenizer.encode("low lower lowest " * 100), tokenizer.encode("low lower lowest " * 101)
    >>> statistics = tokenizer.prefix_cache.statistics()
    >>> statistics.hits, statistics.reused_bytes > 1500
    (1, True)
    """

    def __init__(self, max_bytes: int | str) -> None:
        size = parse_bytes(max_bytes, "prefix_cache")
        if size < _MIN_BYTES:
            raise ValueError(
                f"prefix_cache: expected at least {format_bytes(_MIN_BYTES)}, or None, got {max_bytes!r}; give a "
                "unit, such as '256MB'"
            )
        self._store: Any = require_core("prefix caches").PrefixCache(size)
        self._users: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()  # what has no cache → the same with this one

    @classmethod
    def of(cls, value: PrefixCache | int | str | None) -> PrefixCache | None:
        """Return a cache, or a new one of a size; None for None."""
        return value if value is None or isinstance(value, PrefixCache) else cls(value)

    def __reduce__(self) -> tuple[type[PrefixCache], tuple[int]]:
        return PrefixCache, (self.max_bytes,)

    def __copy__(self) -> PrefixCache:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> PrefixCache:
        return self

    def __repr__(self) -> str:
        return f"PrefixCache({format_bytes(self.max_bytes)!r})"

    def encoder(self, plain: Encoder) -> Encoder:
        """Return an encoder with the results of `plain` that uses this cache.

        Raises:
            ValueError: there is none.
        """
        encoder: Encoder | None = self._users.get(plain)
        if encoder is None:
            encoder = self._users.setdefault(plain, plain.with_prefix_cache(self._store))
        return encoder

    def pipeline(self, plain: Any) -> Any:
        """Return a pipeline with the results of `plain` that uses this cache."""
        pipeline = self._users.get(plain)
        return self._users.setdefault(plain, plain.with_changes(prefix_cache=self)) if pipeline is None else pipeline

    @property
    def max_bytes(self) -> int:
        """The most memory that the cache takes."""
        return int(self._store.max_bytes)

    def statistics(self) -> PrefixCacheStatistics:
        """Return what the cache has done, and what it holds."""
        return PrefixCacheStatistics(*self._store.statistics())

    def clear(self) -> None:
        """Drop all texts, and the statistics."""
        self._store.clear()
