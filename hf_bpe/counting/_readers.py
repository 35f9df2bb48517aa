"""A shard, read: batches of texts, in bounded memory.

A large local file of plain text is mapped, for the native core to cut it itself. Everything else comes in blocks that
are cut where no count can change, or as documents. The same bytes give the same counts, whichever way they are read.
"""

from __future__ import annotations

import codecs
import itertools
import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hf_bpe._utils.input_files import open_regular
from hf_bpe.core._byte_level import repair_surrogates
from hf_bpe.counting._error_policy import ErrorPolicy, Skipped
from hf_bpe.counting._file_formats import (
    Document,
    is_dataset,
    not_utf8,
    read_blocks,
    read_dataset,
    read_iterable,
    read_json_lines,
    read_parquet,
)
from hf_bpe.counting._sources import Shard
from hf_bpe.engine._dispatch import find_last_cut
from hf_bpe.engine._safe_cuts import (
    SafeCuts,
    TooLong,
    between_special_tokens,
    cut_into_blocks,
    find_too_long,
    safe_cuts,
    special_token_finder,
)

__all__ = ["Batch", "Skipped", "Text", "read"]

_SMALL = 1 << 18  # what is smaller is not worth a mapping
_WINDOW = 1 << 20


@dataclass(frozen=True)
class Text:
    """A document, or a stretch of text from one safe cut to another, with its special tokens.

    Attributes:
        data: UTF-8 or any bytes, or a str without lone surrogates.
        start, stop: what of a mapping it is, as `Shard` says; to be cut by who counts.
        path: of the file that the data are.
        must_be_utf8: bytes that are not are an error, which `check_utf8` raises.
    """

    data: str | bytes | mmap.mmap
    start: int = 0
    stop: int | None = None
    path: Path | None = None
    must_be_utf8: bool = False

    def check_utf8(self, start: int, end: int) -> None:
        """Raise a ValueError that names the file and the place if a part of the data is not UTF-8."""
        assert not isinstance(self.data, str)
        try:
            self.data[start:end].decode()
        except UnicodeDecodeError as error:
            where = start + error.start
            line = 1 + _count_lines(self.data, where)
            problem = not_utf8(self.data[where], where, error.reason, f"in line {line}")
            raise ValueError(f"{self.path}: {problem}") from None


def _count_lines(data: bytes | mmap.mmap, stop: int) -> int:
    """Return how many lines end before a place."""
    return sum(data[i : min(i + _WINDOW, stop)].count(b"\n") for i in range(0, stop, _WINDOW))


@dataclass(frozen=True)
class Batch:
    """Some texts of a shard.

    Attributes:
        texts: what is to be counted.
        read: bytes of the shard's file that have been read once they are, as stored; 0 for iterables.
    """

    texts: list[Text]
    read: int


def read(
    shard: Shard,
    *,
    pattern: str | None,
    special_tokens: Sequence[str],
    batch_bytes: int,
    skipped: Skipped,
    most_bytes: int | None = None,
) -> Iterator[Batch]:
    """Yield the texts of a shard, in batches of about so many bytes; a large text by itself may be more.

    Args:
        shard: what `corpus.plan` gives.
        pattern, special_tokens: what the texts will be split by; text is cut where this cannot change.
        batch_bytes: how much to hold.
        skipped: what is skipped or shortened is added to it.
        most_bytes: of a text, by the memory that there is; None for no limit but that of the source.

    Raises:
        OSError: a file that cannot be opened or read.
        MemoryError: a text of more than `most_bytes`.
        ImportError: a package is missing; the message says which.
        ValueError: what is wrong in a file, and where.
        TypeError: an element of an iterable that is no text.

    >>> from hf_bpe import plan
    >>> [shard] = plan(["low", ["lower", "lowest"]])
    >>> [batch] = read(shard, pattern="gpt2", special_tokens=[], batch_bytes=1000, skipped=Skipped())
    >>> [text.data for text in batch.texts]
    ['low', 'lower', 'lowest']
    """
    policy = ErrorPolicy(shard, skipped, most_bytes)
    batch: list[Text] = []
    size = 0
    for text in _texts(policy, pattern, special_tokens, batch_bytes):
        batch.append(text)
        size += len(text.data)
        if size >= batch_bytes:
            yield Batch(batch, policy.position)
            batch, size = [], 0
    if batch:
        yield Batch(batch, policy.position)


def _texts(policy: ErrorPolicy, pattern: str | None, special_tokens: Sequence[str], block_bytes: int) -> Iterator[Text]:
    shard, source = policy.shard, policy.shard.source
    cap = None if source.max_document_bytes is None else _Cap(source.max_document_bytes, special_tokens, policy)
    if shard.is_file and shard.format == "text":
        if _can_be_mapped(shard):
            yield from _map(policy, safe_cuts(pattern, tuple(special_tokens)))
            return
        for block in _blocks(policy, pattern, special_tokens, block_bytes):
            yield from [Text(block)] if cap is None else map(Text, cap.shorten(block))
        return
    for document in _documents(policy):
        if cap is None:
            # What is ASCII can be read as it is.
            yield Text(document if isinstance(document, bytes) or document.isascii() else _to_utf8(document))
        else:
            cap.begin()
            yield from map(Text, cap.shorten(document if isinstance(document, bytes) else _to_utf8(document)))


