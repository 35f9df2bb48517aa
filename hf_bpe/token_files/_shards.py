"""Shards of token files: their names, and the rows that are written to them. Each is put in place when it is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hf_bpe._utils.files import staged_folder
from hf_bpe.token_files._formats import FORMATS
from hf_bpe.token_files._options import TokenFileOptions
from hf_bpe.token_files._packing import Chunk, Details, Dtype

INDEX, MANIFEST = "index.json", "manifest.json"
SHARD_FILES = {re.compile(r"(?:[0-9]{5}-of-[0-9]{5}/)?[^/\\]{1,255}"): int}
"""The shape of the files of a shard in a manifest: their names and sizes."""


class OutputFiles:
    """The files that are written with some options; `output` is a path with or without suffix, for MDS of a folder."""

    def __init__(self, options: TokenFileOptions, output: Path) -> None:
        self.format, share = FORMATS[options.format], options.share
        self.is_share = share is not None
        self.shard_tokens = self.format.shard_tokens if options.shard_tokens is None else options.shard_tokens
        self._columns, self._has_mask = options.copy_columns, options.loss_mask is not None
        # The suffixes of this run, and those of runs with other options, too.
        masks = [self.format.mask_suffix] if self.format.mask_suffix else []
        self._all_suffixes = [*self.format.suffixes, *masks]
        self._suffixes = self._all_suffixes if self._has_mask else self.format.suffixes
        suffix = self.format.suffixes[0]
        suffixes = {other.suffixes[0] for other in FORMATS.values()} - {suffix}
        name = output.name or str(output)  # the folder may be one that stands for a URL
        if options.format == "npy" and output.suffix != ".npy":
            fitting = ", ".join(repr(name) for name, other in FORMATS.items() if output.suffix == other.suffixes[0])
            way_out = f"; {output.suffix} is for the formats {fitting}: give one of them as format" if fitting else ""
            raise ValueError(f"output: expected a name that ends in .npy, got {name!r}{way_out}")
        if output.suffix in suffixes or not output.name:
            raise ValueError(
                f"output: expected a name that ends in {suffix} for format {options.format!r}, got {name!r}"
            )
        if self.format.is_folder:
            self.folder, self._stem = output if share is None else output / share.name, "shard"
            self.manifest = self.folder / MANIFEST
        else:
            self.folder, stem = output.parent, output.name.removesuffix(suffix)
            self._stem = stem if share is None else f"{stem}-{share.name}"
            self.manifest = self.folder / f"{self._stem}.{MANIFEST}"

    def names(self, number: int) -> list[str]:
        """Return the names of the files of a shard, the file with ids first; a single shard has number 0."""
        return self._names(None if self.shard_tokens is None else number, self._suffixes)

    def single_shard_paths(self) -> list[Path]:
        """Return the paths of a single shard, which an earlier run may have left."""
        return [self.folder / name for name in self._names(None, self._all_suffixes)]

    def _names(self, number: int | None, suffixes: Sequence[str]) -> list[str]:
        if self.format.is_folder:
            stem = f"{self._stem}.{number or 0:05}"
        else:
            stem = self._stem if number is None else f"{self._stem}-{number:05}"
        return [stem + suffix for suffix in suffixes]

    def write(self, paths: Sequence[Path], chunks: Iterable[Chunk], dtype: Dtype) -> Details:
        """Write the files of a shard in bounded memory, and return what the index of the format says about them."""
        if self.format.holds_columns:
            return self.format.write(paths, chunks, dtype, self._columns, self._has_mask)
        return self.format.write(paths, chunks, dtype)

    @property
    def manifest_files(self) -> list[Path]:
        """The files that describe all shards, which are written last."""
        return [self.manifest, *([self.folder / INDEX] if self.format.make_index else [])]

    def existing_shards(self) -> list[Path]:
        """Return files with names of numbered shards, which an earlier run may have left."""
        if not self.folder.is_dir():
            return []
        # Numbers from 100,000 on are longer, but so are dates.
        pattern = self._shard_name("[0-9]{5}")
        return sorted(path for path in self.folder.iterdir() if pattern.fullmatch(path.name))

    def has_name(self, name: str) -> bool:
        """Return whether a file of this output may have a name."""
        names = (*self._names(None, self._all_suffixes), *(path.name for path in self.manifest_files))
        return name in names or self._shard_name("[0-9]{5,}").fullmatch(name) is not None

    def _shard_name(self, number: str) -> re.Pattern[str]:
        # The stem may have digits itself, as that of part 0 does.
        stem = re.escape(self._stem + ("." if self.format.is_folder else "-"))
        return re.compile(f"{stem}{number}(?:{'|'.join(map(re.escape, self._all_suffixes))})")

    def index(self, shards: Sequence[Details]) -> tuple[str, str] | None:
        """Return the name and content of the file about all shards; None if the format has none."""
        if self.format.make_index is None:
            return None
        return INDEX, json.dumps(self.format.make_index(shards), sort_keys=True)


class ShardRecord(NamedTuple):
    """A shard that is in place."""

    files: dict[str, int]  # name → number of bytes
    tokens: int  # how many ids and rows it holds
    rows: int
    details: Details  # what the index of the format says about it
    modified: dict[str, int]  # name → when the file was written, in nanoseconds


def write_shards(
    target: OutputFiles, folder: Path, chunks: Iterable[Chunk], dtype: Dtype, number: int
) -> Iterator[ShardRecord]:
    """Write a stream of rows to shards; the row that brings a shard to `shard_tokens` ids ends it.

    Yield each shard when it is in place; the first one has this number. The last row must end with the last chunk. A
    whole corpus without text has one shard, with nothing in it.
    """
    left = iter(chunks)
    first = next(left, None)
    is_needed = number == 0 and not target.is_share
    while first is not None or is_needed:
        stream = left if first is None else chain([first], left)
        record, first = _write_shard(target, folder, target.names(number), stream, dtype)
        yield record
        number += 1
        if first is not None and len(first.ids) == 0:
            first = next(left, None)
        is_needed = False


def _write_shard(
    target: OutputFiles, folder: Path, names: Sequence[str], chunks: Iterable[Chunk], dtype: Dtype
) -> tuple[ShardRecord, Chunk | None]:
    """Write the first rows to a shard, and return the part of a chunk that the next one begins with."""
    tokens = rows = 0
    remainder: Chunk | None = None

    def first_rows() -> Iterator[Chunk]:
        nonlocal tokens, rows, remainder
        maximum = target.format.max_ids
        for whole in chunks:
            chunk, remainder = _cut(whole, target.shard_tokens, tokens)
            yield chunk
            tokens += len(chunk.ids)
            rows += len(chunk.ends)
            if maximum is not None and tokens > maximum:
                raise ValueError(f"got a file of more than {maximum} ids, the limit of this format; give shard_tokens")
            if remainder is not None:
                return

    with staged_folder(folder, last=names[:1]) as staging:
        details = dict(target.write([staging / name for name in names], first_rows(), dtype))
        files = {name: (staging / name).stat().st_size for name in names}
        modified = {name: (staging / name).stat().st_mtime_ns for name in names}
    return ShardRecord(files, tokens, rows, details, modified), remainder


def _cut(chunk: Chunk, shard_tokens: int | None, tokens: int) -> tuple[Chunk, Chunk | None]:
    """Return the part of a chunk that belongs to a shard with `tokens` ids, and the remainder; None if all does."""
    if shard_tokens is None:
        return chunk, None
    last = int(np.searchsorted(chunk.ends, shard_tokens - tokens))
    if last == len(chunk.ends):
        return chunk, None
    end = int(chunk.ends[last])
    ids, ends, values = chunk
    remainder = Chunk(ids[end:], ends[last + 1 :] - end, values[last + 1 :])
    return Chunk(ids[:end], ends[: last + 1], values[: last + 1]), remainder


def without_empty_rows(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield chunks without the end of a row that they begin with, and no empty chunks."""
    is_first = True
    for ids, ends, values in chunks:
        left_out = int(np.searchsorted(ends, 0, "right")) if is_first else 0
        if len(ids) or len(ends) > left_out:
            yield Chunk(ids, ends[left_out:], values[left_out:])
            is_first = False


def check_in_place(folder: Path, records: Iterable[ShardRecord], work: Path) -> None:
    """Raise a ValueError if a file of a shard is missing, or was written again."""
    for record in records:
        for name, size in record.files.items():
            path = folder / name
            status = path.stat() if path.is_file() else None
            if status is None or (status.st_size, status.st_mtime_ns) != (size, record.modified[name]):
                raise ValueError(
                    f"{path} is missing or has changed since it was written, or was copied without its time; copy it "
                    f"with its time (cp -p, rsync -t), or delete {work} to encode again"
                )
