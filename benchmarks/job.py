"""The work of one run: the same words for the process that starts it and the process that does it."""

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
        task: the name of a subcommand, such as "training".
        peer: the module of the peer, as `benchmarks.peers.load` takes it.
        files: absolute paths of UTF-8 text, documents separated by SEPARATOR.
        threads: how many the peer may use, and how many cores it gets.
        ties: training only: how the peer is to order pairs of equal count; None for its first way.
        vocab_size: training only: bytes, SEPARATOR and merges.
        vocabulary: all but training: a folder made by `benchmarks.vocabulary.prepare`.
        pattern: the kind of the vocabulary, of `benchmarks.vocabulary.PATTERNS`.
        separator_id: the id of SEPARATOR in the vocabulary.
        into: encoding only: what the ids are to come in, "lists" or "numpy".
        rounds: encoding and decoding: how many slices of the text are timed, one a round.
        round: which round this is. 0 is the run before them: it does all the text, to be compared.
        warm: encoding only: do the same slice once untimed before it is timed.
        case: encoding only: which of `benchmarks.tasks.FIRST`; "" for none of them.
        size: encoding only: how many bytes of each text; 0 for the usual 1 to 9 kB.
        calls: latency only: how many calls.
    """

    task: str
    peer: str
    files: tuple[str, ...]
    threads: int = 1
    ties: str | None = None
    vocab_size: int = 0
    vocabulary: str = ""
    pattern: str = "gpt2"
    separator_id: int = 0
    into: str | None = None
    rounds: int = 1
    round: int = 0
    warm: bool = False
    case: str = ""
    size: int = 0
    calls: int = 1

    @property
    def contender(self) -> str:
        """The name under which results are kept: the peer and, where it was chosen, its way with ties or ids."""
        way = self.ties or self.into
        return self.peer if way is None else f"{self.peer}:{way}"

    @property
    def subject(self) -> str:
        """What is worked on, where each file or case is a measurement of its own; results are compared within one."""
        name = f"{Path(self.files[0]).stem}, {self.case}".removesuffix(", ")
        return name if self.task in ("encoding", "decoding") else ""


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
