"""Token files equal those of each trainer's own writer for the same ids, and its own reader reads them.

The tests do not require the packages: pip install --no-deps megatron-core datatrove mosaicml-streaming humanize.
"""

import json
import warnings

import numpy as np
import pytest

from support.token_files import write_jsonl

TEXTS = ["low lower lowest", "newest 你好 widest\n", "low", "the rest of the low " * 40]


def imported(name):
    """Import a module, or skip the test: some of these packages fail in many ways where a dependency is missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return __import__(name, fromlist=["x"])
        except Exception as error:
            pytest.skip(f"{name} cannot be imported: {error}")


@pytest.fixture(scope="module")
def rows(tokenizer):
    return [[*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id] for text in TEXTS]


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", TEXTS)


def test_megatron(tokenizer, rows, source, tmp_path):
    megatron = imported("megatron.core.datasets.indexed_dataset")
    tokenizer.encode_files(source, tmp_path / "ours", format="megatron")
    dtype = megatron.DType.optimal_dtype(len(tokenizer))
    builder = megatron.IndexedDatasetBuilder(str(tmp_path / "theirs.bin"), dtype=dtype)
    for row in rows:
        builder.add_document(row, [len(row)])
    builder.finalize(str(tmp_path / "theirs.idx"))
    for suffix in (".bin", ".idx"):
        assert (tmp_path / f"ours{suffix}").read_bytes() == (tmp_path / f"theirs{suffix}").read_bytes()
    dataset = megatron.IndexedDataset(str(tmp_path / "ours"))
    assert [dataset[number].tolist() for number in range(len(dataset))] == rows


def test_datatrove(tokenizer, rows, source, tmp_path):
    tokens = imported("datatrove.pipeline.tokens.tokenizer")
    tokenizer.encode_files(source, tmp_path / "ours", format="datatrove")
    file = tokens.TokenizedFile(str(tmp_path), "theirs.ds", save_final_metadata=True, token_size=2)
    for row in rows:
        file.write(row, None)
    file.close()
    for suffix in ("", ".index", ".metadata"):
        assert (tmp_path / f"ours.ds{suffix}").read_bytes() == (tmp_path / f"theirs.ds{suffix}").read_bytes()
    dataset = imported("datatrove.utils.dataset").DatatroveFileDataset(
        str(tmp_path / "ours.ds"), seq_len=7, token_size=2
    )
    stream = [token for row in rows for token in row]
    expected = [stream[at : at + 8] for at in range(0, len(stream) - 7, 8)]
    assert [dataset[at]["input_ids"].tolist() for at in range(len(dataset))] == expected


def test_datatrove_metadata_in_words():
    from hf_bpe.token_files._formats.datatrove import in_words

    for tokens in (0, 1, 999, 1000, 1234, 99_999, 12_345_678, 5 * 10**9, 3 * 10**12):
        assert in_words(tokens) == imported("humanize").metric(tokens, unit="T"), tokens


def test_mds(tokenizer, rows, source, tmp_path):
    streaming = imported("streaming")
    options = {"pack": 16, "pack_across": False}
    tokenizer.encode_files(source, tmp_path / "ours", format="mds", **options)
    samples = [row[at : at + 16] for row in rows for at in range(0, len(row), 16)]
    with streaming.MDSWriter(
        out=str(tmp_path / "theirs"), columns={"tokens": "ndarray:uint32"}, size_limit=None
    ) as out:
        for sample in samples:
            out.write({"tokens": np.array(sample, np.uint32)})
    for name in ("shard.00000.mds", "index.json"):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes()
    index = json.loads((tmp_path / "ours" / "index.json").read_text())
    reader = streaming.base.format.reader_from_json(str(tmp_path / "ours"), "", index["shards"][0])
    assert [sample["tokens"].tolist() for sample in reader] == samples


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_datasets(tokenizer, rows, source, tmp_path, format):
    datasets = imported("datasets")
    written = tokenizer.encode_files(source, tmp_path / "ours", format=format)
    if format == "arrow":
        dataset = datasets.Dataset.from_file(str(written.ids))
    else:
        dataset = datasets.Dataset.from_parquet(str(written.ids), cache_dir=str(tmp_path / "cache"))
    assert dataset["input_ids"][:] == rows
