"""What users of transformers call, the same for every peer of `benchmarks.drop_ins`.

See `benchmarks.peers.Task` for what a task is: what is done when it is made is not timed; `run` is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from benchmarks.drop_ins import DropIn
from benchmarks.job import SEPARATOR, Job
from benchmarks.slices import read_batches
from benchmarks.tasks import GREETING, digest
from benchmarks.vocabulary import TWO_FILES

WORDS = 20
WARM_UP = 3  # calls before the one that is timed: the first ones of a process wait for memory
PADDED = {"padding": True, "truncation": True, "max_length": 512}


@dataclass(frozen=True)
class Call:
    """One call that users make.

    Attributes:
        bind: tokenizer → what is called, without a frame of ours where that can be.
        argument: tokenizer and the texts of a round → what it is called with.
        is_repeated: whether it is called as often as there are texts, with the same.
    """

    bind: Callable[[Any], Callable[[Any], Any]]
    argument: Callable[[Any, list[str]], Any]
    is_repeated: bool = False


def _all(tokenizer: Any, texts: list[str]) -> list[str]:
    return texts


def _half_as_one(tokenizer: Any, texts: list[str]) -> str:
    joined = "".join(texts)
    return joined[: len(joined) // 2]


def _first_words(tokenizer: Any, texts: list[str]) -> str:
    return " ".join("".join(texts).split()[:WORDS])


def _ids(tokenizer: Any, texts: list[str]) -> list[list[int]]:
    ids: list[list[int]] = tokenizer(texts)["input_ids"]
    return ids


CALLS = {
    "list": Call(lambda tokenizer: tokenizer, _all),
    "list, padded, numpy": Call(lambda tokenizer: partial(tokenizer, return_tensors="np", **PADDED), _all),
    "list, padded, torch": Call(lambda tokenizer: partial(tokenizer, return_tensors="pt", **PADDED), _all),
    "long text": Call(lambda tokenizer: tokenizer, _half_as_one),
    "20 words": Call(lambda tokenizer: tokenizer, _first_words, is_repeated=True),
    "encode 20 words": Call(lambda tokenizer: tokenizer.encode, _first_words, is_repeated=True),
    "batch_decode": Call(lambda tokenizer: tokenizer.batch_decode, _ids),
}
LOADING = {"from_pretrained": TWO_FILES, "from_pretrained, tokenizer.json": ""}
"""Name of the case → the subfolder of the vocabulary: GPT-2's two files, or these with tokenizer.json."""

CASES = [*CALLS, *LOADING]


def make(job: Job, peer: DropIn) -> Calls | Loading:
    """Return the task of a job."""
    return Loading(job, peer) if job.case in LOADING else Calls(job, peer)


def folder(job: Job) -> Path:
    """Return the folder to load from."""
    return Path(job.vocabulary, LOADING.get(job.case, TWO_FILES))


class Calls:
    """One call, or one again and again, on the texts of a round, after some on those that no round times.

    In the run before all rounds it is done on the texts of every round, to be compared.
    """

    def __init__(self, job: Job, peer: DropIn) -> None:
        self.entry_point = peer.entry_point
        self.job = job
        self.finish: Callable[[Any], Any] = getattr(peer, "finish", lambda result: result)
        self.call = CALLS[job.case]
        self.batches = read_batches(job.files, WARM_UP + job.rounds, job.texts, job.size)
        self.tokenizer = peer.load(job)
        self.tokenizer.pad_token = SEPARATOR
        self.bound = self.call.bind(self.tokenizer)
        self.times = job.texts if self.call.is_repeated else 1

        timed = WARM_UP + job.round - 1
        before, last = [timed if job.warm else number for number in range(WARM_UP)], timed
        if not job.round:  # the run before all rounds, of all texts
            *before, last = range(WARM_UP + job.rounds)
        self.outcomes: dict[str, str] = {}
        for number in before:
            self._prepare(number)
            self.run()
            self.outcome()  # compared with the other texts, where they are not the ones that are timed
        self._prepare(last)

    def _prepare(self, number: int) -> None:
        self.number = number
        self.result: Any = None  # what came before is freed now, not while the next call is timed
        texts = self.batches[number]
        self.argument = self.call.argument(self.tokenizer, texts)
        worked_on = texts if isinstance(self.argument, list) else [self.argument]
        self.bytes = self.times * sum(len(text.encode()) for text in worked_on)

    def run(self) -> None:
        call, argument = self.bound, self.argument
        for _ in repeat(None, self.times):
            result = call(argument)
        self.result = self.finish(result)

    def outcome(self) -> dict[str, str]:
        """Return what came of each text, with the kind of list or array that it came in."""
        rows = describe(self.result)
        texts = self.argument if isinstance(self.argument, list) else [self.argument]
        if len(rows) != len(texts):
            raise ValueError(f"{self.job.peer} gives {len(rows)} rows for {len(texts)} texts")
        self.outcomes |= {f"text {index + 1} of batch {self.number}": row for index, row in enumerate(rows)}
        return self.outcomes


class Loading:
    """From the library imported to the ids of a few words."""

    def __init__(self, job: Job, peer: DropIn) -> None:
        self.job, self.peer = job, peer
        self.entry_point = peer.entry_point
        self.bytes = 0

    def run(self) -> None:
        self.result = self.peer.load(self.job)(GREETING)

    def outcome(self) -> dict[str, str]:
        (row,) = describe(self.result)
        return {GREETING: row}


def describe(result: Any) -> list[str]:
    """Return a few characters for each row of a result, equal only where all that a user gets is equal."""
    if isinstance(result, Mapping):  # BatchEncoding
        columns = [[f"{name} {row}" for row in describe(result[name])] for name in sorted(result)]
        return [", ".join(row) for row in zip(*columns, strict=True)]
    kind = type(result).__name__
    if hasattr(result, "dtype"):
        return [f"{kind} {result.dtype} {tuple(result.shape)} {digest(row)}" for row in result]
    if isinstance(result[0], str):
        return [hashlib.blake2b(text.encode(), digest_size=8).hexdigest() for text in result]
    return [f"{kind} {digest(row)}" for row in ([result] if isinstance(result[0], int) else result)]
