"""Columns that are copied from documents stand next to the ids of their documents, whatever cuts the stream."""

import json
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, Source
from hf_bpe.counting import _copied_columns
from hf_bpe.token_files import _arrow as arrow
from hf_bpe.token_files import _documents as documents
from hf_bpe.token_files import _pieces as pieces
from support.commands import run
from support.profiles import by_profile
from support.token_files import rows_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

END = "<|endoftext|>"
OPTIONS = {"format": "parquet", "copy_columns": ["id", "meta"]}


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(["low lower lowest newest"], num_merges=8, special_tokens=[END])


def write(path, records):
    if path.suffix == ".parquet":
        columns = {name: [record[name] for record in records] for name in ("text", "id", "meta")}
        pq.write_table(
            pa.table(columns, schema=pa.schema([("text", "string"), ("id", "string"), ("meta", "int64")])), path
        )
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def read(written, format="parquet"):
    tables = [
        pq.read_table(f) if format == "parquet" else pa.ipc.open_stream(f.read_bytes()).read_all()
        for f in written.files
    ]
    return [row for table in tables for row in table.to_pylist()]


records = st.lists(
    st.fixed_dictionaries(
        {
            "text": st.lists(st.sampled_from(["low", " newest", END, "你"]), max_size=6).map("".join),
            "id": st.none() | st.text("aé\n", max_size=3),
            "meta": st.none() | st.integers(0, 99),
        }
    ),
    max_size=8,
).filter(lambda records: any(record["text"] for record in records))


