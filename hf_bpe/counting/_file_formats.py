"""Readers of file formats, datasets and iterables, which yield blocks of bytes or documents (bytes or any str)."""

from __future__ import annotations

import codecs
import functools
import importlib
import itertools
import json
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, BinaryIO

from hf_bpe._utils.tables import elements
from hf_bpe.counting._error_policy import ErrorPolicy
from hf_bpe.counting._locations import open_file
from hf_bpe.counting._sources import Shard
from hf_bpe.pretokenizers._byte_level import repair_surrogates

Document = str | bytes

_BLOCK_BYTES = 1 << 18
_PACKED_BYTES = 1 << 10  # at a time, because they can unpack to 2**15 times as much
_MIN_WINDOW = 1 << 20
_MAX_WINDOW = 1 << 31  # the most that zstd --long=31 needs, with which some large corpora are compressed
_ROWS = 1 << 7  # rows of a dataset to read at a time
_ARROW_BYTES, _ARROW_ROWS = 1 << 20, 1 << 10  # of Parquet to read at a time; whichever is less

_DECODING = {"strict": "strict", "replace": "replace", "bytes": "surrogateescape"}
# An escape in JSON: a surrogate pair, a lone surrogate, or anything else.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_ARROW_TEXT = re.compile(r"(large_)?(string|binary)(_view)?|fixed_size_binary\[\d+\]|null")


def not_utf8(byte: int, offset: int, reason: str, where: str) -> str:
    """Return the message for a byte that is not UTF-8, with advice."""
    advice = "convert the file, or read it with Source(…, errors='replace') or errors='bytes'"
    return f"not UTF-8: byte 0x{byte:02X} at offset {offset} ({reason}) {where}; {advice}"


def read_blocks(policy: ErrorPolicy) -> Iterator[bytes]:
    """Yield the decompressed bytes of a file, or the lines that begin in a range of one."""
    shard, compression = policy.shard, policy.shard.compression
    with open_file(shard.source.data, shard.source.storage_options) as file:
        if (shard.start, shard.stop) != (0, None):
            yield from _read_range(policy, file)
        elif compression is None:
            yield from _read_stored(policy, file, _BLOCK_BYTES)
        else:
            maximum = (policy.max_bytes or sys.maxsize) >> 15
            yield from _unpack(policy, _read_stored(policy, file, min(_PACKED_BYTES, max(maximum, 16))), compression)


def _read_stored(policy: ErrorPolicy, file: BinaryIO, size: int) -> Iterator[bytes]:
    while block := file.read(size):
        policy.position += len(block)
        yield block


def _read_range(policy: ErrorPolicy, file: BinaryIO) -> Iterator[bytes]:
    shard = policy.shard
    stop = None if shard.stop is None else _line_from(file, shard.stop)
    place = _line_from(file, shard.start)
    while block := file.read(_BLOCK_BYTES if stop is None else min(_BLOCK_BYTES, stop - place)):
        place += len(block)
        policy.position = min(place - shard.start, shard.size or 0)
        yield block


def _line_from(file: BinaryIO, place: int) -> int:
    """Go to the first line that begins at or after a place, or to the end, and return where that is."""
    file.seek(max(place - 1, 0))
    while place > 0 and (part := file.readline(_BLOCK_BYTES)) and not part.endswith(b"\n"):
        pass
    return file.tell()


@functools.lru_cache(maxsize=1)  # a range may have many malformed lines
def lines_before(shard: Shard) -> int:
    """Return the number of lines before the range of a shard."""
    if shard.start == 0:
        return 0
    with open_file(shard.source.data, shard.source.storage_options) as file:
        left = _line_from(file, shard.start)
        file.seek(0)
        lines = 0
        while left > 0 and (block := file.read(min(_BLOCK_BYTES, left))):
            lines, left = lines + block.count(b"\n"), left - len(block)
    return lines


def _line(policy: ErrorPolicy, number: int) -> str:
    """Return the name of a line of a shard, by its number in the file."""
    return f"line {number + lines_before(policy.shard)}"


def _unpack(policy: ErrorPolicy, blocks: Iterable[bytes], compression: str) -> Iterator[bytes]:
    """Decompress data that may have several frames, with zeros between them and at the end."""
    if compression == "gzip":
        failure: type[Exception] = zlib.error
    else:
        zstandard = _import("zstandard", "zstd", policy)
        window = _MAX_WINDOW
        if policy.max_bytes is not None:
            window = min(window, max(4 * policy.max_bytes, _MIN_WINDOW))
        frames, failure = zstandard.ZstdDecompressor(max_window_size=window), zstandard.ZstdError
    part: Any = None
    for block in blocks:
        while block:
            if part is None or part.eof:
                block = block.lstrip(b"\0")
                if block:
                    part = zlib.decompressobj(wbits=31) if compression == "gzip" else frames.decompressobj()
                continue
            try:
                data = part.decompress(block)
            except failure as error:
                if "too much memory" in str(error):
                    raise MemoryError(
                        f"{policy.shard.name}: decompressing its zstd data takes more than {window} bytes, the "
                        "limit by max_memory; give a greater max_memory"
                    ) from None
                policy.give_up(f"not {compression}, within its first {policy.position} bytes: {error}; copy it again")
                return
            if data:
                yield data
            block = part.unused_data
    if part is not None and not part.eof:
        policy.give_up(f"its {compression} data end too early, after {policy.position} bytes; copy it again")


