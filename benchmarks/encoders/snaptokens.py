"""snaptokens: loads `tokenizer.json`, Rust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import snaptokens

from benchmarks.encoders import _flat
from benchmarks.job import Job
from benchmarks.vocabulary import TOKENIZER

DISTRIBUTION = "snaptokens"


class Tokenizer:
    """Its batches, of as many threads as the environment says."""

    entry_points = {
        "encode_one": "encode, and ids of its Encoding",
        "encode_lists": "encode_batch, and ids of each Encoding",
        "encode_numpy": "encode_batch_flat: ids and offsets as bytes, and frombuffer",
        "decode": "decode_batch",
    }

    def __init__(self, job: Job) -> None:
        self.tokenizer = snaptokens.Tokenizer.from_file(str(Path(job.vocabulary, TOKENIZER)))

    def encode_one(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]

    def encode_numpy(self, texts: list[str]) -> Any:
        ids, offsets = self.tokenizer.encode_batch_flat(texts)
        return numpy.frombuffer(ids, numpy.uint32), numpy.frombuffer(offsets, numpy.uint64)

    def sequences(self, encoded: Any) -> list[Any]:
        return _flat.split(*encoded)

    def decode(self, sequences: list[list[int]]) -> list[str]:
        texts: list[str] = self.tokenizer.decode_batch(sequences, skip_special_tokens=False)
        return texts
