"""fastokens: caches of words per thread, Rust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastokens
import numpy

from benchmarks.encoders import _flat
from benchmarks.job import Job
from benchmarks.vocabulary import RANKS, TOKENIZER

DISTRIBUTION = "fastokens"

_ENCODINGS = {"cl100k": "cl100k_base", "o200k": "o200k_base"}


class Tokenizer:
    """`encode_ordinary` of each text with one thread: its batches, of as many as the environment says, are slower."""

    entry_points = {
        "encode_one": "encode_ordinary, and ids of its Encoding",
        "encode_lists": "encode_ordinary of each text, and ids; with threads encode_batch, and ids of each Encoding",
        "encode_numpy": "encode_batch_flat: ids and offsets as bytes, and frombuffer",
        "decode": "decode_batch",
    }

    def __init__(self, job: Job) -> None:
        folder = Path(job.vocabulary)
        if job.pattern in ("gpt2", "llama3", "characters"):
            self.tokenizer = fastokens.Tokenizer.from_file(str(folder / TOKENIZER))
        else:  # it refuses their tokenizer.json
            self.tokenizer = fastokens.Tokenizer.from_tiktoken(str(folder / RANKS), encoding=_ENCODINGS[job.pattern])
        self.threads = job.threads

    def encode_one(self, text: str) -> list[int]:
        return self.tokenizer.encode_ordinary(text).ids

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        if self.threads == 1:
            return [self.tokenizer.encode_ordinary(text).ids for text in texts]
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]

    def encode_numpy(self, texts: list[str]) -> Any:
        ids, offsets = self.tokenizer.encode_batch_flat(texts)
        return numpy.frombuffer(ids, numpy.uint32), numpy.frombuffer(offsets, numpy.uint64)

    def sequences(self, encoded: Any) -> list[Any]:
        return _flat.split(*encoded)

    def decode(self, sequences: list[list[int]]) -> list[str]:
        return self.tokenizer.decode_batch(sequences, skip_special_tokens=False)
