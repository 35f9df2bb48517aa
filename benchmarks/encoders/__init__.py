"""The peers that encode: one module each, which imports the library and names its fastest correct entry points.

A module says in DISTRIBUTION which installed package it measures, and has a class `Tokenizer`. The tasks themselves, in
`benchmarks.tasks`, are the same for all. Training is apart, in `benchmarks.peers`, so that neither has the imports of
the other in its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from benchmarks.job import Job


class Tokenizer(Protocol):
    """One peer: a method for each task that it can do."""

    entry_points: Mapping[str, str]
    """Name of a method → what in the library it calls, for the readers of results."""

    encode_one: Callable[[str], list[int]]
    """One text to a list of ids. An attribute, so that the library's own function is called without a frame of ours."""

    def __init__(self, job: Job) -> None:
        """Load the vocabulary from whichever file in `job.vocabulary` the peer takes. Not timed."""

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        """Return a list of ids for each text."""

    def encode_numpy(self, texts: list[str]) -> Any:
        """Return the ids of all texts as the library's own arrays of numpy, whatever their arrangement."""

    def sequences(self, encoded: Any) -> Iterable[Sequence[int]]:
        """Return what `encode_numpy` gave as one sequence of ids a text. Not timed."""

    def decode(self, sequences: list[list[int]]) -> list[str]:
        """Return the texts of lists of ids; bytes that are not UTF-8 are replaced."""
