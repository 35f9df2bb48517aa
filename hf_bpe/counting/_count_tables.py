"""Count tables in memory, filled by threads of the native core or, where it is not built, in Python."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from hf_bpe._native_core import require_core
from hf_bpe._utils.processes import usable_cores
from hf_bpe.counting._native import native_counter
from hf_bpe.counting._readers import Batch, Text
from hf_bpe.counting._runs import RunMerger
from hf_bpe.counting._word_counts import Settings
from hf_bpe.encoding._safe_cuts import cut_into_documents
from hf_bpe.pretokenizers._patterns import metaspace_of
from hf_bpe.reference._encoder import count_pre_tokens

if TYPE_CHECKING:
    from hf_bpe._native import Counter

_PIECE_BYTES = 1 << 20  # of text that is counted at a time in Python


class CountTable(Protocol):
    """Counts in memory."""

    def add(self, batches: Iterable[Batch], weight: int, show: Callable[[int], object]) -> Iterator[None]:
        """Count batches, each text `weight` times.

        Yields when the memory is used up; then the table must be drained before counting resumes. Calls `show` with the
        number of stored bytes that are done.
        """

    def drain(self) -> RunMerger:
        """Return all counts, sorted, and reset the table."""


def make_count_table(settings: Settings, num_workers: int | None, memory: int) -> CountTable:
    """Return an empty count table.

    Args:
        settings: how text is split.
        num_workers: threads of the native core, None for one per core.
        memory: the limit for the counts in bytes, 0 for no limit.

    Raises:
        RuntimeError: there is a limit, and no native core.
        ValueError: the native core cannot split by the pattern.
    """
    counter = native_counter(settings.pattern, settings.special_tokens, num_workers or usable_cores(), memory)
    if counter is not None:
        return NativeCountTable(counter)
    if memory:
        require_core("counts in limited memory")
    metaspace = metaspace_of(settings.pattern)
    if metaspace is not None and metaspace.prepend_scheme == "first" and settings.special_tokens:
        require_core("counts by a Metaspace that tells the beginning of a text from what follows a special token")
    return PlainCountTable(settings)


class NativeCountTable:
    """Counts in threads of the native core."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def add(self, batches: Iterable[Batch], weight: int, show: Callable[[int], object]) -> Iterator[None]:
        """Count batches; see `CountTable`."""
        for batch in batches:
            for must_be_utf8, group in itertools.groupby(batch.texts, lambda text: text.must_be_utf8):
                texts = [*group]
                # Progress within a batch is meaningful only for a mapped file.
                is_whole = len(batch.texts) == 1 and texts[0].path is not None
                chunk: int | None = 0
                while chunk is not None:
                    chunk, invalid = self._counter.add(
                        [text.data for text in texts],
                        weight=weight,
                        first_chunk=chunk,
                        start=texts[0].start,
                        stop=texts[0].stop,
                        check_utf8=must_be_utf8,
                        progress=show if is_whole else None,
                    )
                    if invalid is not None:
                        index, offset = invalid
                        texts[index].check_utf8(offset, offset + 4)
                    if chunk is not None:
                        yield
            show(batch.read)

    def drain(self) -> RunMerger:
        """Return all counts, sorted, and reset the table."""
        return self._counter.drain()


class PlainCountTable:
    """Counts by the reference implementation."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._counts: collections.Counter[bytes] = collections.Counter()

    def add(self, batches: Iterable[Batch], weight: int, show: Callable[[int], object]) -> Iterator[None]:
        """Count batches; see `CountTable`."""
        for batch in batches:
            documents = itertools.chain.from_iterable(split_documents(text, self._settings) for text in batch.texts)
            for word, count in count_pre_tokens(documents, self._settings.pattern).items():
                self._counts[word] += count * weight
            show(batch.read)
        yield from ()  # the memory is not limited

    def drain(self) -> RunMerger:
        """Return all counts, sorted, and reset the table."""
        counts, self._counts = self._counts, collections.Counter()
        if max(counts.values(), default=0) >= 2**64:
            raise OverflowError("a pre-token was counted more than 2**64 - 1 times; choose smaller weights")
        return RunMerger.of(counts)


def split_documents(text: Text, settings: Settings) -> Iterator[bytes]:
    """Yield the documents of a text, without special tokens; a long one in parts."""
    data = text.data.encode() if isinstance(text.data, str) else text.data
    cut = cut_into_documents(data, text.start, text.stop, settings.pattern, settings.special_tokens, _PIECE_BYTES)
    for start, end in cut:
        if text.must_be_utf8:
            text.check_utf8(start, end)
        yield data[start:end]