@settings(max_examples=by_profile(quick=12, thorough=120), deadline=None)
@given(
    files=st.lists(records, min_size=1, max_size=3),
    kind=st.sampled_from([".jsonl", ".parquet"]),
    format=st.sampled_from(["parquet", "arrow"]),
    pack=st.sampled_from([None, 1, 3]),
    shard_tokens=st.sampled_from([None, 5]),
    sizes=st.tuples(st.integers(1, 30), st.integers(1, 9), st.integers(1, 40), st.integers(1, 9)),
    is_resumable=st.booleans(),
)
def test_rows_have_the_values_of_their_documents(
    tokenizer, tmp_path_factory, files, kind, format, pack, shard_tokens, sizes, is_resumable
):
    folder = tmp_path_factory.mktemp("columns")
    expected = []
    for record in (record for records in files for record in records):
        values = record["id"], None if record["meta"] is None else str(record["meta"])
        if record["text"]:
            ids = [*tokenizer.encode(record["text"], split_special_tokens=True), tokenizer.eos_token_id]
            expected += [(row, *values) for row in rows_of([ids], pack, across=False)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_MAX_IDS", sizes[0])
        patch.setattr(pieces, "_READ_IDS", sizes[1])
        patch.setattr(pieces, "_MAX_VALUES", sizes[2])
        patch.setattr(documents, "BLOCK_BYTES", sizes[3])
        written = tokenizer.encode_files(
            [write(folder / f"{number}{kind}", records) for number, records in enumerate(files)],
            folder / "out",
            format=format,
            copy_columns=["id", "meta"],
            shard_tokens=shard_tokens,
            work_dir=folder / "work" if is_resumable else None,
            num_workers=1,
            **({} if pack is None else {"pack": pack, "pack_across": False}),
        )
    assert [tuple(row.values()) for row in read(written, format)] == expected
    assert json.loads(written.manifest.read_text())["copy_columns"] == ["id", "meta"]


@pytest.mark.parametrize(("rows", "ids"), [(3, 1000), (1000, 6), (1000, 1000)])
def test_groups_of_rows_are_limited(tokenizer, tmp_path, monkeypatch, rows, ids):
    monkeypatch.setattr(arrow, "_GROUP_ROWS", rows)
    monkeypatch.setattr(arrow, "_GROUP_IDS", ids)
    path = write(tmp_path / "in.jsonl", [{"text": "low", "id": str(number), "meta": "x"} for number in range(10)])
    written = tokenizer.encode_files(path, tmp_path / "out", **OPTIONS)
    most = min(rows, -(-ids // (len(tokenizer.encode("low")) + 1)))  # a group ends with the row that fills it
    metadata = pq.ParquetFile(written.files[0]).metadata
    sizes = [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]
    assert sizes == [min(most, 10 - begin) for begin in range(0, 10, most)]
    assert [row["id"] for row in read(written)] == [str(number) for number in range(10)]


def test_copied_values_count_for_the_size_of_a_batch(tokenizer, tmp_path, monkeypatch):
    in_batches, sizes = documents._in_batches, []

    def observed(*arguments, **options):
        for batch, rows in in_batches(*arguments, **options):
            sizes.append(len(batch))
            yield batch, rows

    monkeypatch.setattr(documents, "_in_batches", observed)
    monkeypatch.setattr(documents, "BLOCK_BYTES", 300)
    path = write(tmp_path / "in.jsonl", [{"text": "low", "id": "x" * 60, "meta": None} for _ in range(5)])
    tokenizer.encode_files(path, tmp_path / "out", **OPTIONS)
    assert sizes == [2, 2, 1]


def test_other_values_become_json(tokenizer, tmp_path):
    values = [1, 0.5, True, ["é"], {"a": None}, "1", None, "\ud800"]
    path = write(tmp_path / "in.jsonl", [{"text": "low", "id": "x", "meta": value} for value in values])
    written = tokenizer.encode_files(path, tmp_path / "out", **OPTIONS)
    assert [row["meta"] for row in read(written)] == ["1", "0.5", "true", '["é"]', '{"a": null}', "1", None, "\ufffd"]


def test_dates_and_other_types_of_parquet_become_text(tokenizer, tmp_path):
    columns = {
        "text": ["low"],
        "day": [date(2026, 1, 2)],
        "time": [datetime(2026, 1, 2, 3, 4, 5)],
        "number": [Decimal("1.50")],
        "parts": [[b"a\xff", b"b"]],
        "days": [[date(2026, 1, 2)]],
    }
    pq.write_table(pa.table(columns), tmp_path / "in.parquet")
    [_, *names] = columns
    written = tokenizer.encode_files(tmp_path / "in.parquet", tmp_path / "out", format="parquet", copy_columns=names)
    expected = ["2026-01-02", "2026-01-02 03:04:05", "1.50", '["a\ufffd", "b"]', '["2026-01-02"]']
    assert [[*row.values()][1:] for row in read(written)] == [expected]


def test_values_that_cannot_be_read_are_malformed_input(tokenizer, tmp_path):
    def encode(table):
        pq.write_table(table, tmp_path / "in.parquet")
        return tokenizer.encode_files(tmp_path / "in.parquet", tmp_path / "out", format="parquet", copy_columns=["a"])

    columns = [pa.array(["low"]), pa.array(["x"]), pa.array(["y"])]
    for name in ("a", "text"):
        with pytest.raises(ValueError, match=rf"in\.parquet: expected one column '{name}', got 2; rename them"):
            encode(pa.table(columns, names=["text", "a", name]))
    unknown = pa.table({"text": ["low"], "a": pa.array([1], pa.timestamp("us", "Europe/Nowhere"))})
    with pytest.raises(ValueError, match=r"in\.parquet: a column to copy has values that cannot be read"):
        encode(unknown)


def test_a_value_that_is_nested_too_deeply_is_malformed_input(tokenizer, tmp_path, monkeypatch):
    path = write(tmp_path / "in.jsonl", [{"text": "low", "id": each, "meta": [each]} for each in "xy"])

    def dumps(value, **options):
        if value == ["x"]:
            raise RecursionError
        return json.dumps(value, **options)

    monkeypatch.setattr(_copied_columns, "json", SimpleNamespace(dumps=dumps))
    with pytest.raises(ValueError, match=r"in\.jsonl: line 1: a value to copy is nested too deeply"):
        tokenizer.encode_files(path, tmp_path / "out", **OPTIONS)
    written = tokenizer.encode_files(Source(str(path), on_error="skip"), tmp_path / "out", **OPTIONS)
    assert [row["id"] for row in read(written)] == ["y"]


def test_groups_of_rows_are_bounded_by_their_values(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow, "_GROUP_CHARACTERS", 8)
    ids = ["four", "four", None, "more than eight", "four"]
    path = write(tmp_path / "in.jsonl", [{"text": "low", "id": each, "meta": None} for each in ids])
    written = tokenizer.encode_files(path, tmp_path / "out", **OPTIONS)
    metadata = pq.read_metadata(written.files[0])
    assert [metadata.row_group(each).num_rows for each in range(metadata.num_row_groups)] == [2, 2, 1]
    assert [row["id"] for row in read(written)] == ids


def test_what_has_no_place_is_refused(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", [{"text": "low", "id": "x", "meta": 1}])
    plain = tmp_path / "a.txt"
    plain.write_text("low")

    def encode(source=path, **options):
        return tokenizer.encode_files(source, tmp_path / "out", **{**OPTIONS, **options})

    with pytest.raises(ValueError, match="copy_columns: expected a format with columns of text, 'parquet' or 'arrow'"):
        encode(format="megatron")
    with pytest.raises(
        ValueError, match="copy_columns: a packed sequence may hold several documents; give pack_across"
    ):
        encode(pack=4)
    for names in (["input_ids"], ["id", "id"]):
        with pytest.raises(ValueError, match="copy_columns: expected different names other than 'input_ids'"):
            encode(copy_columns=names)
    with pytest.raises(ValueError, match=r"copy_columns: expected sources of records .*, got the text file .*a.txt"):
        encode(source=plain)
    with pytest.raises(TypeError, match="copy_columns: expected a list of str, got 'id'"):
        encode(copy_columns="id")
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.parametrize("kind", [".jsonl", ".parquet"])
def test_a_missing_column_is_malformed_input(tokenizer, tmp_path, kind):
    path = write(tmp_path / f"in{kind}", [{"text": "low", "id": "x", "meta": 1}])
    with pytest.raises(ValueError, match=f"in{kind}: .*'url'.*'text', 'id', 'meta'"):
        tokenizer.encode_files(path, tmp_path / "out", format="parquet", copy_columns=["url"])


def test_the_command_copies_columns(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", [{"text": "low", "id": "x", "meta": 1}])
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    run(
        "encode-files",
        tmp_path / "tokenizer",
        path,
        "-o",
        tmp_path / "out.arrow",
        "--format",
        "arrow",
        "--copy-column",
        "id",
    )
    with (tmp_path / "out.arrow").open("rb") as file:
        assert pa.ipc.open_stream(file).read_all().to_pylist() == [
            {"input_ids": tokenizer.encode("low" + END), "id": "x"}
        ]
