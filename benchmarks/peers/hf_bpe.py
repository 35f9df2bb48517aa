"""hf_bpe, as it is installed: with its native engine where that was built, else in Python."""

from __future__ import annotations

from pathlib import Path

import hf_bpe
from benchmarks.job import SEPARATOR, Job, read_documents
from hf_bpe._native_core import native_core
from hf_bpe.reference import pre_tokenize

DISTRIBUTION = "hf_bpe"
NATIVE = native_core()
ENGINE = "Python" if NATIVE is None else "native"


class Training:
    """`hf_bpe.train`."""

    entry_point = "paths"
    ties = ("huggingface", "lexicographic")

    def __init__(self, job: Job) -> None:
        self.paths = [Path(file) for file in job.files]
        self.job = job

    def run(self) -> None:
        self.model = hf_bpe.train(
            self.paths,
            self.job.vocab_size,
            [SEPARATOR],
            pattern="gpt2",
            tie_break=self.job.ties or self.ties[0],  # type: ignore[arg-type]
            num_workers=self.job.threads,
        )

    def outcome(self) -> list[tuple[bytes, bytes]]:
        return self.model.merges


class Splitting:
    """The scanner of the native core alone; of the Python engine what it has."""

    entry_point = "bytes of a document; nothing but the number comes back"

    def __init__(self, job: Job) -> None:
        self.documents = [document.encode() for document in read_documents(job.files)]

    def run(self) -> None:
        if NATIVE is None:
            self.total = sum(len(pre_tokenize(document, "gpt2")) for document in self.documents)
        else:
            self.total = sum(NATIVE.count_pre_tokens(document, "gpt2") for document in self.documents)

    def outcome(self) -> int:
        return self.total
