"""The manifest of token files: a JSON file next to them that says what they hold and how they were made."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from hf_bpe._utils.files import write_atomically
from hf_bpe._utils.input_files import Optional
from hf_bpe.counting._error_policy import SKIPPED
from hf_bpe.token_files._options import TokenFileOptions
from hf_bpe.token_files._shards import SHARD_FILES, OutputFiles, ShardRecord

_SURROGATE = re.compile("[\ud800-\udfff]")

COUNTS = ("tokens", "documents", "rows", "tokens_left_out")
"""Counts of the files."""

FILE_ENTRIES: dict[Any, Any] = {
    **dict.fromkeys(COUNTS, int),
    "made_by": str,
    "dtype": re.compile("uint16|uint32|int32"),
    "shard_tokens": Optional(int),
    "skipped": SKIPPED,
    "shards": [{"files": SHARD_FILES, "tokens": int, "rows": int}],
    "sources": [{"name": str, "bytes": Optional(int), ...: object}],
}
"""Keys about the files and their sources, as `check_shape` takes them; all else is of the tokenizer and options."""

SETTINGS = {"tokenizer", "plan", *(each.name for each in fields(TokenFileOptions))}
"""Optional keys about the tokenizer, the options and the share of a corpus."""


class EncodedFiles(NamedTuple):
    """The files that `encode_files` wrote: paths, or URLs as str if the output is a URL.

    Attributes:
        ids: the path of the ids; of several shards, that of the first. If part I of N has no ids, there is no file.
        offsets: for NumPy's format, the path of the offsets at which documents, or packed sequences, begin, with the
            end of the last; None for other formats.
        num_tokens: number of ids in the files.
        num_documents: number of documents.
        manifest: the path of the manifest, a JSON file that lists all files, sources and options.
        files: the paths of all files with ids and their indices.
        num_rows: number of rows: documents or packed sequences.
    """

    ids: Path | str
    offsets: Path | str | None
    num_tokens: int
    num_documents: int
    manifest: Path | str
    files: Sequence[Path | str]
    num_rows: int


def write_manifest(
    target: OutputFiles, folder: Path, manifest: Mapping[str, object], records: Sequence[ShardRecord]
) -> EncodedFiles:
    """Write a manifest, and the index of the format, if it has one, to the folder that has the shards now."""
    if (index := target.index([record.details for record in records])) is not None:
        write_atomically(folder / index[0], index[1])
    write_atomically(folder / target.manifest.name, as_json(manifest))
    files = [target.folder / name for record in records for name in record.files]
    names = [target.folder / name for name in target.names(0)]
    return encoded_files(manifest, target.manifest, names, files)


def encoded_files(
    manifest: Mapping[str, Any], path: Path, first_shard: Sequence[Path], files: Sequence[Path]
) -> EncodedFiles:
    """Return the files of a manifest: of its first shard, and of all."""
    offsets = first_shard[1] if manifest["format"] == "npy" else None
    return EncodedFiles(
        first_shard[0], offsets, manifest["tokens"], manifest["documents"], path, files, manifest["rows"]
    )


def with_urls(written: EncodedFiles, url: Callable[[Path], str]) -> EncodedFiles:
    """Return what was written with the URLs of all files."""
    return written._replace(
        ids=url(Path(written.ids)),
        offsets=None if written.offsets is None else url(Path(written.offsets)),
        manifest=url(Path(written.manifest)),
        files=[url(Path(path)) for path in written.files],
    )


def as_json(manifest: Mapping[str, object]) -> str:
    """Return the text of a manifest."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    # A byte of a file name that is no text is a lone surrogate, which only an escape can write.
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
