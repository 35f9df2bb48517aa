"""What one run has to do: the same words for the process that starts it and the process that does it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SEPARATOR = "<|endoftext|>"
"""Stands between the documents of a file; it is every peer's one special token."""

GPT2 = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
"""GPT-2's split pattern, for the peers that do not know it by name."""


@dataclass(frozen=True)
class Job:
    """One run of one task by one peer.

    Attributes:
        task: the name of a subcommand, "training" or "splitting".
        peer: the module of the peer, as `benchmarks.peers.load` takes it.
        files: absolute paths of UTF-8 text, documents separated by SEPARATOR.
        threads: how many the peer may use, and how many cores it gets.
        ties: training only: how the peer is to order pairs of equal count; None for its first way.
        vocab_size: training only: bytes, SEPARATOR and merges.
    """

    task: str
    peer: str
    files: tuple[str, ...]
    threads: int = 1
    ties: str | None = None
    vocab_size: int = 0

    @property
    def contender(self) -> str:
        """The name under which results are kept: the peer and, where it was chosen, its way with ties."""
        return self.peer if self.ties is None else f"{self.peer}:{self.ties}"


def read_documents(files: tuple[str, ...]) -> Iterator[str]:
    """Yield the documents as strings, for the peers that take no files. Holds one file at a time."""
    for file in files:
        data = Path(file).read_bytes()
        separator = SEPARATOR.encode()
        start = 0
        while start < len(data):
            end = data.find(separator, start)
            if end < 0:
                end = len(data)
            if end > start:
                yield data[start:end].decode()
            start = end + len(separator)
