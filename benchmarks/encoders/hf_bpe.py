"""hf_bpe, as it is installed: with its native engine where that was built, else in Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.encoders import _flat
from benchmarks.job import Job
from benchmarks.vocabulary import MERGES, TOKENIZER, VOCAB
from hf_bpe import BPETokenizer
from hf_bpe._native_core import native_core

DISTRIBUTION = "hf_bpe"
ENGINE = "Python" if native_core() is None else "native"


class Tokenizer:
    """The bulk API of `BPETokenizer`; loaded from GPT-2's two files, or from `tokenizer.json`."""

    entry_points = {
        "encode_one": "encode_bytes",
        "encode_lists": "encode_to_lists",
        "encode_numpy": "encode_to_numpy: all ids in one array, and offsets",
        "decode": "decode_to_texts",
    }

    def __init__(self, job: Job) -> None:
        folder = Path(job.vocabulary)
        if job.pattern == "gpt2":
            self.tokenizer = BPETokenizer(folder / VOCAB, folder / MERGES)
        else:
            self.tokenizer = BPETokenizer.convert_from(folder / TOKENIZER)
        self.threads = job.threads
        self.encode_one = self.tokenizer.encode_bytes

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        return self.tokenizer.encode_to_lists(texts, num_workers=self.threads)

    def encode_numpy(self, texts: list[str]) -> Any:
        return self.tokenizer.encode_to_numpy(texts, num_workers=self.threads)

    def sequences(self, encoded: Any) -> list[Any]:
        return _flat.split(*encoded)

    def decode(self, sequences: list[list[int]]) -> list[str]:
        return self.tokenizer.decode_to_texts(sequences)
