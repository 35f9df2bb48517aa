"""Files that an earlier version wrote load with the same signature, ids and text, or are refused by name."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from hf_bpe import BPETokenizer, BPETokenizerFast, WordCounts, count, editing, train
from hf_bpe.training import Superwords
from support.trees import snapshot

FILES = Path(__file__).parent.parent / "fixtures" / "files_of_98060ba"
EXPECTED = json.loads((FILES / "expected.json").read_text("utf-8"))
OTHER_VERSION = "it is another program's or version's: use another folder"

spec = importlib.util.spec_from_file_location("make", FILES / "make.py")
make = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make)


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Return a copy of the files, in which the corpus is again what it was; it is the working directory."""
    shutil.copytree(FILES, tmp_path / "files")
    monkeypatch.chdir(tmp_path / "files")
    make.make_corpus(make.ROOT)
    return tmp_path / "files"


def in_json(value):
    return json.loads(json.dumps(value))


OF_TRANSFORMERS = ("portable", "fast")  # what AutoTokenizer loads with a class of transformers


@pytest.mark.parametrize("name", EXPECTED["folders"])
def test_saved_folder_loads_as_it_was(name):
    kind = BPETokenizerFast if name == "fast" else BPETokenizer
    tokenizer = kind.from_pretrained(FILES / "folders" / name)
    assert in_json(make.described(tokenizer)) == EXPECTED["folders"][name]


@pytest.mark.parametrize("name", EXPECTED["folders"])
def test_saved_folder_loads_with_auto_tokenizer(tmp_path, name):
    shutil.copytree(FILES / "folders" / name, tmp_path / name)  # transformers 5.0 may guess a model from the path here
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / name)
    found = in_json(make.described(tokenizer))
    assert found["calls"] == EXPECTED["folders"][name]["calls"]
    assert isinstance(tokenizer, BPETokenizer) == (name not in OF_TRANSFORMERS)
    if name not in OF_TRANSFORMERS:
        assert found == EXPECTED["folders"][name]


@pytest.mark.parametrize("name", [name for name in EXPECTED["folders"] if name != "fast"])
def test_saved_folder_is_the_same_when_saved_again(name, tmp_path):
    BPETokenizer.from_pretrained(FILES / "folders" / name).save_pretrained(tmp_path)
    assert in_json(make.described(BPETokenizer.from_pretrained(tmp_path))) == EXPECTED["folders"][name]


def test_folder_with_code_loads_where_hf_bpe_is_not_imported():
    code = (
        "import sys; from transformers import AutoTokenizer; "
        "tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], trust_remote_code=True); "
        "print(type(tokenizer).__module__, tokenizer.encode('low lower'))"
    )
    folder = FILES / "folders" / "auto_map"
    ran = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=False)
    ids = BPETokenizer.from_pretrained(folder).encode("low lower")
    assert ran.stdout == f"hf_bpe.tokenizer._tokenization_bpe {ids}\n", ran.stderr


@pytest.mark.parametrize("name", EXPECTED["formats"])
def test_file_of_another_format_loads_as_it_was(name):
    tokenizer = BPETokenizer.convert_from(FILES / "formats" / name)
    assert in_json(make.described(tokenizer)) == EXPECTED["formats"][name]


@pytest.mark.parametrize("load", [BPETokenizer.from_pretrained, AutoTokenizer.from_pretrained])
def test_folder_of_boundless_superwords_is_refused_by_name(load):
    with pytest.raises((ValueError, OSError), match=r"boundless\.json"):
        load(FILES / "folders" / "boundless")


def test_boundless_superwords_are_refused_by_name():
    with pytest.raises((TypeError, ValueError), match="kind"):
        Superwords(after=12, kind="boundless")


