"""Sources of text, and their division into shards, each read by one reader at a time.

Nothing is read here: `_locations` resolves names and sizes, `_readers` reads.
"""

from __future__ import annotations

import itertools
import json
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeGuard, Union, get_args

from hf_bpe._utils.arguments import at_least, check_choice, check_int, check_mapping, check_str, optional, short_repr
from hf_bpe._utils.messages import without_credentials
from hf_bpe._utils.paths import Location
from hf_bpe._utils.tables import is_dataset, refuse_tables
from hf_bpe.counting._locations import Compression, FileFormat, are_paths, file_kind, find_files

Errors = Literal["strict", "replace", "bytes"]
OnError = Literal["raise", "skip"]

SHARD_BYTES = 1 << 28
LINE_BYTES = 1 << 28


@dataclass(frozen=True)
class Source:
    """A source of text to count or train on, and how to read it.

    Args:
        data: a path, glob, directory or URL (`s3://…`, `hf://…`: whatever fsspec reads), or a list of these; an
            iterable of texts (str, bytes, or lists of str), such as a column of a table; or a dataset of the library
            `datasets`, streaming or not. A list of str is a list of paths if all of them exist or are URLs, and of
            texts if none does or is. Bytes in an iterable need not be UTF-8.
        weight: how many times each text counts. A float means the decimal number that Python prints for it, so 0.1 is
            one tenth; weights and counts are exact fractions.
        format: "text", "jsonl" (an object a line) or "parquet"; None to tell it by a file's name, and text if the name
            does not tell. Files that end in .gz or .zst are decompressed.
        column: the name of the text column in JSON objects, Parquet files and datasets.
        errors: the handling of invalid UTF-8 in files: "strict" to raise an error, "replace" to insert U+FFFD, "bytes"
            to count the bytes unchanged.
        on_error: the error policy for malformed input: "raise" an error, or "skip" the line, row or text, or the rest
            of an unreadable file, with a warning in the log. System errors are always raised.
        max_document_bytes: cut each document to this many bytes, at the end of a character. A document ends at a
            special token, and at the end of the file, line, row or text.
        max_line_bytes: the most bytes, decompressed, of a line of JSON lines, a row of Parquet, or a segment of plain
            text without a safe cut. A longer one is handled by `on_error`; of plain text the rest of the file is
            skipped. See docs/how-to/at-any-scale.md for the memory that one takes.
        storage_options: what fsspec takes to reach a URL, such as `{"endpoint_url": "https://…"}` for `s3://`; what is
            not given comes from the environment. No file and no message has them, because some are secret.

    Raises:
        TypeError, ValueError: an argument is invalid; the message names it.

    >>> Source("wikipedia/*.jsonl.zst", weight=0.1).weight
    Fraction(1, 10)
    """

    data: Any
    _: KW_ONLY
    weight: int | float | str | Decimal | Fraction = 1
    format: FileFormat | None = None
    column: str = "text"
    errors: Errors = "strict"
    on_error: OnError = "raise"
    max_document_bytes: int | None = None
    max_line_bytes: int = LINE_BYTES
    storage_options: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return without_credentials(f"Source({shown})")

    def __post_init__(self) -> None:
        _check_data(self.data)
        object.__setattr__(self, "weight", exact_weight(self.weight))
        check_choice("format", self.format, (None, *get_args(FileFormat)))
        check_choice("errors", self.errors, get_args(Errors))
        check_choice("on_error", self.on_error, get_args(OnError))
        check_str("column", self.column)
        limit = optional(at_least(1))("max_document_bytes", self.max_document_bytes)
        object.__setattr__(self, "max_document_bytes", limit)
        optional(check_mapping)("storage_options", self.storage_options)
        object.__setattr__(self, "max_line_bytes", check_int("max_line_bytes", self.max_line_bytes, 1))


TextSource = Union[
    Source,
    "Shard",
    str,
    "os.PathLike[str]",
    Iterable[Union[Source, "Shard", str, bytes, "os.PathLike[str]", Sequence[str]]],
]
"""A `Source`, what it takes as its data, or a list of Sources, paths and shards."""


