"""The peers of training: a module each, which imports the library and says how it does a task fastest.

A peer's module says in DISTRIBUTION which installed package it measures, and has a class `Training` with the
attributes and methods of `Task`. Encoding and what follows
from it is in `benchmarks.encoders`.
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any, Protocol

from benchmarks.job import Job


class Task(Protocol):
    """The work of one peer in one run. Importing its module and making this object are not timed; `run` is."""

    entry_point: str
    """The peer's input and what, besides its work, the timed part holds; for the readers of results."""

    ties: tuple[str, ...]
    """Training only: the ways this peer can order pairs of equal count, the first its own."""

    reads_documents: bool
    """Training only, False if missing: `run` consumes `read_documents`, whose share of the time is measured apart."""

    bytes: int
    """The amount of text that `run` works on; of all files if missing."""

    def __init__(self, job: Job) -> None: ...

    def run(self) -> None:
        """Do the work, from files to the result in memory."""

    def outcome(self) -> Any:
        """Return the result for comparison: the merges as a list of pairs of bytes.

        Or name of a text → what came of it, in a few characters: then a run may give a part of what another gives.
        """


def load(job: Job) -> ModuleType:
    """Return the module of a job's peer: the one of that name in the package of the task, else any other."""
    package = __name__ if job.task == "training" else "benchmarks.encoders"
    own = f"{package}.{job.peer}"
    return importlib.import_module(own if importlib.util.find_spec(own) else job.peer)
