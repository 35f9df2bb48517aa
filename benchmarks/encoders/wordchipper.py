"""wordchipper: lexers of its own, Rust; robust where one pre-token is very long."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import wordchipper

from benchmarks.job import Job
from benchmarks.vocabulary import RANKS

DISTRIBUTION = "wordchipper"

_NAMES = {"gpt2": "r50k_base", "cl100k": "cl100k_base", "o200k": "o200k_base"}


class Tokenizer:
    """Its accelerated lexers, which are not its default.

    It takes no files, but downloads those of its encodings into a cache, where we put ours. An empty file there, which
    a download that fails leaves, it takes for a vocabulary of bytes: another reason to compare ids first.
    """

    entry_points = {
        "encode_one": "encode, with accelerated lexers",
        "encode_lists": "encode of each text, with accelerated lexers; with threads encode_batch, parallel",
        "decode": "decode_batch",
    }

    def __init__(self, job: Job) -> None:
        name = _NAMES[job.pattern]
        options = wordchipper.TokenizerOptions.default()
        options.set_accelerated_lexers(True)
        options.set_parallel(job.threads > 1)
        with tempfile.TemporaryDirectory() as cache:
            folder = Path(cache, "openai", name)
            folder.mkdir(parents=True)
            shutil.copy(Path(job.vocabulary, RANKS), folder / f"{name}.tiktoken")
            os.environ["WORDCHIPPER_CACHE_DIR"] = cache
            self.tokenizer = wordchipper.Tokenizer.from_pretrained(name, options)
        self.threads = job.threads
        self.encode_one = self.tokenizer.encode

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        if self.threads == 1:
            return [self.tokenizer.encode(text) for text in texts]
        return self.tokenizer.encode_batch(texts)

    def decode(self, sequences: list[list[int]]) -> list[str]:
        return self.tokenizer.decode_batch(sequences)
