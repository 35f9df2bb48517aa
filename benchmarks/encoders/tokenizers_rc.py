"""tokenizers 1.0, a release candidate, in an environment of its own: transformers 5.24 requires one before 0.24.

BENCHMARKS_PYTHON_TOKENIZERS_RC names the Python of that environment.
"""

from __future__ import annotations

from typing import Any

from benchmarks.encoders import tokenizers

DISTRIBUTION = "tokenizers"


class Tokenizer(tokenizers.Tokenizer):
    """`encode_batch`, of as many threads as the environment says; ids as its Encodings give them."""

    entry_points = {
        "encode_one": "encode, and ids of its Encoding",
        "encode_lists": "encode_batch, and ids of each Encoding",
        "encode_numpy": "encode_batch, and ids_array of each Encoding",
        "decode": "decode of each list",
    }

    def encode_lists(self, texts: list[str]) -> list[list[int]]:
        return [encoding.ids for encoding in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def encode_numpy(self, texts: list[str]) -> Any:
        return [encoding.ids_array for encoding in self.tokenizer.encode_batch(texts, add_special_tokens=False)]

    def sequences(self, encoded: Any) -> Any:
        return encoded

    def decode(self, sequences: list[list[int]]) -> list[str]:
        return [self.tokenizer.decode(ids, skip_special_tokens=False) for ids in sequences]