@dataclass(frozen=True)
class Shard:
    """A unit of reading: a file, a range of a large file, or an iterable. Shards of files can be pickled.

    Attributes:
        source: how to read the shard; its data is the path or URL of the file, or the iterable.
        name: the absolute path or URL, the latter without user and password, or "iterable 0" and so on.
        size: the number of stored bytes; None if unknown.
        version: changes when the file changes; None for data that can be read only once.
        start, stop: the range from the first safe cut (of JSON lines: the first line) at or after `start` (0: the
            beginning) to the first at or after `stop` (None: the end).
    """

    source: Source
    name: str
    size: int | None
    version: str | None
    start: int = 0
    stop: int | None = None

    @property
    def is_file(self) -> bool:
        """True if this is a shard of a file, rather than an iterable."""
        return isinstance(self.source.data, Location)

    @property
    def is_local(self) -> bool:
        """True if this is a shard of a local file."""
        return self.is_file and not self.source.data.is_url

    @property
    def format(self) -> FileFormat:
        """The format of the file."""
        return self.source.format or file_kind(self.name)[0] or "text"

    @property
    def compression(self) -> Compression | None:
        """The compression of the file."""
        return file_kind(self.name)[1]

    @property
    def weight(self) -> Fraction:
        """The number of times each text counts."""
        return Fraction(self.source.weight)

    @property
    def key(self) -> str:
        """An identifier that is equal for shards with equal counts, as far as names, sizes and times tell."""
        source = self.source
        options = [self.format, source.column, source.errors, source.on_error, source.max_document_bytes]
        # The default is left out, so that keys of older versions stay valid.
        options += [] if source.max_line_bytes == LINE_BYTES else [source.max_line_bytes]
        return json.dumps([self.name, self.version, self.start, self.stop, str(self.weight), *options])


def plan(source: TextSource, *, shard_bytes: int = SHARD_BYTES) -> list[Shard]:
    """Divide a source into shards, in its order; files of directories and globs are in the order of their names.

    Args:
        source: any source of text. A list may also hold shards, which stay unchanged: `shards[i::n]` is the part of a
            plan for one of n machines.
        shard_bytes: longer local files of JSON lines or plain text that are not compressed are cut into ranges of this
            many bytes; of plain text not if the handling of a position depends on all text before it, as with
            "replace", "skip" or `max_document_bytes`.

    Raises:
        OSError, ImportError: a file cannot be found; FileNotFoundError if a name matches nothing.
        TypeError, ValueError: the source is invalid.

    >>> from pathlib import Path
    >>> _ = Path("a.txt").write_text("low lower lowest")
    >>> [(Path(shard.name).name, shard.start, shard.stop) for shard in plan(["a.txt"], shard_bytes=10)]
    [('a.txt', 0, 10), ('a.txt', 10, None)]
    """
    shard_bytes = check_int("shard_bytes", shard_bytes, 1)
    numbers_of_iterables = itertools.count()
    shards: list[Shard] = []
    for part in parts_of_source(source):
        if isinstance(part, Shard):
            shards.append(part)
            continue
        locations = _locations(part.data)
        if locations is None:
            if part.format is not None:
                raise ValueError(f"format: expected None for an iterable, got {part.format!r}")
            shards.append(Shard(part, f"iterable {next(numbers_of_iterables)}", None, None))
            continue
        for location in locations:
            for file in find_files(location, part.format, part.storage_options):
                whole = Shard(replace(part, data=file.location), str(file.location), file.size, file.version)
                if whole.format == "parquet" and whole.compression is not None:
                    raise ValueError(f"{whole.name}: Parquet is compressed inside; unpack the file, or give its format")
                shards += split_shard(whole, shard_bytes)
    return shards


