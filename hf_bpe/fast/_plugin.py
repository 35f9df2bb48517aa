"""The entry points of servers, which they call in every process that they start."""

from __future__ import annotations

import os
from typing import Any

_SGLANG = "sglang.srt.utils.hf_transformers.tokenizer.get_tokenizer"


def register() -> None:
    """Make AutoTokenizer load BPETokenizer, and accelerate other tokenizers if `HF_BPE_ACCELERATE` is 1.

    The first happens because hf_bpe is imported. This is the entry point of vLLM, `vllm.general_plugins`.

    Raises:
        ValueError: the environment variable has another value than 0 and 1.
    """
    if _is_acceleration_requested():
        from hf_bpe.fast._accelerate import patch_transformers  # imports transformers

        patch_transformers()


def register_with_sglang() -> None:
    """Do what `register` does, and accelerate what SGLang's `get_tokenizer` returns; it is `sglang.srt.plugins`.

    SGLang loads a tokenizer for which AutoTokenizer returns `TokenizersBackend` again, without AutoTokenizer.

    Raises:
        ValueError: the environment variable has another value than 0 and 1.
    """
    register()
    if _is_acceleration_requested():
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType  # type: ignore[import-not-found]

        HookRegistry.register(_SGLANG, _accelerated, HookType.AFTER)


def _is_acceleration_requested() -> bool:
    value = os.environ.get("HF_BPE_ACCELERATE", "") or "0"
    if value not in ("0", "1"):
        raise ValueError(f"HF_BPE_ACCELERATE: expected 0 or 1, got {value!r}")
    return value == "1"


def _accelerated(tokenizer: Any, *_: Any, **__: Any) -> Any:
    from hf_bpe.fast._accelerate import accelerated_if_possible

    return accelerated_if_possible(tokenizer)
