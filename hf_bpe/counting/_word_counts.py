r"""WordCounts: the counts of pre-tokens, which can be merged, saved and trained on.

The counts are one sorted run (`runs`), in memory or in a file, with the settings of the count. The file format is:

    b"hf_bpe counts 1\n"                 16 bytes
    the run
    the description                       JSON, one object
    the length of that                    8 bytes, little-endian
    b"hf_bpe counts 1\n"                 16 bytes
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from functools import partial
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from typing import Any, BinaryIO

from hf_bpe._utils.arguments import check_int, check_mapping, check_path, check_sequence, short_repr
from hf_bpe._utils.files import staged_folder
from hf_bpe._utils.input_files import MAX_BYTES, Optional, Shape, check_shape, open_regular, parse_json
from hf_bpe._utils.object_stores import StorageOptions, download, upload
from hf_bpe._utils.paths import check_destination, is_url
from hf_bpe.core._checks import check_special_tokens
from hf_bpe.counting._runs import (
    PIECE,
    FileRun,
    Run,
    RunOfCounts,
    RunStream,
    gather,
    merge_runs,
    open_run,
    read_whole,
    read_words,
)
from hf_bpe.counting._settings import Counted, CountSettings
from hf_bpe.counting._sources import exact_weight
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from hf_bpe.pretokenizers._pattern import UNICODE_VERSION, AnyPattern, Pattern

MARK = b"hf_bpe counts 1\n"
FAN_IN = 64  # runs to merge at once
_BATCH = 1 << 23  # bytes of words to process at once
_MIN_RECORD = 4  # the fewest bytes of a word in a run: two lengths, a byte, a count
IN_MEMORY = 1 << 26  # bytes up to which a new run stays in memory


_DESCRIPTION_SHAPE: Shape = {  # the description in a file; numbers that may exceed 63 bits are checked apart
    "pattern": Optional(str),
    "special_tokens": [str],
    "unicode": str,
    "fingerprint": str,
    "skipped": {re.compile("[a-z]+"): int},
    "sources": [{"name": str, "weight": str, "files": int, "bytes": int}],
    **dict.fromkeys(("scale", "words", "total"), object),
    ...: object,
}


class WordCounts:
    """The number of occurrences of each pre-token of some text; immutable, with 64-bit counts.

    Args:
        words: pre-token (bytes or str) → number of occurrences, 0 or more.
        pattern, special_tokens: how the text was split, as in `train`.
        scale: the number by which counts are divided, so that fractional weights are exact.

    Two WordCounts are equal if their fingerprints are equal.

    >>> counts = WordCounts({"low": 5, "lower": 2})
    >>> counts
    WordCounts(words=2, total=7, pattern='gpt2', special_tokens=[], fingerprint='64c3ab0e3360')
    >>> counts.merge(counts, weights=[1, "0.5"]).top(1)
    [(b'low', 15)]
    """

    settings: CountSettings
    """The splitting of the text."""
    scale: int
    """The number to divide counts by: 1, unless there were fractional weights."""
    total: int
    """The sum of all counts."""
    sources: tuple[Counted, ...]
    """The sources that were counted."""
    skipped: dict[str, int]
    """The numbers of skipped files and documents, and of shortened documents."""
    fingerprint: str
    """SHA-256, in hex, of the words, their counts, the scale and the settings, but not of the sources."""

    def __init__(
        self,
        words: Mapping[bytes, int] | Mapping[str, int],
        *,
        pattern: AnyPattern = "gpt2",
        special_tokens: Sequence[str] = (),
        scale: int = 1,
    ) -> None:
        settings = CountSettings.checked(pattern, special_tokens)
        counts: dict[bytes, int] = {}
        for word, count in check_mapping("words", words).items():
            data = repair_surrogates(word).encode() if isinstance(word, str) else word
            got = f"got {short_repr(word)}: {short_repr(count)}"
            if not isinstance(data, bytes) or not isinstance(count, int):
                raise TypeError(f"words: expected str or bytes with an int for each, {got}")
            if not data or not 0 <= count < 2**64:
                raise ValueError(f"words: expected non-empty words with counts of 0 to 2**64 - 1, {got}")
            counts[data] = counts.get(data, 0) + count
        scale = check_int("scale", scale, 1, 10**1000)
        self._store_run(RunOfCounts(counts), settings, scale, partial(gather, max_in_memory=IN_MEMORY))

    @classmethod
    def from_run(
        cls, merger: RunStream, settings: CountSettings, scale: int, store: Callable[..., bytes | FileRun] | None = None
    ) -> WordCounts:
        """Return the counts of a run, which is read to its end and kept by `store`, a `gather`."""
        counts = cls.__new__(cls)
        counts._store_run(merger, settings, scale, store or partial(gather, max_in_memory=IN_MEMORY))
        return counts

    def _store_run(
        self, merger: RunStream, settings: CountSettings, scale: int, store: Callable[..., bytes | FileRun]
    ) -> None:
        self.settings, self.scale, self.sources, self.skipped = settings, scale, (), {}
        digest = self._digest()
        self._run = store(merger, digest=digest)
        self._words, self.total, self.fingerprint = merger.words, merger.total, digest.hexdigest()

    def counted_from(self, sources: Iterable[Counted], skipped: Mapping[str, int]) -> WordCounts:
        """Record what new counts were made of, and return them; equal sources become one."""
        summed: dict[tuple[str, str], Counted] = {}
        for source in sources:
            key = source.name, source.weight
            total = summed.get(key, replace(source, files=0, bytes=0))
            summed[key] = replace(total, files=total.files + source.files, bytes=total.bytes + source.bytes)
        self.sources, self.skipped = tuple(summed[key] for key in sorted(summed)), dict(skipped)
        return self

    def _digest(self) -> Any:
        return hashlib.sha256(json.dumps([self.settings.identity(), self.scale]).encode())

    @property
    def pattern(self) -> str | None:
        """The split pattern: a name, a regular expression, or None."""
        return self.settings.pattern.canonical

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """The tokens that the text was split at."""
        return self.settings.special_tokens

    # Content.

    def __len__(self) -> int:
        return self._words

    def __iter__(self) -> Iterator[bytes]:
        return (word for word, _ in self.items())

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Yield each pre-token and its count, in byte order."""
        return read_words(self.run())

    def batches(self) -> Iterator[tuple[list[bytes], list[int]]]:
        """Yield lists of pre-tokens and their counts, in byte order and of bounded size."""
        words: list[bytes] = []
        counts: list[int] = []
        size = 0
        for word, count in self.items():
            words.append(word)
            counts.append(count)
            size += len(word) + 64  # memory of a word in Python
            if size >= _BATCH:
                yield words, counts
                words, counts, size = [], [], 0
        if words:
            yield words, counts

    def top(self, n: int) -> list[tuple[bytes, int]]:
        """Return the `n` commonest pre-tokens and their counts, the commonest first, ties in byte order."""
        return nlargest(min(check_int("n", n, 0), len(self)), self.items(), key=itemgetter(1))

    def run(self) -> Run:
        """Return a reader of the sorted run from its beginning."""
        return open_run(self._run)

    # Derived counts.

    def merge(self, *others: WordCounts, weights: Sequence[object] | None = None) -> WordCounts:
        """Return the sum of these and other counts; the result does not depend on order or grouping.

        Args:
            others: counts with the same pattern and special tokens.
            weights: the factors for these counts and for each of the others, as in `Source`.

        Raises:
            ValueError: counts have other settings, or the number of weights is wrong.
            OverflowError: a count exceeds 64 bits.
        """
        all_counts = [self, *others]
        if weights is not None and len(check_sequence("weights", weights)) != len(all_counts):
            raise ValueError(f"weights: expected one for each of {len(all_counts)} counts, got {len(weights)}")
        for other in others:
            self.settings.check_same(other.settings)
        exact = [exact_weight(weight) for weight in weights] if weights is not None else [Fraction(1)] * len(all_counts)
        factors = [weight / counts.scale for weight, counts in zip(exact, all_counts, strict=True)]
        scale = math.lcm(*(factor.denominator for factor in factors), *(counts.scale for counts in all_counts))
        sources = [
            replace(source, weight=str(Fraction(source.weight) * weight))
            for weight, counts in zip(exact, all_counts, strict=True)
            for source in counts.sources
        ]
        skipped: Counter[str] = Counter()
        for counts in all_counts:
            skipped.update(counts.skipped)
        merger = merge_all([counts.run() for counts in all_counts], [int(factor * scale) for factor in factors])
        return WordCounts.from_run(merger, self.settings, scale).counted_from(sources, skipped)

    def prune(self, min_count: int) -> WordCounts:
        """Return the counts of the pre-tokens that occur at least `min_count` times.

        Training on them takes less memory, but merges that rare pre-tokens would have decided change.
        """
        merger = merge_runs([self.run()], [1], minimum=check_int("min_count", min_count, 0) * self.scale)
        return WordCounts.from_run(merger, self.settings, self.scale).counted_from(self.sources, self.skipped)

    def with_special_tokens(self, special_tokens: Sequence[str]) -> WordCounts:
        """Return the same counts with other special tokens, as of text that was split at these.

        >>> WordCounts({"low": 2}, special_tokens=["<|x|>", "<|y|>"]).with_special_tokens(["<|x|>"]).special_tokens
        ('<|x|>',)
        """
        settings = CountSettings(self.settings.pattern, tuple(check_special_tokens(special_tokens)))
        counts = WordCounts.from_run(merge_runs([self.run()], [1]), settings, self.scale)
        return counts.counted_from(self.sources, self.skipped)

    # Files.

    def save(self, path: str | os.PathLike[str], *, storage_options: StorageOptions | None = None) -> None:
        """Write a counts file atomically.

        Args:
            path: a path or a URL.
            storage_options: as in `Source`, for a URL.

        Raises:
            OSError: the file cannot be written.
            ValueError, ImportError: fsspec does not know the URL, or lacks a package for it.
        """
        path = check_destination("path", path)
        if is_url(os.fspath(path)):
            with tempfile.TemporaryDirectory() as folder:
                self.save(Path(folder, "counts"))
                upload(Path(folder, "counts"), os.fspath(path), storage_options)
            return
        path = Path(path)
        about = {
            **vars(self.settings),
            "pattern": self.pattern,
            "scale": self.scale,
            "words": len(self),
            "total": self.total,
            "fingerprint": self.fingerprint,
            "skipped": self.skipped,
            "sources": [asdict(source) for source in self.sources],
        }
        footer = json.dumps(about, indent=1).encode()
        with staged_folder(path.parent) as staging, (staging / path.name).open("wb") as file:
            file.write(MARK)
            run = self.run()
            if isinstance(run, bytes):
                file.write(run)
            else:
                while piece := run(PIECE):
                    file.write(piece)
            file.write(footer + len(footer).to_bytes(8, "little") + MARK)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, storage_options: StorageOptions | None = None) -> WordCounts:
        """Open and check a counts file; its words stay in the file, or in a copy of it, until they are needed.

        Args:
            path: a path or a URL.
            storage_options: as in `Source`, for a URL.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is not a counts file, or is damaged.
        """
        url = os.fspath(check_path("path", path))
        if is_url(url):
            with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # Windows keeps what is open
                download(Path(folder, "counts"), url, storage_options)
                return cls.load(Path(folder, "counts"))
        path = Path(path)
        file = open_regular(path, buffering=0)
        try:
            return cls._opened(file, path)
        except BaseException:
            file.close()
            raise

    @classmethod
    def _opened(cls, file: BinaryIO, path: Path) -> WordCounts:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(size - 24, 0))
        end = file.read(24)
        file.seek(0)
        if file.read(16) != MARK:
            raise ValueError(f"{path}: expected a counts file, written by WordCounts.save or `hf-bpe count`")
        length = int.from_bytes(end[:8], "little")
        footer = size - 24 - length
        if len(end) != 24 or end[8:] != MARK or footer < 16 or length > MAX_BYTES:
            raise ValueError(f"{path}: this counts file is cut off or damaged; count again, or copy it again")
        counts = cls.__new__(cls)
        counts._run = FileRun(file, 16, footer - 16)
        file.seek(footer)
        try:
            about = check_shape(parse_json(path, file.read(length).decode()), _DESCRIPTION_SHAPE)
            if about["unicode"] != UNICODE_VERSION:
                raise ValueError(
                    f"it was counted with Unicode {about['unicode']:.80}, this version of hf_bpe uses {UNICODE_VERSION}"
                )
            counts.settings = CountSettings.checked(Pattern.read(about["pattern"]), about["special_tokens"])
            counts.sources = tuple(Counted(**source) for source in about["sources"])
            for source in counts.sources:
                exact_weight(source.weight)
            counts.scale = check_int("scale", about["scale"], 1, 10**1000)
            counts._words = check_int("words", about["words"], 0, (footer - 16) // _MIN_RECORD)
            counts.total = check_int("total", about["total"], 0)
            counts.skipped = about["skipped"]
            counts.fingerprint = about["fingerprint"]
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path}: this counts file cannot be read: {error}") from None
        digest = counts._digest()
        read = counts._run.reader()
        while piece := read(PIECE):
            digest.update(piece)
        if digest.hexdigest() != counts.fingerprint:
            raise ValueError(f"{path}: this counts file is damaged: its fingerprint does not match; copy it again")
        return counts

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_run": read_whole(self.run())}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WordCounts) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        scale = "" if self.scale == 1 else f"scale={self.scale}, "
        return (
            f"WordCounts(words={len(self)}, total={self.total}, {scale}pattern={self.pattern!r}, "
            f"special_tokens={[*self.special_tokens]}, fingerprint={self.fingerprint[:12]!r})"
        )


def merge_all(runs: Sequence[Run], multipliers: Sequence[int] | None = None, folder: Path | None = None) -> RunStream:
    """Return a merger of any number of runs, which reads only a few at once; see `merge_runs`."""
    runs, multipliers = [*runs], [*(multipliers or [1] * len(runs))]
    while len(runs) > FAN_IN:
        merged = gather(merge_runs(runs[:FAN_IN], multipliers[:FAN_IN]), folder=folder)
        runs = [*runs[FAN_IN:], open_run(merged)]
        multipliers = [*multipliers[FAN_IN:], 1]
    return merge_runs(runs, multipliers)
