"""ffbpe: Rust; the one peer that can break ties in all three ways."""

from __future__ import annotations

import tempfile
from pathlib import Path

import ffbpe

from benchmarks.job import SEPARATOR, Job, read_documents
from benchmarks.peers._merges import from_printable_pairs

DISTRIBUTION = "ffbpe"

# Ways with ties → initial_alphabet and tie_break.
_TIES = {
    "raw_ids": ("raw", "smallest_pair_id"),
    "huggingface": ("byte_level", "smallest_pair_id"),
    "lexicographic": ("raw", "largest_content"),
}


class Training:
    """A native word counter handed to the trainer. Counting from a file goes through a Python dict and is slower."""

    entry_point = "an iterator of documents; reading and decoding them is timed"
    reads_documents = True
    ties = tuple(_TIES)

    def __init__(self, job: Job) -> None:
        self.job = job
        alphabet, tie_break = _TIES[job.ties or self.ties[0]]
        self.counter = ffbpe.PreTokenizer([]).word_counter()  # its default pattern is GPT-2's
        self.trainer = ffbpe.BpeTrainer([SEPARATOR], initial_alphabet=alphabet, tie_break=tie_break)

    def run(self) -> None:
        self.counter.add_source(read_documents(self.job.files))
        self.trainer.add_word_counter(self.counter)
        self.trainer.train(self.job.vocab_size)

    def outcome(self) -> list[tuple[bytes, bytes]]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "merges.txt")
            self.trainer.validate_model().save_merges_txt(path, format="gpt2")
            lines = path.read_text(encoding="utf-8").split("\n")
        return from_printable_pairs(line.partition(" => ")[0].split(" ") for line in lines if line)
