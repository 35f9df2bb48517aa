"""transformers: its own tokenizer of GPT-2, or what it makes of another `tokenizer.json`."""

from __future__ import annotations

from pathlib import Path

from transformers import GPT2Tokenizer, PreTrainedTokenizerFast

from benchmarks.job import Job
from benchmarks.vocabulary import MERGES, TOKENIZER, VOCAB

DISTRIBUTION = "transformers"


class Tokenizer:
    """A call on all texts, as everybody does it: the attention masks are made too."""

    entry_points = {
        "encode_one": "encode",
        "encode_lists": "a call on all texts; attention masks are made too",
        "decode": "batch_decode",
    }

    def __init__(self, job: Job) -> None:
        folder = Path(job.vocabulary)
        if job.pattern == "gpt2":
            self.tokenizer = GPT2Tokenizer(str(folder / VOCAB), str(folder / MERGES))
        else:
            self.tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / TOKENIZER))
        self.encode_one = self.tokenizer.encode

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        ids: list[list[int]] = self.tokenizer(texts)["input_ids"]
        return ids

    def decode(self, sequences: list[list[int]]) -> list[str]:
        texts: list[str] = self.tokenizer.batch_decode(sequences)
        return texts
