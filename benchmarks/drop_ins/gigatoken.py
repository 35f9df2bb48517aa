"""gigatoken: a class of its own with the calls of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gigatoken

from benchmarks.job import Job
from benchmarks.vocabulary import TOKENIZER

DISTRIBUTION = "gigatoken"
entry_point = "Tokenizer of tokenizer.json, which it needs, and as_hf; ids in arrays and tensors then made int64"


def load(job: Job) -> Any:
    return gigatoken.Tokenizer(Path(job.vocabulary, TOKENIZER)).as_hf()


def finish(result: Any) -> Any:
    if isinstance(result, dict) and hasattr(result["input_ids"], "dtype"):
        ids = result["input_ids"]  # uint32 of numpy, or int32 of torch
        result["input_ids"] = ids.long() if hasattr(ids, "long") else ids.astype("int64")
    return result
