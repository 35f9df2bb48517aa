"""Tasks with a tokenizer, the same for every peer of `benchmarks.encoders`.

A task is named as its subcommand. What is done when it is made is not timed; `run` is. See `benchmarks.peers.Task`.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any

from benchmarks.encoders import Tokenizer
from benchmarks.job import Job
from benchmarks.slices import read_slices

GREETING = "Hello world"
FIRST = {"first 4 kB": slice(0, 1), "next 1 MB": slice(1, 251)}
"""Case of first texts → which of them, of 4 kB each, are timed; those before them are encoded untimed."""


class _Slice:
    """The texts of one run, and those to warm up with: the first slice, which no round times.

    The run before all rounds has all texts and nothing to warm up with.
    """

    def __init__(self, job: Job) -> None:
        slices = read_slices(job.files, job.rounds + 1, job.size)
        chosen = slices[job.round] if job.round else {name: text for part in slices for name, text in part.items()}
        self.names = list(chosen)
        self.texts = list(chosen.values())
        before = slices[job.round if job.warm else 0] if job.round else {}
        self.before = list(before.values())
        self.bytes = sum(len(text.encode()) for text in self.texts)


class _FirstTexts:
    """The first texts of a process that has loaded the tokenizer and encoded a few words.

    What is prepared when a tokenizer is first used is part of the time. The run before all rounds has all texts.
    """

    def __init__(self, job: Job) -> None:
        which = FIRST[job.case]
        slices = [[*texts.items()] for texts in read_slices(job.files, job.rounds, size=4000)]
        if min(map(len, slices)) < which.stop:
            raise ValueError(f"{job.files[0]}: too little text for {job.rounds} rounds of 1 MB; give fewer repeats")
        chosen = [slices[job.round - 1]] if job.round else slices
        self.names, texts = zip(*(named for texts in chosen for named in texts[which]), strict=True)
        self.texts = list(texts)
        self.before = [GREETING, *(text for _, text in chosen[0][: which.start])]
        self.bytes = sum(len(text.encode()) for text in self.texts)


class Encoding:
    """Texts to ids, as lists or as arrays."""

    def __init__(self, job: Job, make: type[Tokenizer]) -> None:
        self.slice = _FirstTexts(job) if job.case else _Slice(job)
        self.bytes = self.slice.bytes
        self.tokenizer = make(job)
        self.into = job.into
        method = f"encode_{job.into}"
        self.encode = _entry_point(self.tokenizer, method, job)
        self.entry_point = self.tokenizer.entry_points[method]
        if self.slice.before:
            self.encode(self.slice.before)

    def run(self) -> None:
        self.encoded = self.encode(self.slice.texts)

    def outcome(self) -> dict[str, str]:
        sequences = self.encoded if self.into == "lists" else self.tokenizer.sequences(self.encoded)
        return {name: digest(ids) for name, ids in zip(self.slice.names, sequences, strict=True)}


class Decoding:
    """Lists of ids, which the peer has made itself, to texts."""

    def __init__(self, job: Job, make: type[Tokenizer]) -> None:
        self.slice = _Slice(job)
        self.bytes = self.slice.bytes
        tokenizer = make(job)
        self.decode = _entry_point(tokenizer, "decode", job)
        self.entry_point = tokenizer.entry_points["decode"]
        self.ids = tokenizer.encode_lists(self.slice.texts)
        if self.slice.before:
            self.decode(tokenizer.encode_lists(self.slice.before))

    def run(self) -> None:
        self.decoded = self.decode(self.ids)

    def outcome(self) -> dict[str, str]:
        parts = zip(self.slice.names, self.ids, self.decoded, strict=True)
        return {name: f"{digest(ids)} {hashlib.blake2b(text.encode()).hexdigest()[:16]}" for name, ids, text in parts}


class Latency:
    """Many calls on a few words, one after the other. The loop is part of the time: some 0.02 microseconds a call."""

    def __init__(self, job: Job, make: type[Tokenizer]) -> None:
        tokenizer = make(job)
        self.encode = _entry_point(tokenizer, "encode_one", job)
        self.entry_point = tokenizer.entry_points["encode_one"]
        self.calls = job.calls
        for _ in range(1000):
            self.encode(GREETING)

    def run(self) -> None:
        encode = self.encode
        for _ in repeat(None, self.calls):
            encode(GREETING)

    def outcome(self) -> dict[str, str]:
        return {GREETING: digest(self.encode(GREETING))}


def digest(ids: Sequence[int]) -> str:
    """Return a few characters that say whether ids are the same: all ids of many peers are too much to keep."""
    numbers = ids.tolist() if hasattr(ids, "tolist") else ids
    return hashlib.blake2b(array("I", numbers).tobytes(), digest_size=8).hexdigest()


def _entry_point(tokenizer: Tokenizer, method: str, job: Job) -> Callable[[Any], Any]:
    entry_point: Callable[[Any], Any] | None = getattr(tokenizer, method, None)
    if entry_point is None:
        raise ValueError(f"{job.peer} has no entry point for {job.task}: {method}")
    return entry_point
