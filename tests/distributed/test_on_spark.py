"""Ids that a local Spark cluster makes are those of one process, whatever workers are lost."""

import os
import sys

import pytest

from hf_bpe import BPETokenizer
from support.models.corpora import END, TEXTS, expected_ids, killing_once, save_tokenizer

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install 'hf_bpe[spark]', and a Java runtime")
pytest.importorskip("pyarrow")
from pyspark.sql import SparkSession

from hf_bpe.distributed import ArrowEncoder
from hf_bpe.distributed import spark as on_spark

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
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    patched.undo()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tokenizer(tmp_path_factory.mktemp("tok"))


def make_frame(session):
    rows = [(text, at) for at, text in enumerate(TEXTS)]
    return session.createDataFrame(rows, "text string, id long").repartition(4)


def ids_of(frame):
    return {row["id"]: row["input_ids"] for row in frame.collect()}


@pytest.mark.parametrize("load", [str, BPETokenizer.from_pretrained], ids=["path", "tokenizer"])
def test_frames_get_the_ids_of_their_texts(session, folder, load):
    encoded = on_spark.encode(make_frame(session), load(folder), separator=END)
    assert encoded.columns == ["text", "id", "input_ids"]
    assert ids_of(encoded) == expected_ids(folder)


def test_columns_of_the_result_are_chosen(session, folder):
    only = on_spark.encode(make_frame(session), folder, columns=["id"], output="ids", dtype="int64")
    assert [field.simpleString() for field in only.schema] == ["id:bigint", "ids:array<bigint>"]
    assert only.count() == 500


@pytest.mark.skipif(os.name == "nt", reason="kills a process")
def test_lost_worker_changes_nothing(session, folder, tmp_path, monkeypatch):
    mark = tmp_path / "killed"
    monkeypatch.setattr(on_spark, "ArrowEncoder", killing_once(ArrowEncoder, mark))
    assert ids_of(on_spark.encode(make_frame(session), folder, separator=END)) == expected_ids(folder)
    assert mark.exists()


def test_wrong_options_are_refused_before_any_task(session, folder):
    frame = session.createDataFrame([("low",)], "text string")
    with pytest.raises(ValueError, match="dtype: expected 'int32' or 'int64'"):
        on_spark.encode(frame, folder, dtype="uint32")
    with pytest.raises(ValueError, match="expected a column 'body', got \\['text'\\]"):
        on_spark.encode(frame, folder, column="body")