def parts_of_source(source: object) -> list[Source | Shard]:
    """Return the Sources and shards that a source of text stands for."""
    if _is_part(source):
        return [source]
    if not isinstance(source, (list, tuple)) or not any(map(_is_part, source)):
        return [Source(source)]
    for index, item in enumerate(source):
        if not _is_part(item) and not isinstance(item, (str, os.PathLike)):
            raise TypeError(
                f"source: element {index} is {type(item).__name__}, expected a Source or a path like the others"
            )
    return [item if _is_part(item) else Source(os.fspath(item)) for item in source]


def _is_part(item: object) -> TypeGuard[Source | Shard]:
    return isinstance(item, (Source, Shard))


def _locations(data: object) -> list[Location] | None:
    """Return the paths, globs, directories and URLs of a source's data; None if it is an iterable of texts."""
    if isinstance(data, (str, os.PathLike)):
        return [Location.parse(data)]
    if not isinstance(data, (list, tuple)):
        return None
    if any(isinstance(item, os.PathLike) for item in data):
        for index, item in enumerate(data):
            if not isinstance(item, (str, os.PathLike)):
                raise TypeError(f"source: element {index} is {type(item).__name__}, expected a path like the others")
    elif not (all(isinstance(item, str) for item in data) and are_paths(data)):
        return None
    return [*map(Location.parse, data)]


def split_shard(shard: Shard, part_bytes: int) -> Iterator[Shard]:
    """Yield a shard of a local file of text or JSON lines in ranges of at most `part_bytes` bytes, any other as it is.

    >>> from pathlib import Path
    >>> _ = Path("a.txt").write_text("low lower lowest")
    >>> [shard] = plan(["a.txt"])
    >>> [(part.start, part.stop, part.size) for part in split_shard(shard, 10)]
    [(0, 10, 10), (10, None, 6)]
    """
    if not is_splittable(shard) or shard.size is None or shard.size <= part_bytes:
        yield shard
        return
    end = shard.start + shard.size
    for start in range(shard.start, end, part_bytes):
        stop = start + part_bytes if start + part_bytes < end else shard.stop
        yield replace(shard, start=start, stop=stop, size=min(part_bytes, end - start))


def is_splittable(shard: Shard) -> bool:
    """Return whether a file can be read in ranges: the handling of a position does not depend on what is before it."""
    source = shard.source
    if not shard.is_local or shard.compression is not None or shard.format == "parquet":
        return False
    if shard.format == "jsonl":  # lines depend on nothing before them
        return True
    return source.errors != "replace" and source.on_error == "raise" and source.max_document_bytes is None


def _check_data(data: object) -> None:
    expected = "source: expected a path, paths or an iterable of texts, got"
    if isinstance(data, (bytes, bytearray)):
        raise TypeError(f"{expected} {type(data).__name__}; to train on one text give [text]")
    if not is_dataset(data):
        refuse_tables("source", data, "a path, paths or an iterable of texts")
    if _is_part(data) or (isinstance(data, (list, tuple)) and any(map(_is_part, data))):
        raise TypeError(f"{expected} Source in a Source; give a list of Sources")
    if not isinstance(data, (str, os.PathLike, Iterable)):
        raise TypeError(f"{expected} {type(data).__name__}")


def exact_weight(weight: object) -> Fraction:
    """Return a weight as an exact fraction; a float stands for the decimal that Python prints."""
    if isinstance(weight, bool) or not isinstance(weight, (numbers.Rational, float, str, Decimal)):
        raise TypeError(f"weight: expected a number or a str such as '0.1' or '1/3', got {short_repr(weight)}")
    try:
        if isinstance(weight, numbers.Rational):
            exact = Fraction(int(weight.numerator), int(weight.denominator))
        else:
            exact = Fraction(float.__repr__(weight) if isinstance(weight, float) else weight)
    except (ValueError, ArithmeticError):  # NaN or infinite
        raise ValueError(f"weight: expected a finite number, got {short_repr(weight)}") from None
    if exact <= 0:
        raise ValueError(f"weight: expected more than 0, got {short_repr(weight)}; to ignore a source, remove it")
    return exact
