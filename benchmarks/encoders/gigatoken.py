"""gigatoken: SIMD splitting and a cache of words, Rust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gigatoken

from benchmarks.encoders import _flat
from benchmarks.job import SEPARATOR, Job
from benchmarks.vocabulary import RANKS, TOKENIZER

DISTRIBUTION = "gigatoken"


class Tokenizer:
    """Its batches, with the parallel option. Loaded from the rank file; from `tokenizer.json` it is no faster."""

    entry_points = {
        "encode_one": "encode, and tolist of its array",
        "encode_lists": "encode_batch_list",
        "encode_numpy": "encode_batch: an array of awkward, which is one of numpy and offsets",
        "decode": "decode of each list, and decode of its bytes",
    }

    def __init__(self, job: Job) -> None:
        folder = Path(job.vocabulary)
        if job.pattern in ("llama3", "characters"):  # it takes ranks for merges only
            self.tokenizer = gigatoken.Tokenizer.from_json((folder / TOKENIZER).read_bytes())
        else:
            special = {SEPARATOR: job.separator_id}
            self.tokenizer = gigatoken.Tokenizer.from_tiktoken(folder / RANKS, job.pattern, special)
        self.parallel = job.threads > 1
        self.encode = self.tokenizer.backend.encode  # without a frame of its Python between

    def encode_one(self, text: str) -> list[int]:
        ids: list[int] = self.encode(text).tolist()
        return ids

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer.encode_batch_list(texts, parallel=self.parallel)

    def encode_numpy(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, parallel=self.parallel)

    def sequences(self, encoded: Any) -> list[Any]:
        return _flat.split(encoded.layout.content.data, encoded.layout.offsets.data)

    def decode(self, sequences: list[list[int]]) -> list[str]:
        return [self.tokenizer.decode(ids).decode(errors="replace") for ids in sequences]
