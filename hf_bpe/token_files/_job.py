"""A job: sources to encode to token files, and the options."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hf_bpe.counting._sources import Shard
from hf_bpe.token_files._documents import DocumentEncoder
from hf_bpe.token_files._formats import Target


class Packing(NamedTuple):
    """Sequences of at most `length` ids, which may hold ids of several documents if `across`."""

    length: int
    across: bool


class Job(NamedTuple):
    """Sources to encode to token files, and the options.

    Attributes:
        sources: files, each whole; of a share of a corpus, also ranges of files.
        target: the format and the names of files.
        documents: how the documents of the sources are encoded.
        dtype: the type of the ids in the files.
        packing: how documents become rows; None if each is one.
        shard_tokens: the size of a shard; None for one file.
        settings: the tokenizer and options, as JSON values for the manifest.
        first_source: the number of the first source among those of the corpus.
        destination: the URL of the manifest, if the files of the target are uploaded; None if they stay.
    """

    sources: Sequence[Shard]
    target: Target
    documents: DocumentEncoder
    dtype: np.dtype[Any]
    packing: Packing | None
    shard_tokens: int | None
    settings: dict[str, Any]
    first_source: int = 0
    destination: str | None = None

    @property
    def is_share(self) -> bool:
        """True if this is a share of a corpus, which may have nothing to encode."""
        return "shard" in self.settings

    @property
    def held_dtype(self) -> np.dtype[Any]:
        """The type of ids on their way to the files, with room for the marks of a loss mask."""
        return np.dtype("<u4") if self.documents.no_loss is not None else self.dtype

    @property
    def described_sources(self) -> list[dict[str, Any]]:
        """The manifest's entry about the sources."""
        return [_described(source) for source in self.sources]

    @property
    def key(self) -> str:
        """A value that differs for other sources, or sources that have changed."""
        return hashlib.sha256("\n".join(source.key for source in self.sources).encode()).hexdigest()

    @property
    def output(self) -> str:
        """The place of the manifest."""
        return self.destination or str(self.target.manifest.absolute())

    @property
    def identity(self) -> dict[str, Any]:
        """The values that the token files depend on, to resume the work.

        Raises:
            ValueError: a source can be read only once.
        """
        for source in self.sources:
            if source.version is None:
                raise ValueError(
                    f"work_dir: {source.name} can be read only once, so encoding cannot be resumed; use a file"
                )
        settings = {"token_format" if name == "format" else name: value for name, value in self.settings.items()}
        return {**settings, "shard_tokens": self.shard_tokens, "output": self.output, "sources": self.key}

    def check_no_source_is_replaced(self) -> None:
        """Raise a ValueError if a file to write is one to read."""
        target = self.target
        written = [*target.about_all, *target.single_there(), *target.shards_there()]
        resolved = {path.resolve() for path in written}
        for source in self.sources:
            if source.is_file and Path(source.name).resolve() in resolved:
                raise ValueError(f"output: {source.name} is a source; choose another output")


def _described(source: Shard) -> dict[str, Any]:
    column = {} if source.format == "text" else {"column": source.source.column}
    range_ = {} if (source.start, source.stop) == (0, None) else {"range": [source.start, source.stop]}
    return {"name": source.name, "bytes": source.size, "format": source.format, **column, **range_}
