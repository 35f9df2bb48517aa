"""The native core, if it was built and is not switched off.

The environment variable `HF_BPE_ENGINE` selects `native` or `reference`, the plain Python of `hf_bpe.reference`; if it
is not set, the native core is used where it is built. The reference gives the same results for what it does: train,
encode, decode, load, save and convert. All else needs the core.
"""

from __future__ import annotations

import functools
import importlib
import os
import warnings
from types import ModuleType


@functools.cache
def native_core() -> ModuleType | None:
    """Return the native core, or None to use the Python engine; warn once if the native core is missing.

    Raises:
        ImportError: the native core is requested but not built.
        ValueError: HF_BPE_ENGINE is not the name of an engine.
    """
    choice = os.environ.get("HF_BPE_ENGINE", "")
    if choice not in ("", "native", "reference"):
        raise ValueError(f"HF_BPE_ENGINE: expected native or reference, got {choice!r}")
    if choice == "reference":
        return None
    try:
        return importlib.import_module("hf_bpe._native")
    except ImportError as error:
        if choice == "native":
            raise ImportError("HF_BPE_ENGINE is native, but the native core of hf_bpe is not built") from error
        warnings.warn(
            f"the native core of hf_bpe is not built ({error}). Plain Python trains, encodes, decodes, loads, saves "
            "and converts with the same results, many times slower; all else needs the core. Reinstall hf_bpe with a "
            "C++20 compiler or a network, or set HF_BPE_ENGINE=reference to silence this warning",
            RuntimeWarning,
            stacklevel=3,
        )
        return None


class NoCoreError(RuntimeError):
    """There is no native core, for something that only it does."""


def require_core(what: str) -> ModuleType:
    """Return the native core, for something that only it does.

    Args:
        what: its name, in the plural.

    Raises:
        NoCoreError: there is no native core.
    """
    native = native_core()
    if native is None:
        why = "is switched off by HF_BPE_ENGINE" if os.environ.get("HF_BPE_ENGINE") else "is not built"
        raise NoCoreError(
            f"{what} need the native core of hf_bpe, which {why}; without it, hf_bpe trains, encodes, decodes, loads, "
            "saves and converts only"
        )
    return native
