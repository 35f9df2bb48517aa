"""The formats of token files by name: their file names, types of ids and writers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe.token_files._formats import arrow, binary, datatrove, mds, megatron
from hf_bpe.token_files._formats.writer import TokenWriter
from hf_bpe.token_files._options import FormatName, TokenFileOptions

INDEX, MANIFEST = "index.json", "manifest.json"
SHARD_FILES = {re.compile(r"(?:[0-9]{5}-of-[0-9]{5}/)?[^/\\]{1,255}"): int}
"""The shape of the files of a shard in a manifest: their names and sizes."""

MakeIndex = Callable[[Sequence[Mapping[str, Any]]], Mapping[str, Any]]


class TokenFormat(NamedTuple):
    """A format of token files.

    Attributes:
        suffixes: the ends of the names of a shard's files. The first is that of the file with the ids.
        make: returns a writer for files with these names, given the type of ids.
        dtype: returns the type of ids, given the highest id.
        keeps_rows: whether the files say where rows end.
        needs_separator: whether a tokenizer without a separator is refused unless the caller wants none.
        max_ids: the most ids of a file.
        is_folder: whether the output is a folder, with fixed names of files.
        shard_tokens: the default size of a shard; None for one file.
        make_index: returns the content of a JSON file about all shards, given what the writers said about each.
        mask_suffix: the end of the name of the file with the loss mask, "" if it is a column; None if no place is for
            one.
        holds_columns: whether `make` takes the names of other columns, whose values the rows bring.
    """

    suffixes: tuple[str, ...]
    make: Callable[..., TokenWriter]
    dtype: Callable[[int], np.dtype[Any]]
    keeps_rows: bool = True
    needs_separator: bool = True
    max_ids: int | None = None
    is_folder: bool = False
    shard_tokens: int | None = None
    make_index: MakeIndex | None = None
    holds_columns: bool = False
    mask_suffix: str | None = None


def _smallest(highest_id: int) -> np.dtype[Any]:
    return np.dtype("<u2" if highest_id < 1 << 16 else "<u4")


def _only_16_bits(highest_id: int) -> np.dtype[Any]:
    if highest_id >= 1 << 16:
        raise ValueError(
            f"format: nanogpt files hold ids below {1 << 16}, got a tokenizer with the id {highest_id}; "
            "use 'llm.c', 'megatron' or another format"
        )
    return np.dtype("<u2")


FORMATS: dict[FormatName, TokenFormat] = {
    "npy": TokenFormat((".npy", ".offsets.npy"), binary.NpyFiles, _smallest, needs_separator=False),
    "megatron": TokenFormat((".bin", ".idx"), megatron.MegatronFiles, megatron.megatron_dtype),
    "datatrove": TokenFormat(
        (".ds", ".ds.index", ".ds.metadata"), datatrove.DatatroveFiles, _smallest, mask_suffix=".ds.loss"
    ),
    "nanogpt": TokenFormat((".bin",), binary.FlatFile, _only_16_bits, keeps_rows=False),
    "llm.c": TokenFormat((".bin",), binary.LlmcFile, _smallest, keeps_rows=False, max_ids=binary.MAX_LLMC_IDS),
    "mds": TokenFormat(
        (".mds",),
        mds.MdsFile,
        lambda _: np.dtype("<u4"),
        is_folder=True,
        shard_tokens=1 << 24,
        make_index=mds.make_index,
    ),
    "parquet": TokenFormat(
        (".parquet",), arrow.ParquetFile, lambda _: np.dtype("<u4"), holds_columns=True, mask_suffix=""
    ),
    "arrow": TokenFormat((".arrow",), arrow.ArrowFile, lambda _: np.dtype("<u4"), holds_columns=True, mask_suffix=""),
}
"""Name → format."""


class Target:
    """The files that are written with some options.

    Args:
        options: the format, and what else decides which files there are, and their columns.
        output: the path of the file with the ids, with or without its suffix; for MDS, of a folder.

    Attributes:
        format: the format.
        shard_tokens: the size of a shard; None for one file.
        folder: the folder of the files.
        manifest: the path of the manifest.

    Raises:
        ValueError: the path ends in the suffix of another format.
    """

    def __init__(self, options: TokenFileOptions, output: Path) -> None:
        self.format, share = FORMATS[options.format], options.share
        self.shard_tokens = self.format.shard_tokens if options.shard_tokens is None else options.shard_tokens
        self._columns, self._has_mask = options.copy_columns, options.loss_mask is not None
        # The suffixes of this run, and those of runs with other options, too.
        masks = [self.format.mask_suffix] if self.format.mask_suffix else []
        self._all_suffixes = [*self.format.suffixes, *masks]
        self._suffixes = self._all_suffixes if self._has_mask else self.format.suffixes
        suffix = self.format.suffixes[0]
        others = {other.suffixes[0] for other in FORMATS.values()} - {suffix}
        name = output.name or str(output)  # the folder may be one that stands for a URL
        if options.format == "npy" and output.suffix != ".npy":
            fitting = ", ".join(repr(name) for name, other in FORMATS.items() if output.suffix == other.suffixes[0])
            way_out = f"; {output.suffix} is for the formats {fitting}: give one of them as format" if fitting else ""
            raise ValueError(f"output: expected a name that ends in .npy, got {name!r}{way_out}")
        if output.suffix in others or not output.name:
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
        """Return the names of the files of a shard, that with ids first; a single shard has number 0."""
        return self._names(None if self.shard_tokens is None else number, self._suffixes)

    def single_there(self) -> list[Path]:
        """Return the paths of the files of a single shard, which an earlier run may have left."""
        return [self.folder / name for name in self._names(None, self._all_suffixes)]

    def _names(self, number: int | None, suffixes: Sequence[str]) -> list[str]:
        if self.format.is_folder:
            stem = f"{self._stem}.{number or 0:05}"
        else:
            stem = self._stem if number is None else f"{self._stem}-{number:05}"
        return [stem + suffix for suffix in suffixes]

    def make(self, paths: Sequence[Path], dtype: npt.DTypeLike) -> TokenWriter:
        """Return a writer of a shard."""
        if self.format.holds_columns:
            return self.format.make(paths, dtype=dtype, columns=self._columns, has_mask=self._has_mask)
        return self.format.make(paths, dtype=dtype)

    @property
    def about_all(self) -> list[Path]:
        """The files that describe all shards, which are written last."""
        return [self.manifest, *([self.folder / INDEX] if self.format.make_index else [])]

    def shards_there(self) -> list[Path]:
        """Return files with names of numbered shards, which an earlier run may have left."""
        if not self.folder.is_dir():
            return []
        # Numbers from 100,000 on are longer, but so are dates.
        pattern = self._shard_name("[0-9]{5}")
        return sorted(path for path in self.folder.iterdir() if pattern.fullmatch(path.name))

    def has_name(self, name: str) -> bool:
        """Return whether a file of this output may have a name."""
        others = (*self._names(None, self._all_suffixes), *(path.name for path in self.about_all))
        return name in others or self._shard_name("[0-9]{5,}").fullmatch(name) is not None

    def _shard_name(self, number: str) -> re.Pattern[str]:
        # The stem may have digits itself, as that of part 0 does.
        stem = re.escape(self._stem + ("." if self.format.is_folder else "-"))
        return re.compile(f"{stem}{number}(?:{'|'.join(map(re.escape, self._all_suffixes))})")

    def index(self, shards: Sequence[Mapping[str, Any]]) -> tuple[str, str] | None:
        """Return the name and content of the file about all shards; None if the format has none."""
        if self.format.make_index is None:
            return None
        return INDEX, json.dumps(self.format.make_index(shards), sort_keys=True)
