"""Token files that were written before, found by their manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.input_files import read_json
from hf_bpe._utils.paths import output_url
from hf_bpe._utils.shapes import Optional, check_shape
from hf_bpe.token_files._document_index import with_document_index
from hf_bpe.token_files._formats import FORMATS, MANIFEST
from hf_bpe.token_files._manifest import OF_FILES
from hf_bpe.token_files._reading import READERS
from hf_bpe.token_files._rows import Chunk, value_columns
from hf_bpe.token_files._run import Totals

_MANIFEST: dict[Any, Any] = {
    **OF_FILES,
    "format": str,
    "tokenizer": str,
    "separator": object,
    "begin_token": Optional(int),
    "split_special_tokens": bool,
    "pack": Optional(int),
    ...: object,
}


class TokenFiles(NamedTuple):
    """Token files that were written before.

    Attributes:
        path: the manifest.
        content: what it says.
    """

    path: Path
    content: dict[str, Any]

    @classmethod
    def find(cls, tokens: Path) -> TokenFiles:
        """Return the files of a manifest, or the ones that were written for an output.

        Raises:
            OSError: there is no manifest.
            ValueError: it is damaged, or a URL is given.
        """
        if (url := output_url(tokens)) is not None:
            raise ValueError(f"tokens: expected local files, got the URL {short_repr(url)}; mount or copy its folder")
        path = tokens
        if tokens.is_dir():
            path = tokens / MANIFEST
        elif not tokens.name.endswith(MANIFEST):
            suffixes = [format.suffixes[0] for format in FORMATS.values() if tokens.name.endswith(format.suffixes[0])]
            path = tokens.with_name(f"{tokens.name.removesuffix(next(iter(suffixes), ''))}.{MANIFEST}")
        try:
            content = check_shape(read_json(path), _MANIFEST)
            if content["format"] not in FORMATS:
                raise ValueError(f"format: got {short_repr(content['format'])}")
        except ValueError as error:
            raise ValueError(f"{path} is not a manifest of token files, or is damaged: {error}") from None
        return cls(path, content)

    def output_in(self, folder: Path) -> Path:
        """Return the output of files of the same name in a folder."""
        name = self.path.name.removesuffix(MANIFEST).removesuffix(".")
        return folder / (name + ".npy" if self.content["format"] == "npy" else name)

    def check_rows(self, refused: Mapping[str, str]) -> None:
        """Raise a ValueError unless the files say where rows end, and are as the manifest says.

        Args:
            refused: the settings with which the files are refused, and why.
        """
        content = self.content
        for name, why in refused.items():
            if content.get(name):
                raise ValueError(f"{self.path}: expected ids without {name}, because {why}; encode the text again")
        says_rows = FORMATS[content["format"]].keeps_rows or content.get("document_index", False)
        if content["shard_tokens"] is not None and not says_rows:
            raise ValueError(
                f"{self.path}: format {content['format']!r} does not say where rows end, so its shards cannot be cut "
                "again; encode the text again"
            )
        for name, size in (item for shard in content["shards"] for item in shard["files"].items()):
            path = self.path.parent / name
            found = path.stat().st_size
            if found != size:
                raise ValueError(f"{path} has {found} bytes, expected {size} by {self.path.name}; encode it again")

    @property
    def files(self) -> list[Path]:
        """The files of all shards."""
        return [self.path.parent / name for shard in self.content["shards"] for name in shard["files"]]

    @property
    def totals(self) -> Totals:
        """How many ids and documents there are, and what was skipped in their sources."""
        return Totals(self.content["tokens"], self.content["documents"], 0, self.content["skipped"])

    @property
    def columns(self) -> dict[str, str]:
        """The columns besides the ids, and their types as Arrow names them."""
        has_index = self.content.get("document_index", False)
        return value_columns(self.content.get("copy_columns", ()), has_index=has_index)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows of all shards."""
        for shard in self.content["shards"]:
            if shard["tokens"]:
                yield from self._shard([self.path.parent / name for name in shard["files"]])

    def _shard(self, paths: list[Path]) -> Iterator[Chunk]:
        """Yield the rows of a shard."""
        format, names = self.content["format"], [*self.columns]
        if not names or FORMATS[format].holds_columns:
            return READERS[format](paths, self.content["dtype"], names)
        return with_document_index(READERS[format](paths[:-1], self.content["dtype"], ()), paths[-1], names)
