"""Encoded parts of sources on disk, from which the token files are put together.

A piece is a file with ids, the ends of documents, the values of their other columns and a description. It gets its name
when it is complete, so every file with such a name is whole, and encoding resumes after the last piece of each unit of
work.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from io import FileIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.files import flush
from hf_bpe._utils.input_files import check_shape
from hf_bpe._utils.work_log import checksum, open_own
from hf_bpe.counting._error_policy import SKIPPED, Skipped
from hf_bpe.counting._sources import Shard
from hf_bpe.token_files._documents import DocumentEncoder, Place
from hf_bpe.token_files._packing import Chunk, Values

_MAX_IDS, _MAX_DOCUMENTS = 1 << 26, 1 << 22
_MAX_VALUES = 1 << 24  # bytes of the values of other columns
_READ_IDS = 1 << 22
_NAME = re.compile(r"([0-9]{6,})-([0-9]{6,})\.(piece|part)")
_TRAILER = struct.Struct("<Q")
_CONTENT = {
    **dict.fromkeys(("ids", "documents", "read", "values", "crc"), int),
    "place": (int, int, bool, int),
    "is_last": bool,
    "skipped": SKIPPED,
}

ReportProgress = Callable[[int, int, int], object]
"""Called with a unit, and how many more bytes of its sources were read and ids made."""


class EncodedPiece(NamedTuple):
    """A piece of a unit."""

    path: Path  # its file
    unit: int  # the index of the unit
    number: int  # the index of the piece in the unit
    ids: int  # how many ids it holds
    documents: int
    place: Place  # where the next piece of the unit begins
    is_last: bool  # whether there is no next piece
    skipped: Skipped  # what was skipped in the sources of the unit before that of the place
    read: int  # stored bytes of the sources that were read for it
    values: int  # the size in bytes of the values of other columns
    crc: int  # the checksum of ids, ends and values

    def check(self, dtype: npt.DTypeLike) -> None:
        """Raise a ValueError if the file is damaged."""
        with open_own(self.path, "rb") as file:
            size = self.ids * np.dtype(dtype).itemsize
            with _damage_named(self.path):
                if checksum(file, size + self.documents * 8 + self.values) != self.crc:
                    raise ValueError("its checksum is another")
            file.seek(size)
            self._ends_and_values(file)

    def _ends_and_values(self, file: FileIO) -> tuple[npt.NDArray[np.int64], list[Values]]:
        ends = np.fromfile(file, "<i8", self.documents)
        with _damage_named(self.path):
            lines = [json.loads(line) for line in _read(file, self.values).splitlines()]
            values = [tuple(row) for line in check_shape(lines, [[[object]]]) for row in line]
            if not all(value is None or type(value) is str for row in values for value in row):
                raise ValueError("a value of a column is no string")
            if len(ends) < self.documents or (np.diff(ends, prepend=0, append=self.ids) < 0).any():
                raise ValueError("documents end where there are no ids")
        return ends, values

    def chunks(self, dtype: npt.DTypeLike, first: int = 0) -> Iterator[Chunk]:
        """Yield the ids from the id with the index `first` on."""
        dtype = np.dtype(dtype)
        with open_own(self.path, "rb") as file:
            file.seek(self.ids * dtype.itemsize)
            ends, values = self._ends_and_values(file)
            file.seek(first * dtype.itemsize)
            low = int(np.searchsorted(ends, first))
            for start in range(first, max(self.ids, first + 1), _READ_IDS):  # a document may end with nothing more
                stop = min(start + _READ_IDS, self.ids)
                high = int(np.searchsorted(ends, stop, "right"))
                yield Chunk(np.fromfile(file, dtype, stop - start), ends[low:high] - start, values[low : high + 1])
                low = high


class PieceFolder:
    """A folder of pieces, which survive a crash of the system if it is durable."""

    def __init__(self, path: Path, dtype: npt.DTypeLike, is_durable: bool) -> None:
        self.path, self.dtype, self._is_durable = path, np.dtype(dtype), is_durable
        path.mkdir(exist_ok=True)

    def unit_pieces(self, unit: int, first: int) -> list[EncodedPiece]:
        """Return the pieces of a unit from a number on."""
        paths = (_path(self.path, unit, number) for number in itertools.count(first))
        return [_describe(path, self.dtype.itemsize) for path in itertools.takewhile(os.path.lexists, paths)]

    def clean(self, unit: int, number: int) -> None:
        """Delete the pieces before a piece, and what a killed process has not finished."""
        for path in [*self.path.iterdir()]:
            match = _NAME.fullmatch(path.name)
            if match and (match[3] == "part" or (int(match[1]), int(match[2])) < (unit, number)):
                path.unlink()

    def encode(
        self,
        encoder: DocumentEncoder,
        unit: int,
        sources: tuple[int, Sequence[Shard]],
        written: Sequence[EncodedPiece],
        report: ReportProgress,
    ) -> Iterator[EncodedPiece]:
        """Encode a unit from the end of its last written piece on, and yield the new pieces."""
        number, place, skipped = 0, Place(), Skipped()
        if written:
            if written[-1].is_last:
                return
            number, place, skipped = written[-1].number + 1, written[-1].place, written[-1].skipped
        encoded = encoder.encode(sources[1], place, skipped, sources[0])
        file = _PieceFile(self.path, unit, number, self.dtype)
        try:
            for chunk, place, read, skipped in encoded:
                file.append(chunk, read)
                report(unit, read, len(chunk.ids))
                if file.is_full:
                    yield file.commit(place, False, skipped, self._is_durable)
                    number += 1
                    file = _PieceFile(self.path, unit, number, self.dtype)
            yield file.commit(place, True, skipped, self._is_durable)
        finally:
            file.close()


class _PieceFile:
    """A piece that is being written."""

    def __init__(self, folder: Path, unit: int, number: int, dtype: npt.DTypeLike) -> None:
        self._path = _path(folder, unit, number)
        self._part = self._path.with_suffix(".part")
        self._file = self._part.open("xb")
        self._dtype = np.dtype(dtype)
        self._ends: list[npt.NDArray[np.int64]] = []
        self._values: list[bytes] = []  # lines of JSON
        self.ids = self.documents = self.read = self.values = self._crc = 0

    @property
    def is_full(self) -> bool:
        return self.ids >= _MAX_IDS or self.documents >= _MAX_DOCUMENTS or self.values >= _MAX_VALUES

    def append(self, chunk: Chunk, read: int) -> None:
        self._write(np.ascontiguousarray(chunk.ids, self._dtype).data)
        self._ends.append(chunk.ends + self.ids)
        self.ids += len(chunk.ids)
        self.documents += len(chunk.ends)
        self.read += read
        if chunk.values:
            self._values.append(json.dumps(chunk.values).encode() + b"\n")
            self.values += len(self._values[-1])

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._crc = zlib.crc32(data, self._crc)

    def commit(self, place: Place, is_last: bool, skipped: Skipped, is_durable: bool) -> EncodedPiece:
        for ends in self._ends:
            self._write(ends.astype("<i8").data)
        for line in self._values:
            self._write(line)
        content: dict[str, object] = {"ids": self.ids, "documents": self.documents, "place": place, "is_last": is_last}
        content |= {"skipped": asdict(skipped), "read": self.read, "values": self.values, "crc": self._crc}
        trailer = json.dumps(content).encode()
        self._file.write(trailer + _TRAILER.pack(len(trailer)))
        self._file.close()
        if is_durable:
            flush(self._part)
        self._part.replace(self._path)
        return _describe(self._path, self._dtype.itemsize)

    def close(self) -> None:
        self._file.close()
        self._part.unlink(missing_ok=True)


def _path(folder: Path, unit: int, number: int) -> Path:
    return folder / f"{unit:06}-{number:06}.piece"


def _describe(path: Path, id_bytes: int) -> EncodedPiece:
    match = _NAME.fullmatch(path.name)
    assert match is not None
    with open_own(path, "rb") as file, _damage_named(path):
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TRAILER.size, 0))
        (length,) = _TRAILER.unpack(_read(file, _TRAILER.size))
        begin = size - _TRAILER.size - length
        if begin < 0:
            raise ValueError("it is cut off")
        file.seek(begin)
        content = check_shape(json.loads(_read(file, length)), _CONTENT)
        if begin != content["ids"] * id_bytes + content["documents"] * 8 + content["values"]:
            raise ValueError("its size is not that of its content")
    content["place"], content["skipped"] = Place(*content["place"]), Skipped(**content["skipped"])
    return EncodedPiece(path, int(match[1]), int(match[2]), **content)


def _read(file: FileIO, size: int) -> bytes:
    """Return exactly `size` bytes of an unbuffered file, or what is there."""
    parts: list[bytes] = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Name the file in errors about its content, and say what to do."""
    try:
        yield
    except (ValueError, RecursionError, struct.error) as error:
        raise ValueError(f"{path} is damaged ({error}); delete {path.parent.parent} to encode again") from None
