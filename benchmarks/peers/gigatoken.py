"""gigatoken: SIMD splitting, Rust."""

from __future__ import annotations

import gigatoken
from gigatoken.gigatoken_rs import pretokenized_counts

from benchmarks.job import SEPARATOR, Job, read_documents

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


class Splitting:
    """`pretokenized_counts`: its splitter cannot be called alone.

    The other entry point, the iterator `pretokenizer`, hands each pre-token to Python and takes twice the time.
    """

    entry_point = "bytes of all documents; the pre-tokens are counted too, a list of the distinct ones comes back"

    def __init__(self, job: Job) -> None:
        self.data = SEPARATOR.join(read_documents(job.files)).encode()

    def run(self) -> None:
        self.total = sum(count for _, count in pretokenized_counts(self.data, SEPARATOR.encode()))

    def outcome(self) -> int:
        return self.total
