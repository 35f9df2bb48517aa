"""transformers: its own tokenizer of GPT-2, a face on that of tokenizers."""

from __future__ import annotations

from typing import Any

from transformers import GPT2Tokenizer

from benchmarks.calls import folder
from benchmarks.job import Job

DISTRIBUTION = "transformers"
entry_point = "GPT2Tokenizer.from_pretrained"


def load(job: Job) -> Any:
    return GPT2Tokenizer.from_pretrained(folder(job))
