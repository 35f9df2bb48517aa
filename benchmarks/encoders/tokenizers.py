"""tokenizers, Hugging Face's own."""

from __future__ import annotations

from pathlib import Path

import tokenizers

from benchmarks.job import Job
from benchmarks.vocabulary import TOKENIZER

DISTRIBUTION = "tokenizers"


class Tokenizer:
    """`encode_batch_fast`, which computes no offsets. How many threads it takes is said in the environment."""

    entry_points = {
        "encode_one": "encode, and ids of its Encoding",
        "encode_lists": "encode_batch_fast, and ids of each Encoding",
        "decode": "decode_batch",
    }

    def __init__(self, job: Job) -> None:
        self.tokenizer = tokenizers.Tokenizer.from_file(str(Path(job.vocabulary, TOKENIZER)))

    def encode_one(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    def decode(self, sequences: list[list[int]]) -> list[str]:
        return self.tokenizer.decode_batch(sequences, skip_special_tokens=False)
