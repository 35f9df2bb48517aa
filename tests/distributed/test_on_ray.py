"""Ids that a local Ray cluster makes are those of one process, whatever workers are lost."""

import os

import pytest

from hf_bpe import BPETokenizer
from support.models.corpora import END, TEXTS, expected_ids, killing_once, save_tokenizer

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'hf_bpe[ray]'")
pa = pytest.importorskip("pyarrow")
from hf_bpe.distributed import ArrowEncoder  # noqa: E402
from hf_bpe.distributed import ray as on_ray  # noqa: E402

# Ray leaves files and sockets open, of which Python warns when it collects them, whatever test is running then.
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def _cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tokenizer(tmp_path_factory.mktemp("tok"))


def ids_of(dataset):
    return {row["id"]: None if row["input_ids"] is None else [*row["input_ids"]] for row in dataset.take_all()}


def make_dataset():
    table = pa.table({"text": TEXTS, "id": range(len(TEXTS))})
    return ray.data.from_arrow([table[:90], table[90:]])


@pytest.mark.parametrize("load", [str, BPETokenizer.from_pretrained], ids=["path", "tokenizer"])
def test_datasets_get_the_ids_of_their_texts(folder, load):
    encoded = on_ray.encode(make_dataset(), load(folder), concurrency=1, separator=END)
    assert ids_of(encoded) == expected_ids(folder)


def test_relative_path_names_the_same_folder_on_workers(folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    assert ids_of(on_ray.encode(make_dataset(), folder.name, separator=END)) == expected_ids(folder)


@pytest.mark.skipif(os.name == "nt", reason="kills a process")
def test_lost_worker_changes_nothing(folder, tmp_path, monkeypatch):
    mark = tmp_path / "killed"
    monkeypatch.setattr(on_ray, "ArrowEncoder", killing_once(ArrowEncoder, mark))
    assert ids_of(on_ray.encode(make_dataset(), folder, concurrency=1, separator=END)) == expected_ids(folder)
    assert mark.exists()


def test_wrong_options_are_refused_before_any_actor(folder):
    with pytest.raises(ValueError, match="max_length: expected at least 1, got 0"):
        on_ray.encode(make_dataset(), folder, max_length=0)
