"""tiktoken, with the rank file and the expression of its own encodings, so that it needs no network."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy  # noqa: F401 - before the work, as encode_to_numpy imports it when it is called
import tiktoken

from benchmarks.job import SEPARATOR, Job
from benchmarks.vocabulary import PATTERNS, RANKS, read_ranks

DISTRIBUTION = "tiktoken"

# As in tiktoken_ext.openai_public: possessive where it makes no difference, which its engine is faster with.
_PATTERNS = {
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""",
    "cl100k": (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"""
        r"""|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
    ),
    "o200k": PATTERNS["o200k"],
}
_PATTERNS["llama3"] = _PATTERNS["cl100k"]  # which cuts alike


class Tokenizer:
    """The `ordinary` methods, which find no special tokens. Its batches use threads, so one thread uses a loop."""

    entry_points = {
        "encode_one": "encode_ordinary",
        "encode_lists": "encode_ordinary of each text; with threads encode_ordinary_batch",
        "encode_numpy": "encode_to_numpy of each text, looking for no special tokens; with threads from a pool of them",
        "decode": "decode of each list; with threads decode_batch",
    }

    def __init__(self, job: Job) -> None:
        self.encoding = tiktoken.Encoding(
            job.pattern,
            pat_str=_PATTERNS[job.pattern],
            mergeable_ranks=read_ranks(Path(job.vocabulary, RANKS)),
            special_tokens={SEPARATOR: job.separator_id},
        )
        self.threads = job.threads
        self.encode_one = self.encoding.encode_ordinary

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        if self.threads == 1:
            return [self.encoding.encode_ordinary(text) for text in texts]
        return self.encoding.encode_ordinary_batch(texts, num_threads=self.threads)

    def encode_numpy(self, texts: list[str]) -> Any:
        if self.threads == 1:
            return [self._array(text) for text in texts]
        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(self._array, texts))

    def _array(self, text: str) -> Any:
        return self.encoding.encode_to_numpy(text, disallowed_special=())

    def sequences(self, encoded: Any) -> Any:
        return encoded

    def decode(self, sequences: list[list[int]]) -> list[str]:
        if self.threads == 1:
            return [self.encoding.decode(ids) for ids in sequences]
        return self.encoding.decode_batch(sequences, num_threads=self.threads)
