"""tokenizers, Hugging Face's own, with the settings that train GPT-2's kind of tokenizer."""

from __future__ import annotations

import json

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from benchmarks.job import SEPARATOR, Job, read_documents
from benchmarks.peers._merges import from_printable_pairs

DISTRIBUTION = "tokenizers"


class Training:
    """`train_from_iterator`. `train(files)` would split the text at line ends first, and learn other merges."""

    entry_point = "an iterator of documents; reading and decoding them is timed"
    reads_documents = True
    ties = ("huggingface",)

    def __init__(self, job: Job) -> None:
        self.job = job
        self.tokenizer = Tokenizer(models.BPE())
        self.tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.trainer = trainers.BpeTrainer(
            vocab_size=job.vocab_size,
            special_tokens=[SEPARATOR],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )

    def run(self) -> None:
        self.tokenizer.train_from_iterator(read_documents(self.job.files), self.trainer)

    def outcome(self) -> list[tuple[bytes, bytes]]:
        return from_printable_pairs(json.loads(self.tokenizer.to_str())["model"]["merges"])
