"""The container format of GGUF: a header, keys with values, and tensors. Only keys of the tokenizer are read.

The `gguf` package reads everything: a vocabulary of 200,000 tokens takes it 10 s and 600 MB. It accepts a truncated
string as a shorter one, and trusts any count. So this module reads files itself, and allocates nothing beyond the
content of the file. A sparse file may hold a terabyte of zeros, so no more is read than a vocabulary can need. Source
of the layout: docs/gguf.md of ggml.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from hf_bpe._utils.input_files import MAX_BYTES, open_regular

MetadataValue = bool | int | float | str | list[str] | list[int] | list[float] | list[bool]

MAGIC = b"GGUF"
KEY = "tokenizer.ggml."
"""The prefix of the keys of the vocabulary."""

_TEMPLATE = "tokenizer.chat_template"
_VERSIONS = (2, 3)
# The struct codes of number types, by GGUF type.
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_NAMES_OF_ENTRIES = {str: "strings", int: "integers", float: "numbers"}
_LONGEST_KEY = 2**16 - 1
_MAX_KEYS = 2**16
_MAX_ENTRIES = 2**22  # of an array, and of strings in all; sixteen times as many as the largest vocabularies have


def read_metadata(path: Path, prefix: str) -> dict[str, MetadataValue]:
    """Return the values of all keys with a prefix; tensors are not read."""
    with open_regular(path) as file:
        reader = _Reader(file, path)
        if (magic := reader.take(4, "the magic")) != MAGIC:
            raise ValueError(f"{path}: not a GGUF file: it begins with {magic!r}, expected {MAGIC!r}")
        version = reader.number("I", "the version")
        if version % 2**16 == 0:
            raise ValueError(f"{path}: a big-endian GGUF file; expected a little-endian one: convert it first")
        if version not in _VERSIONS:
            raise ValueError(f"{path}: version {version} of GGUF; expected 2 or 3: write it again with a current tool")
        reader.number("Q", "the number of tensors")
        keys = reader.number("Q", "the number of keys")
        # A key has at least the two lengths, the type and a byte.
        if keys > min(reader.left // 13, _MAX_KEYS):
            raise ValueError(f"{path}: byte 16: {keys} keys cannot be in the {reader.left} bytes that follow")
        return dict(_entries(reader, int(keys), prefix))


class Metadata:
    """The tokenizer metadata of a file; a value of the wrong type raises a ValueError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._values = read_metadata(path, "tokenizer.")

    def error(self, name: str, what: str) -> ValueError:
        return ValueError(f"{self._path}: {KEY}{name}: {what}")

    def has(self, name: str) -> bool:
        return KEY + name in self._values

    def text(self, name: str) -> str | None:
        """Return a string, None if the key does not exist."""
        value = self._values.get(KEY + name)
        if not isinstance(value, str | None):
            raise self.error(name, f"expected a string, got {value!r:.40}")
        return value

    def flag(self, name: str, default: bool) -> bool:
        value = self._values.get(KEY + name, default)
        if not isinstance(value, bool):
            raise self.error(name, f"expected true or false, got {value!r:.40}")
        return value

    def token_id(self, key: str, count: int) -> int | None:
        """Return an id, None if the key does not exist; the full key is given."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < count:
            raise ValueError(f"{self._path}: {key}: expected one of the {count} ids, got {value!r:.40}")
        return value

    def array(self, name: str, entries: type) -> list[Any]:
        """Return a required array of `str`, `int` or `float`."""
        value = self._values.get(KEY + name)
        if not isinstance(value, list) or (value and type(value[0]) is not entries):
            got = "none" if value is None else f"{value!r:.40}"
            raise self.error(name, f"expected an array of {_NAMES_OF_ENTRIES[entries]}, got {got}")
        return value

    def chat_template(self) -> str | dict[str, str] | None:
        """Return the chat template, or several by name."""
        templates: dict[str, str] = {}
        for key, value in self._values.items():
            if key == _TEMPLATE or key.startswith(f"{_TEMPLATE}."):
                if not isinstance(value, str):
                    raise ValueError(f"{self._path}: {key}: expected a string, got {value!r:.40}")
                templates[key[len(_TEMPLATE) + 1 :] or "default"] = value
        return templates["default"] if [*templates] == ["default"] else templates or None


def _entries(reader: _Reader, count: int, prefix: str) -> Iterator[tuple[str, MetadataValue]]:
    seen: set[str] = set()
    for number in range(count):
        place = reader.place
        key = reader.string(f"key {number + 1} of {count}", _LONGEST_KEY)
        if key in seen:
            raise reader.error(f"the key {key!r} occurs twice", place)
        seen.add(key)
        kind = reader.number("I", f"the type of {key}")
        if key.startswith(prefix):
            yield key, reader.value(int(kind), key)
        else:
            reader.skip_value(int(kind), key)


class _Reader:
    """A sequential reader of numbers and strings; what is beyond the file or its first `MAX_BYTES`, is a ValueError."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path
        self.place = 0
        self.left = min(os.fstat(file.fileno()).st_size, MAX_BYTES)
        self._strings = 0

    def error(self, what: str, place: int | None = None) -> ValueError:
        return ValueError(f"{self._path}: byte {self.place if place is None else place}: {what}")

    def take(self, size: int, what: str) -> bytes:
        data = self._file.read(size) if size <= self.left else b""
        if len(data) < size:
            raise self._too_short(size, what)
        self.place += size
        self.left -= size
        return data

    def _too_short(self, size: int, what: str) -> ValueError:
        is_whole = self.place + self.left < MAX_BYTES
        end = "the file ends" if is_whole else f"what may hold a vocabulary, {MAX_BYTES >> 20} MiB, ends"
        return self.error(f"{what}: expected {size} bytes, {end} after {self.left}")

    def skip(self, size: int, what: str) -> None:
        if size > self.left:
            raise self._too_short(size, what)
        self._file.seek(size, os.SEEK_CUR)
        self.place += size
        self.left -= size

    def number(self, code: str, what: str) -> int | float | bool:
        number: int | float | bool = struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}"), what))[0]
        return number

    def string(self, what: str, longest: int | None = None) -> str:
        size = int.from_bytes(self.take(8, f"the length of {what}"), "little")
        if longest is not None and size > longest:
            raise self.error(f"{what}: expected at most {longest} bytes, got a length of {size}")
        place = self.place
        try:
            return self.take(size, what).decode()
        except UnicodeDecodeError as error:
            raise self.error(f"{what}: not UTF-8: {error.reason}", place + error.start) from None

    def value(self, kind: int, key: str) -> MetadataValue:
        if kind == _STRING:
            return self.string(key)
        if kind != _ARRAY:
            return self.number(self._code(kind, key), key)
        kind, count = self._array(key)
        if kind == _STRING:
            return [self.string(f"{key}, entry {number}") for number in range(count)]
        if count > _MAX_ENTRIES:
            raise self.error(f"{key}: {count} entries; expected at most {_MAX_ENTRIES}")
        code = self._code(kind, key)
        return [*struct.unpack(f"<{count}{code}", self.take(count * struct.calcsize(f"<{code}"), key))]

    def skip_value(self, kind: int, key: str) -> None:
        count = 1
        if kind == _ARRAY:
            kind, count = self._array(key)
        if kind != _STRING:
            self.skip(count * struct.calcsize(f"<{self._code(kind, key)}"), key)
            return
        for _ in range(count):
            self.skip(int.from_bytes(self.take(8, f"the length of {key}"), "little"), key)

    def _array(self, key: str) -> tuple[int, int]:
        """Return type and number of an array's entries, if the file can hold them."""
        kind = int(self.number("I", f"the type of the entries of {key}"))
        count = int(self.number("Q", f"the number of entries of {key}"))
        minimum = 8 if kind == _STRING else struct.calcsize(f"<{self._code(kind, key)}")
        if count * minimum > self.left:
            raise self.error(f"{key}: {count} entries cannot be in the {self.left} bytes that follow")
        self._strings += count if kind == _STRING else 0
        if self._strings > _MAX_ENTRIES:
            raise self.error(f"{key}: {count} strings; expected at most {_MAX_ENTRIES} in all")
        return kind, count

    def _code(self, kind: int, key: str) -> str:
        if kind == _ARRAY:
            raise self.error(f"{key}: an array of arrays, which vocabularies do not have")
        if kind not in _NUMBERS:
            raise self.error(f"{key}: type {kind}, expected one of 0 to 12")
        return _NUMBERS[kind]