def read_json_lines(policy: ErrorPolicy) -> Iterator[Document]:
    """Yield the text of each line, which is a JSON object; skip empty lines."""
    column, errors = policy.shard.source.column, policy.shard.source.errors
    for number, line in enumerate(_read_lines(policy), start=1):
        if number == 1 and policy.shard.start == 0 and line is not None:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not line or line.isspace():
            continue
        try:
            decoded = line.decode("utf-8", _DECODING[errors])
            if errors == "bytes":  # then only escaped bytes may be lone surrogates
                decoded = _without_lone_surrogates(decoded)
            row = json.loads(decoded)
        except UnicodeDecodeError as error:
            problem = not_utf8(line[error.start], error.start, error.reason, "of the line")
        except (ValueError, RecursionError) as error:
            problem = f"expected a JSON object, got {line[:40].decode(errors='replace')!r}: {error}"
        else:
            text = row.get(column) if isinstance(row, dict) else None
            if not isinstance(text, str):
                got = _describe_value(row, column) if isinstance(row, dict) else type(row).__name__
                problem = f"expected a JSON object with a string as {column!r}, got {got}"
            else:
                wrong = _read_values(policy, row) if policy.copied else None
                if wrong is None:
                    policy.record = number - 1
                    yield text.encode("utf-8", "surrogateescape") if errors == "bytes" else text
                    continue
                problem = wrong
        policy.leave_out(_line(policy, number), problem)


def _read_values(policy: ErrorPolicy, row: dict[str, Any]) -> str | None:
    """Set the values of the columns to copy; return what is wrong with them, None if nothing is."""
    missing = next((name for name in policy.copied if name not in row), None)
    if missing is not None:
        return f"expected a JSON object with the columns to copy, {missing!r} among them, got {_names(row)}"
    try:
        policy.values = _as_texts(row[name] for name in policy.copied)
    except ValueError as error:
        return str(error)
    return None


def _as_texts(values: Iterable[object]) -> tuple[str | None, ...]:
    """Return the values of columns to copy as text: strings as they are, null as None, other values as JSON.

    Bytes are read as UTF-8, and what JSON does not know, such as a date, is what `str` prints.

    >>> from datetime import date
    >>> _as_texts(["a", None, 7, {"en": 0.5}, b"b", date(2026, 1, 2)])
    ('a', None, '7', '{"en": 0.5}', 'b', '2026-01-02')
    """
    return tuple(None if value is None else repair_surrogates(_as_text(value)) for value in values)


def _as_text(value: object) -> str:
    if not isinstance(value, (bool, int, float, list, tuple, dict)):
        return _as_string(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_string)
    except RecursionError:
        raise ValueError("a value to copy is nested too deeply") from None


