"""A record is a document however it is read: one row, whatever its text holds."""

import gzip
import json

import numpy as np
import pytest

from hf_bpe.token_files import _documents as documents
from support.token_files import END, set_limits, write_jsonl

TEXTS = [
    "low\nlower\n\n",
    f"low{END}lower",
    END,
    f"{END}low\r\n{END}",
    "\n",
    "low\u2028low\x85\x0b\x0c\x1c",
    "",
    "你\n",
] * 5


@pytest.fixture(scope="module")
def expected(tokenizer):
    """Each text alone, with the separator as the tokenizer's last word on it."""
    return [[*tokenizer.encode(text, split_special_tokens=True), tokenizer.eos_token_id] for text in TEXTS if text]


def rows(written):
    return [part.tolist() for part in np.split(np.load(written.ids), np.load(written.offsets)[1:-1])]


def lines(ensure_ascii=True):
    return "".join(json.dumps({"text": text}, ensure_ascii=ensure_ascii) + "\n" for text in TEXTS).encode()


@pytest.mark.parametrize("ensure_ascii", [True, False])
def test_each_line_of_json_is_a_document(tokenizer, expected, tmp_path, ensure_ascii):
    (tmp_path / "a.jsonl").write_bytes(lines(ensure_ascii))
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines(ensure_ascii)))
    for name in ("a.jsonl", "b.jsonl.gz"):
        for options in ({}, {"work_dir": tmp_path / f"work-{name}"}, {"num_workers": 2}):
            written = tokenizer.encode_files(tmp_path / name, tmp_path / "out.npy", **options)
            assert rows(written) == expected
            assert written.num_documents == len(expected)


@pytest.mark.parametrize(
    ("record", "options", "sizes"),
    [
        ({"text": ""}, {"format": "npy"}, [3, 2]),
        ({"text": "low", "id": "x" * 160}, {"format": "parquet", "copy_columns": ["id"]}, [2, 2, 1]),
        ({"text": "low", "no_loss": [[0, 1]] * 3}, {"format": "parquet", "loss_mask": "no_loss"}, [1] * 5),
    ],
)
def test_batches_are_limited_by_all_that_records_hold(tokenizer, tmp_path, monkeypatch, record, options, sizes):
    pytest.importorskip("pyarrow")
    in_batches, found = documents._in_batches, []

    def observed(*arguments, **named):
        for batch in in_batches(*arguments, **named):
            found.append(len(batch[0]))
            yield batch

    monkeypatch.setattr(documents, "_in_batches", observed)
    set_limits(monkeypatch, block_bytes=300)
    path = write_jsonl(tmp_path / "in.jsonl", [record] * 5)
    tokenizer.encode_files(path, tmp_path / ("out.npy" if options["format"] == "npy" else "out"), **options)
    assert found == sizes
