"""The steps of datatrove write what one process does, and its own tools read their files."""

import copy
import json
import os
import pickle
import signal

import numpy as np
import pytest

from hf_bpe import BPETokenizer
from support.corpora import END, write_corpus
from support.killing import forked

pytest.importorskip("datatrove", reason="datatrove is not installed: pip install 'hf_bpe[datatrove]'")
pytest.importorskip("orjson", reason="orjson is not installed: pip install 'hf_bpe[datatrove]'")
import dill
from datatrove.data import Document
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader

from hf_bpe.distributed.datatrove import DocumentTokenizer, DocumentTokenizerMerger

pytestmark = pytest.mark.filterwarnings("ignore")
TASKS = 4


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a tokenizer and a corpus of a file for each task."""
    return write_corpus(tmp_path_factory.mktemp("files"), range(TASKS), 100)


def run(step, folder, tasks, *before):
    LocalPipelineExecutor([*before, step], tasks=tasks, workers=1, logging_dir=str(folder / "logs")).run()


def manifest(path):
    content = json.loads(path.read_text("utf-8"))
    return {name: value for name, value in content.items() if name not in ("shards", "sources")}


@pytest.mark.parametrize(
    "options", [{}, {"format": "megatron"}, {"format": "nanogpt", "pack": 16}], ids=["datatrove", "megatron", "packed"]
)
def test_token_files_are_those_of_one_process(files, tmp_path, options):
    reader = JsonlReader(str(files / "in"))
    run(DocumentTokenizer(files / "tok", tmp_path / "out" / "c", **options), tmp_path / "a", TASKS, reader)
    run(DocumentTokenizerMerger(tmp_path / "out" / "c"), tmp_path / "b", 1)
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    options = {"format": "datatrove", **options}
    parts = [
        tokenizer.encode_files(files / "in" / f"{name}.jsonl", tmp_path / "each" / f"{name}", **options)
        for name in range(TASKS)
    ]
    for number, part in enumerate(parts):
        for path in part.files:
            suffix = path.name.removeprefix(f"{number}")
            there = tmp_path / "out" / f"c-{number:05}-of-{TASKS:05}{suffix}"
            assert there.read_bytes() == path.read_bytes()
    if "pack" not in options:
        whole = tokenizer.encode_files(files / "in", tmp_path / "whole" / "c", **options)
        assert manifest(tmp_path / "out" / "c.manifest.json") == manifest(whole.manifest)


@pytest.mark.parametrize("format", ["datatrove", "megatron"])
def test_separator_inside_a_document_is_ordinary_text(files, tmp_path, format):
    texts = [f"low{END}lower", "", "low", END, f"x{END}", "y"]
    step = DocumentTokenizer(files / "tok", tmp_path / "c", format=format)
    step.run([Document(text, "") for text in texts], 0, 1)
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    whole = tokenizer.encode_files(tmp_path / "in.jsonl", tmp_path / "whole", format=format)
    for path in whole.files:
        there = tmp_path / f"c-00000-of-00001{path.name.removeprefix('whole')}"
        assert there.read_bytes() == path.read_bytes()
    assert whole.num_documents == len(texts) - 1  # without the empty one
    assert manifest(tmp_path / "c-00000-of-00001.manifest.json")["documents"] == whole.num_documents


def its_tokenizer(files, output, **options):
    """Return datatrove's own step, in the order of the documents."""
    from datatrove.pipeline.tokens import DocumentTokenizer as Peer

    options |= {"eos_token": END, "shuffle_documents": False, "save_final_metadata": False}
    return Peer(str(output), str(files / "tok" / "tokenizer.json"), **options)


def test_its_tokenizer_gives_the_same_ids(files, tmp_path):
    reader = JsonlReader(str(files / "in"))
    peer = its_tokenizer(files, tmp_path / "peer")
    run(peer, tmp_path / "a", TASKS, reader)
    run(DocumentTokenizer(files / "tok", tmp_path / "out" / "c"), tmp_path / "b", TASKS, reader)
    for number in range(TASKS):
        ours = tmp_path / "out" / f"c-{number:05}-of-{TASKS:05}.ds"
        theirs = tmp_path / "peer" / f"{number:05}_unshuffled.ds"
        assert ours.read_bytes() == theirs.read_bytes()
        index = ours.with_name(f"{ours.name}.index")
        assert index.read_bytes() == theirs.with_name(f"{theirs.name}.index").read_bytes()


