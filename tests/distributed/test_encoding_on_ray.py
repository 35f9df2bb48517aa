"""Ids and token files that a local Ray cluster makes are those of one process, whatever workers are lost."""

import json
import os
import signal

import pytest

from hf_bpe import BPETokenizer
from support.corpora import END, write_corpus

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hf_bpe[ray]'")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'hf_bpe[parquet]'")
from hf_bpe.distributed import ray as on_ray  # noqa: E402

# Ray leaves files and sockets open, of which Python warns when it collects them, whatever test is running then.
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a tokenizer and a corpus of records."""
    return write_corpus(tmp_path_factory.mktemp("files"), "ab", 300)


@pytest.mark.usefixtures("cluster")
def test_token_files_are_those_of_one_process(files, tmp_path):
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    whole = tokenizer.encode_files(files / "in", tmp_path / "whole" / "c", format="megatron")
    merged = on_ray.encode_files(files / "tok", files / "in", tmp_path / "out" / "c", parts=7, format="megatron")
    ids = b"".join(path.read_bytes() for path in merged.files if path.suffix == ".bin")
    assert ids == whole.ids.read_bytes()
    described, expected = (json.loads(each.manifest.read_text("utf-8")) for each in (merged, whole))
    del described["shards"], expected["shards"]
    assert described == expected


@pytest.mark.skipif(os.name == "nt", reason="kills processes")
@pytest.mark.usefixtures("cluster")
def test_lost_workers_change_nothing(files, tmp_path, monkeypatch):
    """Kill the worker of each part once: before it has begun, or after it has written everything."""
    encode_part = on_ray._encode_part

    def encode_or_die(parts, part):
        mark = tmp_path / f"killed{part}"
        is_late, is_first = part % 2, not mark.exists()
        mark.touch()
        if is_late or not is_first:
            encode_part(parts, part)
        if is_first:
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(on_ray, "_encode_part", encode_or_die)
    options = {"parts": 6, "format": "megatron", "work_dir": tmp_path / "work"}
    merged = on_ray.encode_files(files / "tok", files / "in", tmp_path / "out" / "c", **options)
    assert len([*tmp_path.glob("killed*")]) == 6
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    whole = tokenizer.encode_files(files / "in", tmp_path / "whole" / "c", format="megatron")
    assert b"".join(path.read_bytes() for path in merged.files if path.suffix == ".bin") == whole.ids.read_bytes()


@pytest.mark.usefixtures("cluster")
def test_datasets_get_the_ids_of_their_texts(files):
    texts = [None if number % 5 == 0 else f"lower {number} widest" for number in range(200)]
    table = pa.table({"text": texts, "id": range(200)})
    dataset = ray.data.from_arrow([table[:90], table[90:]])
    rows = on_ray.encode(dataset, files / "tok", concurrency=1, separator=END).take_all()
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    end = tokenizer.eos_token_id
    expected = {
        number: None if text is None else [*tokenizer.encode_to_lists([text])[0], end]
        for number, text in enumerate(texts)
    }
    assert {row["id"]: None if row["input_ids"] is None else [*row["input_ids"]] for row in rows} == expected


def test_wrong_options_are_refused_before_any_task(files, tmp_path):
    with pytest.raises(ValueError, match="parts: expected at least 1, got 0"):
        on_ray.encode_files(files / "tok", files / "in", tmp_path / "c", parts=0)
