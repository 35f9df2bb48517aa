"""Count the pre-tokens of any source, in threads or processes; the result never depends on how many.

Threads of the native core do it for the patterns that are built in. Others are `regex`'s to read, under Python's lock,
so they are shared out to processes; so is everything where the native core is not built.
"""

from __future__ import annotations

import collections
import contextlib
import functools
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from hf_bpe.corpus import Shard, TextSource, plan
from hf_bpe.cuts import cut_into_documents
from hf_bpe.engine import count_pre_tokens, native_counter
from hf_bpe.processes import map_in_processes, usable_cores
from hf_bpe.readers import Skipped, Text, read

if TYPE_CHECKING:
    from hf_bpe._native import Counter, WordCounts

_NATIVE_BATCH_BYTES = 1 << 24  # enough for many threads, whatever the length of the texts


def count(
    source: TextSource,
    *,
    pattern: str | None = "gpt2",
    special_tokens: Sequence[str] = (),
    num_workers: int | None = None,
    show_progress: bool = False,
) -> Mapping[bytes, int] | WordCounts:
    """Return how often each pre-token occurs in the source, split at special tokens first.

    Args:
        source: a path, several paths, or an iterable of texts.
        pattern: a canonical split pattern.
        special_tokens: text between them is counted, they are not.
        num_workers: threads or processes to count in; None for one a core. Where it takes processes, None means one of
            them where they cannot be forked safely (other than Linux), and a number above 1 starts new interpreters
            there, so the calling script needs the usual `if __name__ == "__main__":`.
        show_progress: show a bar of the bytes read, on standard error.

    Raises:
        OSError, TypeError, ValueError: what `corpus.plan` and `readers.read` raise.
        ValueError: `num_workers` below 1.
        ChildProcessError: a process was killed, as the system does where memory runs out.

    >>> sorted(count(["low low<|x|>lower"], special_tokens=["<|x|>"]).items())
    [(b' low', 1), (b'low', 1), (b'lower', 1)]
    """
    if num_workers is not None and num_workers < 1:
        raise ValueError(f"num_workers: expected at least 1, got {num_workers}")
    shards = _plan(source)
    total = None if any(shard.size is None for shard in shards) else sum(shard.size or 0 for shard in shards)
    counter = native_counter(pattern, special_tokens, num_workers or usable_cores())
    with tqdm(total=total, desc="Counting", unit="B", unit_scale=True, disable=not show_progress) as bar:
        if counter is not None:
            return _count_natively(counter, shards, pattern, special_tokens, bar)
        return _count_in_python(shards, pattern, special_tokens, num_workers, bar)


def _plan(source: TextSource | list[Shard]) -> list[Shard]:
    shards = plan(source, shard_bytes=2**62)
    if any(shard.weight != 1 for shard in shards):
        raise NotImplementedError("weights other than 1")
    return shards


def _count_natively(
    counter: Counter, shards: list[Shard], pattern: str | None, special_tokens: Sequence[str], bar: tqdm[Any]
) -> WordCounts:
    for texts, shown in _texts(shards, pattern, special_tokens):
        before = bar.n

        def show(done: int, before: float = before, shown: bool = shown) -> None:
            if shown:
                bar.update(before + done - bar.n)

        for checked, group in itertools.groupby(texts, lambda text: text.must_be_utf8):
            batch = list(group)
            invalid = counter.add(
                [text.data for text in batch],
                check_utf8=checked,
                progress=None if bar.disable else show,
            )
            if invalid is not None:
                index, offset = invalid
                batch[index].check_utf8(offset, offset + 4)
        show(sum(len(text.data) for text in texts))
    return counter.finish()


def _texts(
    shards: list[Shard], pattern: str | None, special_tokens: Sequence[str]
) -> Iterator[tuple[list[Text], bool]]:
    for shard in shards:
        is_plain = not shard.is_file or (shard.format == "text" and shard.compression is None)
        options = {"pattern": pattern, "special_tokens": special_tokens, "batch_bytes": _NATIVE_BATCH_BYTES}
        for batch in read(shard, skipped=Skipped(), **options):  # type: ignore[arg-type]
            yield batch.texts, is_plain


def read_batches(
    source: TextSource | list[Shard], special_tokens: Sequence[str], pattern: str | None, batch_bytes: int = 1 << 20
) -> Iterator[list[bytes]]:
    """Yield batches of documents, each batch of about `batch_bytes`, however long or short the documents are."""
    batch: list[bytes] = []
    size = 0
    for texts, _ in _texts(_plan(source), pattern, special_tokens):
        for text in texts:
            data = text.data.encode() if isinstance(text.data, str) else text.data
            for start, stop in cut_into_documents(data, text.start, text.stop, pattern, special_tokens, batch_bytes):
                if text.must_be_utf8:
                    text.check_utf8(start, stop)
                batch.append(data[start:stop])
                size += stop - start
                if size >= batch_bytes:
                    yield batch
                    batch, size = [], 0
    if batch:
        yield batch


def _count_in_python(
    shards: list[Shard], pattern: str | None, special_tokens: Sequence[str], num_workers: int | None, bar: tqdm[Any]
) -> collections.Counter[bytes]:
    workers = num_workers or (usable_cores() if sys.platform.startswith("linux") else 1)
    counts: collections.Counter[bytes] = collections.Counter()
    batches = _with_progress(read_batches(shards, special_tokens, pattern), bar)
    first = list(itertools.islice(batches, 2))
    batches = itertools.chain(first, batches)
    count_batch = functools.partial(count_pre_tokens, pattern=pattern)
    if workers == 1 or len(first) < 2:  # not worth a process
        for batch in batches:
            counts.update(count_batch(batch))
        return counts
    try:
        with contextlib.closing(map_in_processes(count_batch, batches, workers)) as partial_counts:
            for partial in partial_counts:
                counts.update(partial)
    except ChildProcessError as error:
        raise ChildProcessError(f"{error}, most likely for lack of memory; give fewer num_workers") from None
    return counts


def _with_progress(batches: Iterator[list[bytes]], bar: tqdm[Any]) -> Iterator[list[bytes]]:
    for batch in batches:
        yield batch
        bar.update(sum(map(len, batch)))
