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

from hf_bpe.corpus import Text, TextSource, read_batches, read_texts, source_paths
from hf_bpe.engine import count_pre_tokens, native_counter
from hf_bpe.processes import map_in_processes, usable_cores

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
        OSError, TypeError, ValueError: what `corpus.read_batches` raises.
        ValueError: `num_workers` below 1.
        ChildProcessError: a process was killed, as the system does where memory runs out.

    >>> sorted(count(["low low<|x|>lower"], special_tokens=["<|x|>"]).items())
    [(b' low', 1), (b'low', 1), (b'lower', 1)]
    """
    if num_workers is not None and num_workers < 1:
        raise ValueError(f"num_workers: expected at least 1, got {num_workers}")
    paths = source_paths(source)
    total = None if paths is None else sum(path.stat().st_size for path in paths)
    counter = native_counter(pattern, special_tokens, num_workers or usable_cores())
    with tqdm(total=total, desc="Counting", unit="B", unit_scale=True, disable=not show_progress) as bar:
        if counter is not None:
            return _count_natively(counter, source, bar)
        return _count_in_python(source, pattern, special_tokens, num_workers, bar)


def _count_natively(counter: Counter, source: TextSource, bar: tqdm[Any]) -> WordCounts:
    for batch in _batches_of_texts(source):
        before = bar.n

        def show(done: int, before: float = before) -> None:
            bar.update(before + done - bar.n)

        invalid = counter.add(
            [text.data for text in batch],
            check_utf8=batch[0].path is not None,
            progress=None if bar.disable else show,
        )
        if invalid is not None:
            index, offset = invalid
            batch[index].check_utf8(offset, offset + 4)
        show(sum(len(text.data) for text in batch))
    return counter.finish()


def _batches_of_texts(source: TextSource) -> Iterator[list[Text]]:
    batch: list[Text] = []
    size = 0
    for text in read_texts(source):
        batch.append(text)
        size += len(text.data)
        if size >= _NATIVE_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _count_in_python(
    source: TextSource, pattern: str | None, special_tokens: Sequence[str], num_workers: int | None, bar: tqdm[Any]
) -> collections.Counter[bytes]:
    workers = num_workers or (usable_cores() if sys.platform.startswith("linux") else 1)
    counts: collections.Counter[bytes] = collections.Counter()
    batches = _with_progress(read_batches(source, special_tokens, pattern), bar)
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
