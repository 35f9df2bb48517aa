"""The native core, if it was built and is not switched off.

The environment variable `HF_BPE_ENGINE` selects `native` or `reference`, the plain Python of `hf_bpe.reference`; if it
is not set, the native core is used where it is built. The reference gives the same results for what it does: train,
encode, decode, load, save and convert. All else needs the core.
"""

from __future__ import annotations

import functools
import importlib
import os
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

from hf_bpe._utils.messages import warn_caller


@functools.cache
def native_core() -> ModuleType | None:
    """Return the native core, or None to use the reference; warn once if the native core is missing."""
    choice = os.environ.get("HF_BPE_ENGINE", "")
    if choice not in ("", "native", "reference"):
        raise ValueError(f"HF_BPE_ENGINE: expected native or reference, got {choice!r}")
    if choice == "reference":
        return None
    try:
        return importlib.import_module("hf_bpe._native")
    except ImportError as error:
        if choice == "native":
            raise ImportError(f"HF_BPE_ENGINE is native, but {_missing_core(error)}") from error
        warn_caller(
            f"{_missing_core(error)}, or set HF_BPE_ENGINE=reference to silence this warning. Plain Python trains, "
            "encodes, decodes, loads, saves and converts with the same results, many times slower; all else needs the "
            "core",
            RuntimeWarning,
        )
        return None


def _missing_core(error: ImportError) -> str:
    """Return why there is no core, and how to get it."""
    sources, installed = Path(__file__).resolve().parent, _installed_package()
    if installed is not None and installed != sources:
        return (
            f"Python has imported hf_bpe from its sources in {sources.parent}, which have no native core, and not the "
            f"package that is installed in {installed.parent}: it looks in the current folder first. Start Python in "
            "another folder, or run pip install -e . in this one"
        )
    return f"the native core of hf_bpe is not built ({error}). Reinstall hf_bpe with a C++20 compiler or a network"


def _installed_package() -> Path | None:
    """Return the folder of the package that pip has installed with a core, or None if there is none."""
    import importlib.metadata  # slow, and only for a message

    try:
        location = importlib.metadata.distribution("hf_bpe").locate_file("hf_bpe")
    except importlib.metadata.PackageNotFoundError:
        return None
    package = Path(str(location)).resolve()
    if not (package / "__init__.py").exists():  # of an editable install, whose package is its sources
        return None
    return package if any((package / f"_native{suffix}").exists() for suffix in EXTENSION_SUFFIXES) else None


class NoCoreError(RuntimeError):
    """There is no native core, for something that only it does."""


def require_core(what: str) -> ModuleType:
    """Return the native core for something that only it does, whose plural is `what`."""
    native = native_core()
    if native is None:
        why = "is switched off by HF_BPE_ENGINE" if os.environ.get("HF_BPE_ENGINE") else "is not built"
        raise NoCoreError(
            f"{what} need the native core of hf_bpe, which {why}; without it, hf_bpe trains, encodes, decodes, loads, "
            "saves and converts only"
        )
    return native
