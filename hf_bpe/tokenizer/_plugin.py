"""The entry point `vllm.general_plugins`, which vLLM calls in every process that it starts."""

from __future__ import annotations

import os


def register() -> None:
    """Make AutoTokenizer load BPETokenizer, and accelerate other tokenizers if `HF_BPE_ACCELERATE` is 1.

    The first happens because hf_bpe is imported.

    Raises:
        ValueError: the environment variable has another value than 0 and 1.
    """
    value = os.environ.get("HF_BPE_ACCELERATE", "") or "0"
    if value not in ("0", "1"):
        raise ValueError(f"HF_BPE_ACCELERATE: expected 0 or 1, got {value!r}")
    if value == "1":
        from hf_bpe.tokenizer._accelerate import patch_transformers  # imports transformers

        patch_transformers()
