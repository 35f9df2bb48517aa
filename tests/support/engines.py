"""Selection of the engine in this process."""

import contextlib

import pytest

from hf_bpe._native_core import native_core


@contextlib.contextmanager
def use_engine(name):
    """Run the body with "native" or "reference", as `HF_BPE_ENGINE` selects it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_BPE_ENGINE", name)
        native_core.cache_clear()
        try:
            yield name
        finally:
            native_core.cache_clear()