@pytest.mark.parametrize("name", EXPECTED["counts"])
def test_counts_file_loads_as_it_was(name):
    counts, expected = WordCounts.load(FILES / "counts" / f"{name}.counts"), EXPECTED["counts"][name]
    assert counts.fingerprint == expected["fingerprint"]
    assert train(counts, num_merges=12).signature == expected["signature"]


def test_remap_file_loads_as_it_was():
    model = BPETokenizer.from_pretrained(FILES / "folders" / "plain").model
    _, remap = editing.extend(model, ["lowest lowland"] * 3, 4)
    assert editing.Remap.load(FILES / "remap.json") == remap


# Work folders


def test_training_resumes_from_counts(files):
    log = files / "work" / "training" / "merges.log"
    before, options = log.read_bytes(), {"min_frequency": 2, "work_dir": "work/training"}
    model = train(WordCounts.load("counts/plain.counts"), num_merges=20, **options)
    assert {"signature": model.signature, "fingerprint": model.fingerprint} == EXPECTED["training"]
    assert log.read_bytes().startswith(before)  # it was not started again
    assert log.read_bytes().count(b"\n") == 21
    with pytest.raises(ValueError, match="expected a training with min_frequency 3, got 2"):
        train(WordCounts.load("counts/plain.counts"), num_merges=20, **options | {"min_frequency": 3})


def resume_encoding():
    tokenizer = BPETokenizer.from_pretrained("folders/plain")
    corpus = ["root/corpus/0.jsonl", "root/corpus/1.jsonl"]
    tokenizer.encode_files(corpus, "root/tokens", format="megatron", shard_tokens=200, work_dir="work/encoding")


@pytest.mark.parametrize(
    ("log", "resume"),
    [
        ("counting/manifest.jsonl", lambda: count(["root/corpus/0.jsonl"], work_dir="work/counting")),
        (
            "superwords/manifest.jsonl",
            lambda: train(make.CORPUS, num_merges=20, superwords=Superwords(after=12), work_dir="work/superwords"),
        ),
        ("encoding/encoding.log", resume_encoding),
    ],
)
def test_work_folder_of_another_form_is_refused_and_left(files, log, resume):
    """docs/reference/stability.md: work folders are for resuming with the release that made them."""
    before = snapshot(files)
    with pytest.raises(ValueError, match=f"{re.escape(str(Path('work', log)))}, line 1: .*{OTHER_VERSION}"):
        resume()
    assert snapshot(files) == before


# Token files


def encode(name, output, **options):
    tokenizer = BPETokenizer.from_pretrained(FILES / "folders" / "plain")
    options = {"append_separator": name != "npy"} | make.TOKEN_FILES[name] | options  # which was the default
    output = output / ("tokens.npy" if name == "npy" else "tokens")
    return tokenizer.encode_files(["root/corpus/0.jsonl", "root/corpus/1.jsonl"], output, **options)


@pytest.mark.parametrize("name", make.TOKEN_FILES)
def test_token_files_and_manifest_are_as_they_were(files, name):
    (files / "new").mkdir()
    encode(name, files / "new")
    for old in (files / "token_files" / name).iterdir():
        new = files / "new" / old.name
        if old.suffix == ".json":
            old, new = (json.loads(path.read_text("utf-8")) for path in (old, new))
            for manifest in (old, new):
                for source in manifest["sources"]:
                    source["name"] = Path(source["name"]).name  # where the corpus was
            assert new == old
        else:
            assert new.read_bytes() == old.read_bytes()


def test_shards_of_a_manifest_are_replaced_on_request_only(files):
    folder = files / "token_files" / "megatron"
    before = snapshot(folder)
    with pytest.raises(FileExistsError, match="shard of another run"):
        encode("megatron", folder)
    assert snapshot(folder) == before
    written = encode("megatron", folder, shard_tokens=100_000, overwrite=True)
    assert {path.name for path in folder.iterdir()} == {
        "tokens.manifest.json",
        *(path.name for path in written.files),
    }
    assert len(before) > len([*folder.iterdir()])
