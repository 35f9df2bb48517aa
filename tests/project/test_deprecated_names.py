"""Modules under their former names work for one release, and say how they are called now."""

import importlib
import sys

import pytest

FORMER = {
    "hf_bpe.distributed": "hf_bpe.counting.on_ray",
    "hf_bpe.embeddings": "hf_bpe.editing.embeddings",
    "hf_bpe.normalizing": "hf_bpe.engine",
    "hf_bpe.patterns": "hf_bpe.core.pretokenizers",
    "hf_bpe.report": "hf_bpe.analysis",
    "hf_bpe.show": "hf_bpe.analysis",
}


@pytest.mark.parametrize("former", FORMER)
def test_former_module_exports_the_same_objects_and_warns(former):
    if former == "hf_bpe.embeddings":
        pytest.importorskip("torch")
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"{former} is now {FORMER[former]}"):
        module = importlib.import_module(former)
    now = importlib.import_module(FORMER[former])
    assert module.__all__
    assert all(getattr(module, name) is getattr(now, name) for name in module.__all__)
