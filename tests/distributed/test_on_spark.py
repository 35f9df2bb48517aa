"""What a local Spark cluster encodes and counts is what one process does, whatever workers are lost."""

import json
import os
import signal
import sys

import pytest

from hf_bpe import BPETokenizer, count
from support.corpora import END, write_corpus

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'hf_bpe[spark]', and a Java runtime")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'hf_bpe[parquet]'")
from pyspark.sql import SparkSession  # noqa: E402

from hf_bpe.distributed import _parts  # noqa: E402
from hf_bpe.distributed import spark as on_spark  # noqa: E402

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning"),
]


@pytest.fixture(scope="module")
def session():
    """A driver with two executor threads, whose Python workers are processes."""
    patched = pytest.MonkeyPatch()
    patched.setenv("PYSPARK_PYTHON", sys.executable)
    patched.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master("local[2,8]")  # a task may fail seven times
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "3")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    patched.undo()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a tokenizer and a corpus of records."""
    return write_corpus(tmp_path_factory.mktemp("files"), "ab", 300)


def rows_of(number):
    return [(None if at % 5 == 0 else f"lower {at} widest", at) for at in range(number)]


def test_frames_get_the_ids_of_their_texts(session, files):
    frame = session.createDataFrame(rows_of(500), "text string, id long").repartition(4)
    encoded = on_spark.encode(frame, files / "tok", separator=END)
    assert encoded.columns == ["text", "id", "input_ids"]
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    expected = {
        at: None if text is None else [*tokenizer.encode_to_lists([text])[0], tokenizer.eos_token_id]
        for text, at in rows_of(500)
    }
    assert {row["id"]: row["input_ids"] for row in encoded.collect()} == expected
    only = on_spark.encode(frame, files / "tok", columns=["id"], output="ids", dtype="int64")
    assert [field.simpleString() for field in only.schema] == ["id:bigint", "ids:array<bigint>"]
    assert only.count() == 500


@pytest.mark.parametrize(("partitions", "merge_tasks"), [(1, 8), (7, 2), (20, 1)])
def test_counts_are_those_of_one_process(session, partitions, merge_tasks):
    rows = rows_of(300)
    frame = session.createDataFrame(rows, "text string, id long").repartition(partitions)
    options = {"pattern": "cl100k", "special_tokens": [END]}
    counts = on_spark.count(frame, merge_tasks=merge_tasks, **options)
    assert counts == count([text for text, _ in rows if text is not None], **options)


def test_an_empty_frame_has_no_words(session):
    frame = session.createDataFrame([], "text string")
    assert len(on_spark.count(frame)) == 0


def test_token_files_are_those_of_one_process(session, files, tmp_path):
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    whole = tokenizer.encode_files(files / "in", tmp_path / "whole" / "c", format="megatron")
    merged = on_spark.encode_files(
        session, files / "tok", files / "in", tmp_path / "out" / "c", parts=7, format="megatron"
    )
    ids = b"".join(path.read_bytes() for path in merged.files if path.suffix == ".bin")
    assert ids == whole.ids.read_bytes()
    described, expected = (json.loads(each.manifest.read_text("utf-8")) for each in (merged, whole))
    del described["shards"], expected["shards"]
    assert described == expected


@pytest.mark.skipif(os.name == "nt", reason="kills processes")
def test_lost_workers_change_nothing(session, files, tmp_path):
    """Kill the worker of each part once: before it has begun, or after it has written everything."""

    class Killing(_parts.Parts):
        def encode(self, part):
            mark = tmp_path / f"killed{part}"
            is_late, is_first = part % 2, not mark.exists()
            mark.touch()
            if is_late or not is_first:
                _parts.Parts.encode(self, part)
            if is_first:
                os.kill(os.getpid(), signal.SIGKILL)

    checked = Killing.checked(
        files / "tok", files / "in", tmp_path / "out" / "c", 6, tmp_path / "work", {"format": "megatron"}
    )
    patched = pytest.MonkeyPatch()
    patched.setattr(on_spark.Parts, "checked", lambda *_: checked)
    merged = on_spark.encode_files(session, "", "", "", parts=6)
    patched.undo()
    assert len([*tmp_path.glob("killed*")]) == 6
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    whole = tokenizer.encode_files(files / "in", tmp_path / "whole" / "c", format="megatron")
    assert b"".join(path.read_bytes() for path in merged.files if path.suffix == ".bin") == whole.ids.read_bytes()


def test_wrong_options_are_refused_before_any_task(session, files):
    frame = session.createDataFrame([("low",)], "text string")
    with pytest.raises(ValueError, match="dtype: expected 'int32' or 'int64'"):
        on_spark.encode(frame, files / "tok", dtype="uint32")
    with pytest.raises(ValueError, match="expected a column 'body', got \\['text'\\]"):
        on_spark.encode(frame, files / "tok", column="body")
    with pytest.raises(ValueError, match="expected a column 'body'"):
        on_spark.count(frame, "body")
    with pytest.raises(ValueError, match="parts: expected at least 1, got 0"):
        on_spark.encode_files(session, files / "tok", files / "in", "c", parts=0)