def _as_string(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _without_lone_surrogates(json_text: str) -> str:
    parts: list[str] = []
    end = 0
    for escape in _ESCAPE.finditer(json_text):  # most text has no such escape
        if escape[1] is not None:
            parts += [json_text[end : escape.start()], r"\ufffd"]
            end = escape.end()
    return "".join([*parts, json_text[end:]]) if parts else json_text


def _read_lines(policy: ErrorPolicy) -> Iterator[bytes | None]:
    """Yield lines without their ends, None for one that is too long; memory is bounded by the longest allowed line."""
    begun: list[bytes] = []
    size, number, is_left_out = 0, 1, False
    for block in read_blocks(policy):
        *ends, tail = block.split(b"\n")
        for part, is_end in itertools.chain(zip(ends, itertools.repeat(True)), [(tail, False)]):
            size += len(part)
            if size > policy.longest and not is_left_out:
                place = _line(policy, number)
                policy.leave_out(place, policy.too_long(place, "a line"))
                is_left_out, begun = True, []
            if not is_left_out:
                begun.append(part)
            if is_end:
                yield None if is_left_out else b"".join(begun)
                begun, size, number, is_left_out = [], 0, number + 1, False
    if not (policy.gave_up or is_left_out):  # otherwise the last line is incomplete
        yield b"".join(begun)


def _describe_value(row: dict[str, Any], column: str) -> str:
    if column not in row:
        return f"an object with {_names(row)}; give the column of the text"
    return "null" if row[column] is None else type(row[column]).__name__


def _names(columns: Iterable[str]) -> str:
    return ", ".join(f"{each!r:.80}" for each in itertools.islice(columns, 20)) or "nothing"


def read_parquet(policy: ErrorPolicy) -> Iterator[Document]:
    """Yield the texts of a column of a Parquet file."""
    errors = policy.shard.source.errors
    for number, (value, is_text) in enumerate(_read_column(policy)):
        problem = "expected a string, got null"
        if value is not None and len(value) > policy.longest:
            problem = policy.too_long(f"row {number}", "a text")
        elif value is not None:
            policy.record = number
            try:
                yield value.decode("utf-8", errors) if is_text and errors != "bytes" else value
                continue
            except UnicodeDecodeError as error:
                problem = not_utf8(value[error.start], error.start, error.reason, "of the text")
        policy.leave_out(f"row {number}", problem)


def _read_column(policy: ErrorPolicy) -> Iterator[tuple[bytes | None, bool]]:
    """Yield the rows of a Parquet column as bytes, and whether they are text."""
    arrow, column = _import("pyarrow", "parquet", policy), policy.shard.source.column
    with open_file(policy.shard.source.data, policy.shard.source.storage_options) as opened:
        try:
            file = importlib.import_module("pyarrow.parquet").ParquetFile(
                opened, pre_buffer=False, buffer_size=_ARROW_BYTES
            )
            there = file.schema_arrow.names
            if column not in there:
                return policy.give_up(f"there is no column {column!r}; give the column of the text: {_names(there)}")
            missing = [name for name in policy.copied if name not in there]
            if missing:
                return policy.give_up(f"there is no column {missing[0]!r} to copy; there are {_names(there)}")
            doubled = [name for name in (column, *policy.copied) if there.count(name) > 1]
            if doubled:
                return policy.give_up(f"expected one column {doubled[0]!r}, got {there.count(doubled[0])}; rename them")
            kind = file.schema_arrow.field(column).type
            kind = kind.value_type if arrow.types.is_dictionary(kind) else kind
            if not _ARROW_TEXT.fullmatch(str(kind)):
                return policy.give_up(f"column {column!r}: expected strings or bytes, got {kind}")
            total, size = file.metadata.num_rows, policy.shard.size or 0
            groups = [file.metadata.row_group(i).total_byte_size for i in range(file.metadata.num_row_groups)]
            rows = max(min(_ARROW_BYTES * total // max(sum(groups), 1), _ARROW_ROWS), 1)
            done = 0
            for batch in file.iter_batches(batch_size=rows, columns=[*{column, *policy.copied}], use_threads=False):
                try:
                    copied = [batch.column(name).to_pylist() for name in policy.copied]
                except (ValueError, LookupError) as error:  # times that Python has no type for
                    return policy.give_up(f"a column to copy has values that cannot be read: {error}")
                for number, value in enumerate(batch.column(column).cast(arrow.large_binary()).to_pylist()):
                    if copied:
                        policy.values = _as_texts(values[number] for values in copied)
                    yield value, "string" in str(kind)
                done += batch.num_rows
                policy.position = size * done // total
        except (arrow.ArrowInvalid, arrow.ArrowNotImplementedError, OSError) as error:
            if isinstance(error, OSError) and (type(error) is not OSError or error.errno is not None):
                raise  # a system error; pyarrow raises a plain OSError for damaged data
            policy.give_up(f"cannot be read as Parquet: {error}; copy it again")


def read_dataset(policy: ErrorPolicy) -> Iterator[Document]:
    """Yield the texts of a column of a dataset of the library `datasets`: in memory, on disk or streaming."""
    column = policy.shard.source.column
    data = policy.shard.source.data.with_format(None)
    if data.column_names is None:  # streaming: the columns are unknown before it is read
        rows = iter(data)
    elif column in data.column_names:
        batches = data.select_columns(column).iter(batch_size=_ROWS)
        rows = ({column: value} for batch in batches for value in batch[column])
    else:
        names = _names(data.column_names)
        raise ValueError(f"{policy.shard.name}: there is no column {column!r}; give the column of the text: {names}")
    for number, row in enumerate(rows):
        if isinstance(row.get(column), (str, bytes)):
            yield row[column]
        else:
            policy.leave_out(f"row {number}", f"expected a string as {column!r}, got {_describe_value(row, column)}")


def read_iterable(policy: ErrorPolicy) -> Iterator[Document]:
    """Yield the texts of an iterable, also texts in nested lists; with columns to copy, the texts of its records."""
    column = policy.shard.source.column
    for index, element in enumerate(elements(policy.shard.name, policy.shard.source.data)):
        policy.record = index
        if policy.copied and isinstance(element, dict):
            if (wrong := _read_values(policy, element)) is not None:
                policy.leave_out(f"record {index}", wrong)
                continue
            element = element[column]
        for text in element if isinstance(element, (list, tuple)) else [element]:
            if isinstance(text, (str, bytes)):
                yield text
            else:
                problem = f"expected str or bytes, got {type(text).__name__}; give paths and Sources in a list"
                policy.leave_out(f"text {index}", problem, TypeError)


def _import(name: str, extra: str, policy: ErrorPolicy) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        advice = f"pip install 'hf_bpe[{extra}]'"
        raise ImportError(f"{policy.shard.name}: reading it needs {name}, which is not installed; {advice}") from None
