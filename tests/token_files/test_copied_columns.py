"""Columns that are copied from documents stand next to the ids of their documents, whatever cuts the stream."""

import json
from datetime import date, datetime
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import Source
from support.profiles import by_profile
from support.token_files import END, read_table, rows_of, set_limits, shards_of, write_jsonl

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

OPTIONS = {"format": "parquet", "copy_columns": ["id", "meta"]}


def write(path, records):
    if path.suffix == ".jsonl":
        return write_jsonl(path, records)
    columns = {name: [record[name] for record in records] for name in ("text", "id", "meta")}
    schema = pa.schema([("text", "string"), ("id", "string"), ("meta", "int64")])
    pq.write_table(pa.table(columns, schema=schema), path)
    return path


def read(written):
    return [row for path in written.files for row in read_table(path).to_pylist()]


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
    columns=st.sampled_from([["id", "meta"], []]),
)
def test_rows_have_the_values_of_their_documents(
    tokenizer, tmp_path_factory, files, kind, format, pack, shard_tokens, sizes, is_resumable, columns
):
    folder = tmp_path_factory.mktemp("columns")
    expected = []
    for record in (record for records in files for record in records):
        values = record["id"], None if record["meta"] is None else str(record["meta"])
        if record["text"]:
            ids = [*tokenizer.encode(record["text"], split_special_tokens=True), tokenizer.eos_token_id]
            expected += [(row, *values[: len(columns)]) for row in rows_of([ids], pack, across=False)]
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, piece_ids=sizes[0], read_ids=sizes[1], piece_values=sizes[2], block_bytes=sizes[3])
        written = tokenizer.encode_files(
            [write(folder / f"{number}{kind}", records) for number, records in enumerate(files)],
            folder / "out",
            format=format,
            copy_columns=columns,
            shard_tokens=shard_tokens,
            work_dir=folder / "work" if is_resumable else None,
            num_workers=1,
            **({} if pack is None else {"pack": pack, "pack_across": False}),
        )
    assert [tuple(row.values()) for row in read(written)] == expected
    assert read_table(written.ids).schema.field("input_ids").type == pa.list_(pa.uint32())
    assert len(written.files) == len(shards_of([row for row, *_ in expected], shard_tokens))
    assert json.loads(written.manifest.read_text()).get("copy_columns", []) == columns


@pytest.mark.parametrize(
    ("limit", "value", "expected"),
    [("ROWS", 3, [3, 2]), ("IDS", 4, [2, 2, 1]), ("CHARACTERS", 8, [2, 2, 1]), ("ROWS", 1000, [5])],
)
def test_groups_of_rows_are_limited(tokenizer, tmp_path, monkeypatch, limit, value, expected):
    monkeypatch.setattr(f"hf_bpe.token_files._formats.arrow._GROUP_{limit}", value)
    ids = ["four", "four", None, "more than eight", "four"]
    path = write(tmp_path / "in.jsonl", [{"text": "low", "id": each, "meta": None} for each in ids])
    written = tokenizer.encode_files(path, tmp_path / "out", **OPTIONS)
    metadata = pq.read_metadata(written.files[0])
    assert [metadata.row_group(each).num_rows for each in range(metadata.num_row_groups)] == expected
    assert [row["id"] for row in read(written)] == ids


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

    monkeypatch.setattr("hf_bpe.counting._file_formats.json", SimpleNamespace(dumps=dumps, loads=json.loads))
    with pytest.raises(ValueError, match=r"in\.jsonl: line 1: a value to copy is nested too deeply"):
        tokenizer.encode_files(path, tmp_path / "out", **OPTIONS)
    written = tokenizer.encode_files(Source(str(path), on_error="skip"), tmp_path / "out", **OPTIONS)
    assert [row["id"] for row in read(written)] == ["y"]


@pytest.mark.parametrize("kind", [".jsonl", ".parquet"])
def test_a_missing_column_is_malformed_input(tokenizer, tmp_path, kind):
    path = write(tmp_path / f"in{kind}", [{"text": "low", "id": "x", "meta": 1}])
    with pytest.raises(ValueError, match=f"in{kind}: .*'url'.*'text', 'id', 'meta'"):
        tokenizer.encode_files(path, tmp_path / "out", format="parquet", copy_columns=["url"])
