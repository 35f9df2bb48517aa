"""hf_bpe, as it is installed: with its native engine where that was built, else in Python."""

from __future__ import annotations

from typing import Any

from benchmarks.calls import folder
from benchmarks.job import Job
from hf_bpe import BPETokenizer
from hf_bpe._native_core import native_core

DISTRIBUTION = "hf_bpe"
ENGINE = "Python" if native_core() is None else "native"
entry_point = "BPETokenizer.from_pretrained"


def load(job: Job) -> Any:
    return BPETokenizer.from_pretrained(folder(job))
