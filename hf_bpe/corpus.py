"""Sources of text: what users give to train on, as it is, or as batches of UTF-8 documents without special tokens.

The native core takes whole texts and cuts them itself. For the Python engine batches are small enough to share out: a
long document is cut where its pre-tokens cannot change, so no count depends on where the cuts fall.
"""

from __future__ import annotations

import errno
import mmap
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Union

from hf_bpe.byte_level import repair_surrogates
from hf_bpe.patterns import find_safe_cut

TextSource = Union[str, "os.PathLike[str]", Iterable[Union[str, bytes, "os.PathLike[str]", Sequence[str]]]]
"""A path, several paths, or an iterable of texts (str, bytes, or lists of str as `datasets` gives in batches)."""

BATCH_BYTES = 1 << 20
_SMALL = 1 << 18
_WINDOW = 1 << 16  # how far ahead one look for a safe cut goes


@dataclass(frozen=True)
class Text:
    """A text as it is read, with its special tokens: bytes may be any, a str has no lone surrogates."""

    data: str | bytes | mmap.mmap
    path: Path | None = None  # of the file that it is, which must be UTF-8

    def check_utf8(self, start: int, end: int) -> None:
        """Raise a ValueError that names the file and the place if a part of a file is not UTF-8."""
        try:
            self.data[start:end].decode()  # type: ignore[union-attr]  # no file is a str
        except UnicodeDecodeError as error:
            where = start + error.start
            raise ValueError(
                f"{self.path}: not UTF-8: byte 0x{self.data[where]:02X} at offset {where} ({error.reason}); "
                "convert the file, or give its bytes as a text to train on them as they are"
            ) from None


def read_texts(source: TextSource) -> Iterator[Text]:
    """Yield the texts of a source, whole; a large file as a mapping of it.

    Raises:
        OSError: a file that cannot be read.
        TypeError, ValueError: a source that is none.
    """
    paths = source_paths(source)
    if paths is None:
        for item in _flatten(source):
            if isinstance(item, str) and not item.isascii():  # what is ASCII can be read as it is
                item = repair_surrogates(item).encode()
            yield Text(item)
        return
    for path in paths:
        with path.open("rb") as file:
            # What is empty, or a pipe, cannot be mapped; what is small is not worth it.
            if os.fstat(file.fileno()).st_size < _SMALL:
                yield Text(file.read(), path)
            else:
                yield Text(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), path)


def read_batches(
    source: TextSource, special_tokens: Sequence[str], pattern: str | None, batch_bytes: int = BATCH_BYTES
) -> Iterator[list[bytes]]:
    """Yield batches of documents, each batch of about `batch_bytes`, however long or short the documents are.

    Raises:
        OSError: a file that cannot be read.
        TypeError, ValueError: a source that is none, or text that is not UTF-8 in a file; the message says where.
    """
    batch: list[bytes] = []
    size = 0
    for document in _read_documents(source, special_tokens, pattern, batch_bytes):
        batch.append(document)
        size += len(document)
        if size >= batch_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def source_paths(source: TextSource) -> list[Path] | None:
    """Return the paths a source names, None if it is an iterable of texts.

    A str is a path. A list or tuple holds paths if its elements are path objects, or strings that are all names of
    existing files.

    Raises:
        FileNotFoundError, IsADirectoryError: for a single path that is no file.
        TypeError: neither a path nor an iterable.
        ValueError: a list of strings of which some name files and some do not.
    """
    if isinstance(source, bytes):
        raise TypeError("source: expected a path or an iterable of texts, got bytes; to train on one text give [text]")
    if isinstance(source, (str, os.PathLike)):
        return [_existing_file(source)]
    if isinstance(source, (list, tuple)):
        if source and all(isinstance(item, os.PathLike) for item in source):
            return [_existing_file(item) for item in source]
        if source and all(isinstance(item, str) for item in source):
            files = [item for item in source if _is_file(item)]
            if len(files) == len(source):
                return [Path(item) for item in source]
            if files:
                other = next(item for item in source if item not in files)
                raise ValueError(
                    f"source: {files[0]!r} names a file and {other[:80]!r} does not; "
                    "give pathlib.Path objects for files, or iter(texts) for texts"
                )
    if not isinstance(source, Iterable):
        raise TypeError(f"source: expected a path, paths or an iterable of texts, got {type(source).__name__}")
    return None


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # too long, or with a null character: a text, not a name
        return False


def _existing_file(path: str | os.PathLike[str]) -> Path:
    file = Path(path)
    try:
        if file.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a directory; give the files in it, such as path.glob('*.txt')")
        if file.exists():
            return file
    except ValueError:  # a null character
        pass
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
    name = str(path)
    raise FileNotFoundError(f"no file {name[:80]!r}; a str is a path: to train on a text itself give [text]")


def _read_documents(
    source: TextSource, special_tokens: Sequence[str], pattern: str | None, limit: int
) -> Iterator[bytes]:
    specials = _special_token_finder(special_tokens)
    for text in read_texts(source):
        data = text.data.encode() if isinstance(text.data, str) else text.data
        for start, end in _between(specials, data):
            for first, last in _cut(data, start, end, pattern, limit):
                if text.path is not None:
                    text.check_utf8(first, last)
                yield data[first:last]


def _flatten(texts: TextSource) -> Iterator[str | bytes]:
    assert isinstance(texts, Iterable)  # source_paths has seen to it
    for index, text in enumerate(texts):
        for item in text if isinstance(text, (list, tuple)) else [text]:
            if not isinstance(item, (str, bytes)):
                raise TypeError(f"source: text {index} is {type(item).__name__}, expected str or bytes")
            yield item


def _special_token_finder(special_tokens: Sequence[str]) -> re.Pattern[bytes] | None:
    """Return an expression for the special tokens' UTF-8, the longest first where several begin at one place."""
    if not special_tokens:
        return None
    longest_first = sorted((special.encode() for special in special_tokens), key=len, reverse=True)
    return re.compile(b"|".join(map(re.escape, longest_first)))


def _between(specials: re.Pattern[bytes] | None, data: bytes | mmap.mmap) -> Iterator[tuple[int, int]]:
    """Yield start and end of each stretch between special tokens, empty ones left out."""
    start = 0
    for match in specials.finditer(data) if specials is not None else ():
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < len(data):
        yield start, len(data)


def _cut(data: bytes | mmap.mmap, start: int, end: int, pattern: str | None, limit: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of pieces of a document, each the first after `limit` bytes that a safe cut allows."""
    while end - start > limit:
        cut = _safe_cut_from(data, start + limit, end, pattern)
        if cut is None:
            break
        yield start, cut
        start = cut
    yield start, end


def _safe_cut_from(data: bytes | mmap.mmap, start: int, end: int, pattern: str | None) -> int | None:
    while start < end:
        for _ in range(3):  # do not begin inside a character; what is decoded wrongly at the window's end cannot be cut
            if start < end and 0x80 <= data[start] < 0xC0:
                start += 1
        window = bytes(data[start : min(start + _WINDOW, end)])
        text = window.decode("utf-8", "surrogateescape")
        index = find_safe_cut(text, pattern)
        if index is not None:
            return start + len(text[:index].encode("utf-8", "surrogateescape"))
        if pattern is None:
            return None
        start += len(window)
    return None
