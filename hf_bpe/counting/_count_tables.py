"""Count tables in memory, filled by threads of the native core or, where it is not built, by the reference."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Union

from hf_bpe import reference
from hf_bpe._native_core import native_core, require_core
from hf_bpe._utils.processes import usable_cores
from hf_bpe.counting._readers import Batch
from hf_bpe.counting._runs import RunOfCounts, RunStream
from hf_bpe.counting._settings import CountSettings
from hf_bpe.pretokenizers._native_splitting import native_pattern

if TYPE_CHECKING:
    from hf_bpe._native import Counter


def make_count_table(settings: CountSettings, num_workers: int | None, memory: int) -> CountTable:
    """Return an empty count table; a memory of 0 is no limit."""
    if native_core() is not None:
        return NativeCountTable(settings, num_workers or usable_cores(), memory)
    if memory:
        require_core("counts in limited memory")
    metaspace = settings.pattern.metaspace
    if metaspace is not None and metaspace.prepend_scheme == "first" and settings.special_tokens:
        require_core("counts by a Metaspace that tells the beginning of a text from what follows a special token")
    return ReferenceCountTable(settings)


class NativeCountTable:
    """Counts in memory, in threads of the native core."""

    def __init__(self, settings: CountSettings, threads: int, memory: int) -> None:
        native = require_core("counts in threads")
        self._counter: Counter = native.Counter(
            native_pattern(native, settings.pattern),
            [special.encode() for special in settings.special_tokens],
            threads=min(threads, 2**31),  # a number beyond the core's 32 bits is more than it would start
            memory=memory,
        )

    def add(self, batches: Iterable[Batch], weight: int, show: Callable[[int], object]) -> Iterator[None]:
        """Count batches, each text `weight` times.

        Yields when the memory is used up; then the table must be drained before counting resumes. Calls `show` with the
        number of stored bytes that are done.
        """
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

    def drain(self) -> RunStream:
        """Return all counts, sorted, and reset the table."""
        return self._counter.drain()


class ReferenceCountTable:
    """Counts by the reference, with the methods of `NativeCountTable`."""

    def __init__(self, settings: CountSettings) -> None:
        self._settings = settings
        self._counts: collections.Counter[bytes] = collections.Counter()

    def add(self, batches: Iterable[Batch], weight: int, show: Callable[[int], object]) -> Iterator[None]:
        """Count batches; yield nothing, for the memory is not limited."""
        pattern, special_tokens = self._settings.pattern, self._settings.special_tokens
        for batch in batches:
            documents = itertools.chain.from_iterable(text.documents(pattern, special_tokens) for text in batch.texts)
            for word, count in reference.count_pre_tokens(documents, pattern).items():
                self._counts[word] += count * weight
            show(batch.read)
        yield from ()

    def drain(self) -> RunStream:
        """Return all counts, sorted, and reset the table."""
        counts, self._counts = self._counts, collections.Counter()
        return RunOfCounts(counts)


CountTable = Union[NativeCountTable, ReferenceCountTable]  # noqa: UP007  # a value, in Python 3.10 too
