"""quicktok: BPE by backtracking, C++. It has cl100k and others with it, but not GPT-2's vocabulary."""

from __future__ import annotations

from typing import Any

import numpy  # noqa: F401 - before the work, as encode_batch imports it when it is called
import quicktok

from benchmarks.encoders import _flat
from benchmarks.job import Job

DISTRIBUTION = "quicktok-v1"

_ENCODINGS = {"cl100k": "cl100k_base", "o200k": "o200k_base"}


class Tokenizer:
    """The encoding that it brings; that it is the one of the rank file is seen when ids are compared.

    Its own "llama3" gives other ids than Llama 3's tokenizer.json and ranks do, in text of many languages.
    """

    entry_points = {
        "encode_one": "encode_ordinary",
        "encode_lists": "encode_ordinary of each text; with threads encode_batch, and tolist of its array, cut",
        "encode_numpy": "encode_batch: all ids in one array, and offsets",
        "decode": "decode_batch",
    }

    def __init__(self, job: Job) -> None:
        if job.pattern not in _ENCODINGS:
            raise ValueError(f"quicktok has no vocabulary of {job.pattern}'s kind: expected {', '.join(_ENCODINGS)}")
        self.tokenizer = quicktok.get_encoding(_ENCODINGS[job.pattern])
        self.threads = job.threads
        self.encode_one = self.tokenizer.encode_ordinary

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        if self.threads == 1:
            return [self.tokenizer.encode_ordinary(text) for text in texts]
        ids, offsets = self.tokenizer.encode_batch(texts, self.threads)
        return _flat.split(ids.tolist(), offsets)

    def encode_numpy(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_batch(texts, self.threads)

    def sequences(self, encoded: Any) -> list[Any]:
        return _flat.split(*encoded)

    def decode(self, sequences: list[list[int]]) -> list[str]:
        texts: list[str] = self.tokenizer.decode_batch(sequences)
        return texts