def _documents(policy: ErrorPolicy) -> Iterator[Document]:
    shard = policy.shard
    if shard.is_file:
        return read_parquet(policy) if shard.format == "parquet" else read_json_lines(policy)
    return read_dataset(policy) if is_dataset(shard.source.data) else read_iterable(policy)


def _to_utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return repair_surrogates(text).encode()


def _can_be_mapped(shard: Shard) -> bool:
    """Say whether a plain text is a regular local file, of which nothing is replaced or left out."""
    source = shard.source
    is_stored = shard.is_local and shard.size is not None and shard.compression is None
    return is_stored and source.errors != "replace" and source.max_document_bytes is None


def _blocks(
    policy: ErrorPolicy, pattern: str | None, special_tokens: Sequence[str], block_bytes: int
) -> Iterator[bytes]:
    """Yield a text in blocks, each cut where it can be; up to where there is no such place for too long."""
    cuts, longest = safe_cuts(pattern, tuple(special_tokens)), policy.longest

    def last_cut(data: bytes) -> int:
        return find_last_cut(data, pattern, special_tokens)

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
    problem = policy.too_long(where, "text without a place to be cut,")
    policy.give_up(f"{where}: {problem}, or the special tokens at which documents end")


def _map(policy: ErrorPolicy, cuts: SafeCuts) -> Iterator[Text]:
    shard, source = policy.shard, policy.shard.source
    path = Path(shard.name)
    is_strict = source.errors == "strict"
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if is_strict and source.on_error == "skip":
            size = _size_of_utf8(policy, file)
        policy.position = size if shard.size is None else shard.size
        if size == 0 or (size < _SMALL and shard.stop is None and shard.start == 0):
            file.seek(0)
            data: bytes | mmap.mmap = file.read(size)
        else:
            data = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
    stop = shard.stop
    if (begin := find_too_long(data, cuts, shard.start, stop, policy.longest)) is not None:
        _give_up_long_text(policy, begin, 1 + _count_lines(data, begin))
        stop = begin  # where it can be cut
    if stop != 0:
        yield Text(data, shard.start, stop, path, is_strict)


def _size_of_utf8(policy: ErrorPolicy, file: BinaryIO) -> int:
    """Return up to where a file is UTF-8."""
    return sum(map(len, _decode(policy, iter(lambda: file.read(_WINDOW), b""))))


def _checked(policy: ErrorPolicy) -> Iterator[bytes]:
    """Yield the blocks of a text file, with what is not UTF-8 handled as its source says."""
    blocks = read_blocks(policy)
    return blocks if policy.shard.source.errors == "bytes" else _decode(policy, blocks)


def _decode(policy: ErrorPolicy, blocks: Iterable[bytes]) -> Iterator[bytes]:
    errors = policy.shard.source.errors
    held, offset, line = b"", 0, 1
    for block in itertools.chain(blocks, [None]):
        data = held if block is None else held + block
        is_end = block is None and not policy.gave_up  # else a character that is not whole says nothing new
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
    """Shortens documents, which end at special tokens.

    Args:
        limit: bytes that are kept of a document.
        special_tokens: text is split at them, the longest first.
        policy: counts the documents that are shortened.
    """

    def __init__(self, limit: int, special_tokens: Sequence[str], policy: ErrorPolicy) -> None:
        self._limit = limit
        self._finder = special_token_finder(special_tokens)
        self._skipped = policy.skipped
        self._size = 0  # of the document so far

    def begin(self) -> None:
        """Begin a new document."""
        self._size = 0

    def shorten(self, data: bytes) -> Iterator[bytes]:
        """Yield what is kept of text that goes on with the document and perhaps has more, without special tokens.

        It begins where text is cut safely, so with no rest of a character.
        """
        for number, (start, stop) in enumerate(between_special_tokens(self._finder, data)):
            if number > 0:
                self.begin()
            room = self._limit - self._size
            self._size += stop - start
            if self._size > self._limit:
                self._skipped.shortened += room >= 0  # not yet when it was read so far
                stop = _end_of_character(data, start, start + max(room, 0))
            if start < stop:
                yield data[start:stop]


def _end_of_character(data: bytes, start: int, at: int) -> int:
    """Return the last place up to `at` that is not in the middle of a character; there is one from `start` on."""
    if data[at] & 0xC0 != 0x80:
        return at
    tail = data[max(at - 3, start) : at]
    return at - len(tail) + codecs.utf_8_decode(tail, "surrogateescape", False)[1]
