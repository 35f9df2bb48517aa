"""Modules under their former names work for one release, and say how they are called now."""

import importlib
import sys

import pytest

from hf_bpe import train
from hf_bpe.analysis import report

FORMER = {
    "hf_bpe.distributed": "hf_bpe.counting.on_ray",
    "hf_bpe.embeddings": "hf_bpe.editing.embeddings",
    "hf_bpe.normalizing": "hf_bpe.engine",
    "hf_bpe.patterns": "hf_bpe.core.pretokenizers",
    "hf_bpe.report": "hf_bpe.analysis",
    "hf_bpe.show": "hf_bpe.analysis",
}
RENAMED = {"Ladder": "CompressionCurve"}


@pytest.mark.parametrize("former", FORMER)
def test_former_module_exports_the_same_objects_and_warns(former):
    if former == "hf_bpe.embeddings":
        pytest.importorskip("torch")
    sys.modules.pop(former, None)
    with pytest.warns(DeprecationWarning, match=f"{former} is now {FORMER[former]}"):
        module = importlib.import_module(former)
    now = importlib.import_module(FORMER[former])
    assert module.__all__
    assert all(getattr(module, name) is getattr(now, RENAMED.get(name, name)) for name in module.__all__)


def test_former_attributes_of_a_report_give_the_same_and_warn():
    found = report(train(["low low lower lowest"], vocab_size=259), ["low lowest"])
    with pytest.warns(DeprecationWarning, match=r"Report.ladder is now Report.compression_curve"):
        assert found.ladder is found.compression_curve
    with pytest.warns(DeprecationWarning, match=r"Report.why_no_ladder is now Report.why_no_compression_curve"):
        assert found.why_no_ladder == found.why_no_compression_curve