def test_storage_options_reach_workers_and_no_log(files, tmp_path):
    options = {"secret": "hidden-value"}
    steps = [
        DocumentTokenizer(files / "tok", tmp_path / "out" / "c", storage_options=options),
        DocumentTokenizerMerger(tmp_path / "out" / "c", storage_options=options),
    ]
    for number, step in enumerate(steps):
        for copied in (pickle.loads(pickle.dumps(step)), dill.loads(dill.dumps(step)), copy.deepcopy(step)):
            assert copied._storage_options == options
        reader = [JsonlReader(str(files / "in"))] if number == 0 else []
        run(step, tmp_path / f"{number}", 1, *reader)
    logs = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert "executor.json" in {path.name for path in logs}
    assert [path for path in logs if b"hidden-value" in path.read_bytes()] == []


def test_merging_says_which_tasks_are_missing(files, tmp_path):
    step = DocumentTokenizer(files / "tok", tmp_path / "c")
    for rank in (0, 2):
        assert [*step.run([Document("low", "1")], rank, 3)] == []
    assert [*step.run([], 1, 4)] == []  # a task without text has only a manifest
    assert not (tmp_path / "c-00001-of-00004.ds").exists()
    (tmp_path / "c-00001-of-00004.manifest.json").unlink()
    with pytest.raises(FileNotFoundError, match="lacks 1 of 3 parts: 1"):
        [*DocumentTokenizerMerger(tmp_path / "c").run()]
    with pytest.raises(ValueError, match="tasks: expected 1, got 2"):
        [*DocumentTokenizerMerger(tmp_path / "c").run(None, 0, 2)]
    ids = np.fromfile(tmp_path / "c-00000-of-00003.ds", "<u2").tolist()
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    assert ids == [*tokenizer.encode("low"), tokenizer.eos_token_id]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_killed_task_leaves_no_files_and_runs_again(files, tmp_path):
    step = DocumentTokenizer(files / "tok", tmp_path / "c")
    texts = [f"lower {number}" for number in range(1000)]

    def documents():
        for number, text in enumerate(texts):
            yield Document(text, f"{number}")
        os.kill(os.getpid(), signal.SIGKILL)

    assert forked(lambda: step.run(documents(), 0, 1)) == -signal.SIGKILL
    assert not [*tmp_path.glob("c*")]
    step.run([Document(text, "") for text in texts], 0, 1)
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts), encoding="utf-8")
    tokenizer = BPETokenizer.from_pretrained(files / "tok")
    whole = tokenizer.encode_files(tmp_path / "in.jsonl", tmp_path / "whole", format="datatrove")
    assert (tmp_path / "c-00000-of-00001.ds").read_bytes() == whole.ids.read_bytes()


def test_ids_and_metadata_of_documents_are_copied(files, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    documents = [Document("low", "a", metadata={"url": 1}), Document("", "b"), Document("x", "c", metadata={"url": 2})]
    documents[1].metadata["url"] = None
    options = {"format": "parquet", "copy_columns": ["id", "url"]}
    DocumentTokenizer(files / "tok", tmp_path / "c", **options).run(documents, 1, 2)
    rows = parquet.read_table(tmp_path / "c-00001-of-00002.parquet").to_pylist()
    assert [(row["id"], row["url"]) for row in rows] == [("a", "1"), ("c", "2")]
    options["copy_columns"] = ["day"]
    with pytest.raises(ValueError, match=r"source: iterable 0: record 0: .* the columns to copy, 'day' among them"):
        DocumentTokenizer(files / "tok", tmp_path / "d", **options).run(documents)


def test_loss_masks_are_those_of_its_tokenizer(files, tmp_path):
    text = "low 你好 lowest"
    ranges = [None, [], [(0, 3)], ((2, 5), (7, 9)), [(0, 4), (9, len(text))], [(3, len(text))], [(8, 9)]]
    documents = [Document(text, str(n), metadata={"no_loss_ranges": each}) for n, each in enumerate(ranges)]
    documents.append(Document(text, "without"))
    peer = its_tokenizer(files, tmp_path / "peer", save_loss_metadata=True)
    peer.run(documents, 0, 1)
    DocumentTokenizer(files / "tok", tmp_path / "c", save_loss_metadata=True).run(documents, 0, 1)
    for suffix in ("", ".index", ".loss"):
        ours = (tmp_path / f"c-00000-of-00001.ds{suffix}").read_bytes()
        assert ours == (tmp_path / "peer" / f"00000_unshuffled.ds{suffix}").read_bytes()
    assert {*(tmp_path / "c-00000-of-00001.ds.loss").read_bytes()} == {0, 1}
