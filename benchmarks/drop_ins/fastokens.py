"""fastokens: transformers with another engine in the place of that of tokenizers."""

from __future__ import annotations

from typing import Any

import fastokens
from transformers import GPT2Tokenizer

from benchmarks.calls import folder
from benchmarks.job import Job

DISTRIBUTION = "fastokens"
entry_point = "GPT2Tokenizer.from_pretrained after patch_transformers"

fastokens.patch_transformers()


def load(job: Job) -> Any:
    return GPT2Tokenizer.from_pretrained(folder(job))
