"""The example of a stage of NeMo Curator adds the ids that the tokenizer gives."""

import importlib.util
import sys

import pytest

from hf_bpe import BPETokenizer
from support.models.corpora import END
from support.project import ROOT

pytest.importorskip("nemo_curator", reason="NeMo Curator is not installed: pip install nemo-curator")
pa = pytest.importorskip("pyarrow")

EXAMPLE = ROOT / "examples" / "encode_in_nemo_curator.py"
TEXTS = ["low\nlower", f"low{END}lower", "newest 你好"]


@pytest.fixture
def tokenizer(tmp_path):
    tokenizer = BPETokenizer.train(["low lower lowest newest"], num_merges=10, special_tokens=[END])
    tokenizer.save_pretrained(tmp_path / "tok")
    return tokenizer


def expected(tokenizer, text):
    return [*tokenizer.encode(text, split_special_tokens=True), tokenizer.eos_token_id]


def test_stage_adds_ids_to_a_batch(tokenizer, tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("encode_in_nemo_curator", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, example)
    spec.loader.exec_module(example)
    stage = example.Encode(str(tmp_path / "tok"), END)
    stage.setup()
    table = pa.table({"text": TEXTS, "url": ["a", "b", "c"]})
    for data in (table, table.to_pandas()):
        [batch] = stage.process_batch([example.DocumentBatch(dataset_name="c", data=data, _metadata={"a": 1})])
        assert batch.get_columns() == ["text", "url", "input_ids"]
        assert batch.data["input_ids"].to_pylist() == [expected(tokenizer, text) for text in TEXTS]
        assert (batch.dataset_name, batch._metadata) == ("c", {"a": 1})
