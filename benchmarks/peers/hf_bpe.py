"""hf_bpe, as it is installed: with its native engine where that was built, else in Python."""

from __future__ import annotations

from pathlib import Path

import hf_bpe
from benchmarks.job import SEPARATOR, Job
from hf_bpe._native_core import native_core

DISTRIBUTION = "hf_bpe"
ENGINE = "Python" if native_core() is None else "native"


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
