"""Read a shard in batches of texts, in bounded memory.

A large local file of plain text is memory-mapped, and the native core cuts it. Everything else is read in blocks that
end at safe cuts, or as documents. The same bytes give the same counts, however they are read.
"""

from __future__ import annotations

import codecs
import itertools
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from hf_bpe._utils.input_files import open_regular
from hf_bpe._utils.tables import is_dataset
from hf_bpe.counting._error_policy import ErrorPolicy, Skipped
from hf_bpe.counting._file_formats import (
    Document,
    not_utf8,
    read_blocks,
    read_dataset,
    read_iterable,
    read_json_lines,
    read_parquet,
)
from hf_bpe.counting._settings import CountSettings
from hf_bpe.counting._sources import Shard
from hf_bpe.encoding._cuts.safe import (
    SafeCuts,
    TooLong,
    cut_into_blocks,
    cut_into_documents,
    find_last_cut,
    find_too_long,
    spans_between,
    special_token_finder,
)
from hf_bpe.pretokenizers._byte_level import repair_surrogates
from hf_bpe.pretokenizers._pattern import Pattern

_SMALL = 1 << 18  # smaller files are not worth a memory mapping
_WINDOW = 1 << 20


@dataclass(frozen=True)
class Text:
    """A document, or a segment of text between two safe cuts, with its special tokens."""

    data: str | bytes | mmap.mmap  # bytes, UTF-8 or not, or a str without lone surrogates
    start: int = 0  # the range of a memory mapping, as in `Shard`; the counter cuts it
    stop: int | None = None
    path: Path | None = None  # the path of the mapped file
    must_be_utf8: bool = False  # whether invalid UTF-8 is an error, which `check_utf8` raises

    def check_utf8(self, start: int, end: int) -> None:
        """Raise a ValueError with the file and location if a part of the data is not UTF-8."""
        assert not isinstance(self.data, str)
        try:
            self.data[start:end].decode()
        except UnicodeDecodeError as error:
            where = start + error.start
            line = 1 + _count_lines(self.data, where)
            problem = not_utf8(self.data[where], where, error.reason, f"in line {line}")
            raise ValueError(f"{self.path}: {problem}") from None

    def documents(self, pattern: Pattern, special_tokens: Sequence[str], piece_bytes: int = _WINDOW) -> Iterator[bytes]:
        """Yield what is between special tokens, in pieces that end at safe cuts."""
        data = self.data.encode() if isinstance(self.data, str) else self.data
        for start, stop in cut_into_documents(data, self.start, self.stop, pattern, special_tokens, piece_bytes):
            if self.must_be_utf8:
                self.check_utf8(start, stop)
            yield data[start:stop]


def _count_lines(data: bytes | mmap.mmap, stop: int) -> int:
    """Return the number of lines that end before a position."""
    return sum(data[i : min(i + _WINDOW, stop)].count(b"\n") for i in range(0, stop, _WINDOW))


def as_bytes(text: str | bytes) -> bytes:
    """Return a document as UTF-8."""
    return text if isinstance(text, bytes) else text.encode()


@dataclass(frozen=True)
class Batch:
    """Texts of a shard, and the stored bytes of its file up to their end; 0 for iterables."""

    texts: list[Text]
    read: int


def read(
    shard: Shard, settings: CountSettings, batch_bytes: int, skipped: Skipped, max_bytes: int | None = None
) -> Iterator[Batch]:
    """Yield the texts of a shard in batches of about `batch_bytes` bytes; one large text may be more.

    Text is cut where its pre-tokens by the settings cannot change. What is left out or shortened is added to `skipped`;
    a text of more than `max_bytes` bytes is a MemoryError.

    >>> from hf_bpe import plan
    >>> [shard] = plan(["low", ["lower", "lowest"]])
    >>> [batch] = read(shard, CountSettings(Pattern("gpt2")), 1000, Skipped())
    >>> [text.data for text in batch.texts]
    ['low', 'lower', 'lowest']
    """
    policy = ErrorPolicy(shard, skipped, max_bytes)
    batch: list[Text] = []
    size = 0
    for text in _texts(policy, settings, batch_bytes):
        batch.append(text)
        size += len(text.data)
        if size >= batch_bytes:
            yield Batch(batch, policy.position)
            batch, size = [], 0
    if batch:
        yield Batch(batch, policy.position)


def _texts(policy: ErrorPolicy, settings: CountSettings, block_bytes: int) -> Iterator[Text]:
    shard, source = policy.shard, policy.shard.source
    limit = source.max_document_bytes
    cap = None if limit is None else _Cap(limit, settings.special_tokens, policy)
    if shard.is_file and shard.format == "text":
        is_stored = shard.is_local and shard.size is not None and shard.compression is None
        if is_stored and source.errors != "replace" and limit is None:
            yield from _map(policy, settings.cuts)
            return
        for block in _blocks(policy, settings, block_bytes):
            yield from [Text(block)] if cap is None else map(Text, cap.shorten(block))
        return
    for document in _documents(policy):
        if cap is None:
            # ASCII text needs no decoding.
            yield Text(document if isinstance(document, bytes) or document.isascii() else _to_utf8(document))
        else:
            cap.begin()
            yield from map(Text, cap.shorten(document if isinstance(document, bytes) else _to_utf8(document)))


