"""rustbpe: a small trainer in Rust for use with tiktoken."""

from __future__ import annotations

import rustbpe

from benchmarks.job import GPT2, Job, read_documents
from benchmarks.peers._merges import from_ranks

DISTRIBUTION = "rustbpe"


class Training:
    """`train_from_iterator`, which knows no special tokens: the vocabulary is smaller by one for the same merges."""

    entry_point = "an iterator of documents; reading and decoding them is timed"
    reads_documents = True
    ties = ("raw_ids",)

    def __init__(self, job: Job) -> None:
        self.job = job
        self.tokenizer = rustbpe.Tokenizer()

    def run(self) -> None:
        self.tokenizer.train_from_iterator(
            read_documents(self.job.files),
            vocab_size=self.job.vocab_size - 1,
            buffer_size=256,  # documents; its default of 8192 is no faster and holds all the text in memory
            pattern=GPT2,
        )

    def outcome(self) -> list[tuple[bytes, bytes]]:
        return from_ranks({bytes(token): rank for token, rank in self.tokenizer.get_mergeable_ranks()})
