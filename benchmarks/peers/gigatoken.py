"""gigatoken: SIMD splitting, Rust."""

from __future__ import annotations

import gigatoken

from benchmarks.job import SEPARATOR, Job

DISTRIBUTION = "gigatoken"

_TIES = {"huggingface": "huggingface", "raw_ids": "raw_token_ids"}


class Training:
    """`train_bpe` from a `TextFileSource`: as fast as from bytes already read, and in less memory."""

    entry_point = "paths"
    ties = tuple(_TIES)

    def __init__(self, job: Job) -> None:
        self.job = job
        self.source = gigatoken.TextFileSource(list(job.files), separator=SEPARATOR)
        self.tie_breaking = _TIES[job.ties or self.ties[0]]

    def run(self) -> None:
        _, self.merges = gigatoken.train_bpe(self.source, self.job.vocab_size, [SEPARATOR], self.tie_breaking)

    def outcome(self) -> list[tuple[bytes, bytes]]:
        return self.merges