def _documents(policy: ErrorPolicy) -> Iterator[Document]:
    shard = policy.shard
    if shard.is_file:
        return read_parquet(policy) if shard.format == "parquet" else read_json_lines(policy)
    return read_dataset(policy) if is_dataset(shard.source.data) else read_iterable(policy)


def read_documents(shard: Shard, skipped: Skipped) -> Iterator[str | bytes]:
    """Yield the documents of a shard of JSON lines, Parquet or an iterable; of text, its blocks of bytes."""
    return follow_documents(ErrorPolicy(shard, skipped))


def follow_documents(policy: ErrorPolicy) -> Iterator[str | bytes]:
    """Yield what `read_documents` does for the shard of a policy, whose position says how much was read."""
    shard = policy.shard
    return _checked(policy) if shard.is_file and shard.format == "text" else _documents(policy)


def _to_utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return repair_surrogates(text).encode()


def _blocks(policy: ErrorPolicy, settings: CountSettings, block_bytes: int) -> Iterator[bytes]:
    """Yield a text in blocks that end at safe cuts, up to a segment without a safe cut that is too long."""
    cuts, longest = settings.cuts, policy.longest
    last_cut = partial(find_last_cut, pattern=settings.pattern, special_tokens=settings.special_tokens)
    place, line = 0, 1
    try:
        for block in cut_into_blocks(_checked(policy), last_cut, block_bytes, longest + cuts.margin):
            begin = find_too_long(block, cuts, 0, None, longest) if len(block) > longest else None
            if begin != 0:
                yield block[:begin]
            place, line = place + len(block[:begin]), line + block.count(b"\n", 0, begin)
            if begin is not None:
                raise TooLong
    except TooLong:
        _give_up_long_text(policy, place, line)


def _give_up_long_text(policy: ErrorPolicy, place: int, line: int) -> None:
    where = f"line {line}, byte {place} on"
    problem = policy.too_long(where, "text without a safe cut,")
    policy.give_up(f"{where}: {problem}, or give the special tokens at which documents end")


def _map(policy: ErrorPolicy, cuts: SafeCuts) -> Iterator[Text]:
    shard, source = policy.shard, policy.shard.source
    path = Path(shard.name)
    is_strict = source.errors == "strict"
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if is_strict and source.on_error == "skip":
            size = sum(map(len, _decode(policy, iter(lambda: file.read(_WINDOW), b""))))  # of its valid beginning
        policy.position = size if shard.size is None else shard.size
        if size == 0 or (size < _SMALL and shard.stop is None and shard.start == 0):
            file.seek(0)
            data: bytes | mmap.mmap = file.read(size)
        else:
            data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    stop = shard.stop
    if (begin := find_too_long(data, cuts, shard.start, stop, policy.longest)) is not None:
        _give_up_long_text(policy, begin, 1 + _count_lines(data, begin))
        stop = begin  # the last safe cut
    if stop != 0:
        yield Text(data, shard.start, stop, path, is_strict)


def _checked(policy: ErrorPolicy) -> Iterator[bytes]:
    """Yield the blocks of a text file, with invalid UTF-8 handled by the source's `errors`."""
    blocks = read_blocks(policy)
    return blocks if policy.shard.source.errors == "bytes" else _decode(policy, blocks)


def _decode(policy: ErrorPolicy, blocks: Iterable[bytes]) -> Iterator[bytes]:
    errors = policy.shard.source.errors
    held, offset, line = b"", 0, 1
    for block in itertools.chain(blocks, [None]):
        data = held if block is None else held + block
        is_end = block is None and not policy.gave_up  # otherwise an incomplete character has been reported already
        try:
            text, size = codecs.utf_8_decode(data, errors, is_end)
        except UnicodeDecodeError as error:
            yield data[: error.start]
            line += data.count(b"\n", 0, error.start)
            policy.give_up(not_utf8(data[error.start], offset + error.start, error.reason, f"in line {line}"))
            return
        yield text.encode() if errors == "replace" else data[:size]
        offset += size
        line += data.count(b"\n", 0, size)
        held = data[size:]


class _Cap:
    """Shorten documents, which end at special tokens, to a number of bytes."""

    def __init__(self, limit: int, special_tokens: Sequence[str], policy: ErrorPolicy) -> None:
        self._limit = limit
        self._finder = special_token_finder(special_tokens)
        self._skipped = policy.skipped
        self._size = 0  # bytes of the document so far

    def begin(self) -> None:
        """Begin a new document."""
        self._size = 0

    def shorten(self, data: bytes) -> Iterator[bytes]:
        """Yield the kept text, without special tokens, of data that continues the document, from a safe cut on."""
        for number, (start, stop) in enumerate(spans_between(self._finder, data)):
            if number > 0:
                self.begin()
            room = self._limit - self._size
            self._size += stop - start
            if self._size > self._limit:
                self._skipped.shortened += room >= 0  # it was not too long before
                stop = _end_of_character(data, start, start + max(room, 0))
            if start < stop:
                yield data[start:stop]


def _end_of_character(data: bytes, start: int, at: int) -> int:
    """Return the last position up to `at` that is not inside a character; there is one from `start` on."""
    if data[at] & 0xC0 != 0x80:
        return at
    tail = data[max(at - 3, start) : at]
    return at - len(tail) + codecs.utf_8_decode(tail, "surrogateescape", False)[1]
