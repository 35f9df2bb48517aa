"""The entry points of servers, which they call in every process that they start."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_bpe.encoding._sessions.prefix_cache import PrefixCache

_SGLANG = "sglang.srt.utils.hf_transformers.tokenizer.get_tokenizer"


def register() -> None:
    """Make AutoTokenizer load BPETokenizer, and accelerate other tokenizers if `HF_BPE_ACCELERATE` is 1.

    The first happens because hf_bpe is imported. This is the entry point of vLLM, `vllm.general_plugins`. If
    `HF_BPE_PREFIX_CACHE` is set, too, such as to 256MB, all tokenizers of the process share a prefix cache of that
    size.

    Raises:
        ValueError: an environment variable has another value, or `HF_BPE_PREFIX_CACHE` is set alone.
    """
    if _is_acceleration_requested():
        from hf_bpe.fast._accelerated import patch_transformers  # imports transformers

        patch_transformers(prefix_cache=_cache_of_process(os.environ.get("HF_BPE_PREFIX_CACHE")))


def register_with_sglang() -> None:
    """Do what `register` does, and accelerate what SGLang's `get_tokenizer` returns; it is `sglang.srt.plugins`.

    SGLang loads a tokenizer for which AutoTokenizer returns `TokenizersBackend` again, without AutoTokenizer.
    """
    register()
    if _is_acceleration_requested():
        from sglang.srt.plugins.hook_registry import HookRegistry, HookType  # type: ignore[import-not-found]

        HookRegistry.register(_SGLANG, _accelerated, HookType.AFTER)


def _is_acceleration_requested() -> bool:
    value = os.environ.get("HF_BPE_ACCELERATE", "") or "0"
    if value not in ("0", "1"):
        raise ValueError(f"HF_BPE_ACCELERATE: expected 0 or 1, got {value!r}")
    if value == "0" and os.environ.get("HF_BPE_PREFIX_CACHE"):
        raise ValueError("HF_BPE_PREFIX_CACHE: is only for accelerated tokenizers; set HF_BPE_ACCELERATE to 1, too")
    return value == "1"


@functools.lru_cache(maxsize=1)
def _cache_of_process(size: str | None) -> PrefixCache | None:
    if not size:
        return None
    from hf_bpe.encoding._sessions.prefix_cache import PrefixCache

    try:
        return PrefixCache(size)
    except ValueError as error:
        raise ValueError(str(error).replace("prefix_cache", "HF_BPE_PREFIX_CACHE", 1)) from None


def _accelerated(tokenizer: object, *_: object, **__: object) -> object:
    from hf_bpe.fast._accelerated import accelerated_if_possible

    return accelerated_if_possible(tokenizer, _cache_of_process(os.environ.get("HF_BPE_PREFIX_CACHE")))
