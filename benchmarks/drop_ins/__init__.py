"""The peers that are called as the tokenizers of transformers are: one module each, which says how one is loaded.

A module has what `DropIn` lists. What is called, the same for all, is in `benchmarks.calls`. Apart from
`benchmarks.encoders`, which has every peer's fastest entry points, so that neither has the imports of the other in its
memory.
"""

from __future__ import annotations

from typing import Any, Protocol

from benchmarks.job import Job


class DropIn(Protocol):
    """What the module of one peer offers. Importing it is not timed."""

    DISTRIBUTION: str
    """Which installed package is measured."""

    entry_point: str
    """How the tokenizer is had, for the readers of results."""

    def load(self, job: Job) -> Any:
        """Return a tokenizer with the calls of transformers. Timed where loading is what is measured.

        From `benchmarks.calls.folder(job)`, or from whichever file in `job.vocabulary` the peer takes.
        """

    def finish(self, result: Any) -> Any:
        """Return the result of a call as transformers gives it; left out where it is that already. Timed."""
