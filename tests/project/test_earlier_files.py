"""Files that an earlier version wrote load with the same signature, ids and text; token files are written as before."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest
from transformers import AutoTokenizer

from hf_bpe import BPETokenizer, BPETokenizerFast, WordCounts, editing, train

FILES = Path(__file__).parent.parent / "fixtures" / "files_of_a11ae29"
EXPECTED = json.loads((FILES / "expected.json").read_text("utf-8"))
TEXTS = [
    "low lower lowest, it's 12345 of the widest",
    "Low<|endoftext|>NEWEST <mask> x<|a|>y<|a|> z  \n\n",
    " e\u0301\u00e9 \uff2c\uff2f\uff37 \u4f60\u597d \U0001f642\tof the low",
    "",
]
CORPUS = [
    "low low low low low lower lower widest widest widest newest newest newest newest it's it's 12345 12 345",
    "of the low, of the lower, of the widest; of the newest. NEW Low \u4f60\u597d \u4f60\u597d \u00e9\u00e9 \u00e9",
]
TOKEN_FILES = {
    "npy": {"format": "npy"},
    "megatron": {"format": "megatron", "shard_tokens": 300},
    "nanogpt": {"format": "nanogpt", "pack": 16},
}
OF_TRANSFORMERS = ("portable", "fast")
"""Folders that AutoTokenizer loads with a class of transformers."""


def digest(value):
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:16]


def describe(tokenizer):
    """Return what a tokenizer says of itself and of the texts, as JSON values, the longest as digests."""
    model = getattr(tokenizer, "model", None)
    calls = [tokenizer(text, return_offsets_mapping=True) for text in TEXTS]
    names = ("padding_side", "model_max_length", "all_special_tokens", "chat_template", "pad_token")
    return {
        "signature": None if model is None else model.signature,
        "fingerprint": None if model is None else model.fingerprint,
        "size": len(tokenizer),
        "settings": {name: getattr(tokenizer, name) for name in names},
        "pair": digest(tokenizer(TEXTS[0], TEXTS[1], return_token_type_ids=True)["token_type_ids"]),
        "ids": [call["input_ids"] for call in calls],
        "offsets": digest([call["offset_mapping"] for call in calls]),
        "decoded": digest([tokenizer.decode(call["input_ids"]) for call in calls]),
        "plain": digest([tokenizer.decode(call["input_ids"], skip_special_tokens=True) for call in calls]),
    }


def write_token_files(name, folder):
    """Write a corpus, and its token files into the folder; return the folder of the token files."""
    corpus = [folder / "corpus" / f"{number}.jsonl" for number in range(len(CORPUS))]
    (folder / "corpus").mkdir(parents=True)
    for path, text in zip(corpus, CORPUS, strict=True):
        rows = [json.dumps({"text": f"{text} {row}"}) + "\n" for row in range(8)]
        path.write_text("".join(rows), encoding="utf-8", newline="")
    output = folder / name / ("tokens.npy" if name == "npy" else "tokens")
    output.parent.mkdir()
    BPETokenizer.from_pretrained(FILES / "folders" / "superwords").encode_files(corpus, output, **TOKEN_FILES[name])
    return output.parent


@pytest.mark.parametrize("name", EXPECTED["folders"])
def test_saved_folder_loads_as_it_was(name):
    kind = BPETokenizerFast if name == "fast" else BPETokenizer
    assert describe(kind.from_pretrained(FILES / "folders" / name)) == EXPECTED["folders"][name]


@pytest.mark.parametrize("name", EXPECTED["folders"])
def test_saved_folder_loads_with_auto_tokenizer(tmp_path, name):
    shutil.copytree(FILES / "folders" / name, tmp_path / name)  # transformers 5.0 may guess a model from the path here
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / name)
    described, expected = describe(tokenizer), EXPECTED["folders"][name]
    assert isinstance(tokenizer, BPETokenizer) == (name not in OF_TRANSFORMERS)
    if name in OF_TRANSFORMERS:
        calls = ("ids", "offsets", "decoded", "plain")
        assert {key: described[key] for key in calls} == {key: expected[key] for key in calls}
    else:
        assert described == expected


def test_code_of_a_folder_is_as_it_was():
    code = (FILES / "folders" / "byte_level" / "tokenization_hf_bpe.py").read_text("utf-8")
    assert code.split("#")[0].strip() == "from hf_bpe import BPETokenizer"  # as it is written today


@pytest.mark.parametrize("name", EXPECTED["converted"])
def test_file_of_another_format_loads_as_it_was(name):
    tokenizer = BPETokenizer.convert_from(FILES / "converted" / name)
    assert describe(tokenizer) == EXPECTED["converted"][name]


@pytest.mark.parametrize("name", EXPECTED["counts"])
def test_counts_file_loads_as_it_was(name):
    counts, expected = WordCounts.load(FILES / "counts" / f"{name}.counts"), EXPECTED["counts"][name]
    assert counts.fingerprint == expected["fingerprint"]
    assert train(counts, num_merges=12).signature == expected["signature"]


def test_remap_file_loads_as_it_was():
    model = BPETokenizer.from_pretrained(FILES / "folders" / "superwords").model
    _, remap = editing.extend(model, ["lowest lowland"] * 3, 4)
    assert editing.Remap.load(FILES / "remap.json") == remap


@pytest.mark.parametrize("name", TOKEN_FILES)
def test_token_files_are_written_as_before(name, tmp_path):
    written, before = write_token_files(name, tmp_path), FILES / "token_files" / name
    assert {path.name for path in written.iterdir()} == {path.name for path in before.iterdir()}
    for path in before.iterdir():
        if path.suffix == ".json":
            manifests = [json.loads((folder / path.name).read_text("utf-8")) for folder in (written, before)]
            for source in (source for manifest in manifests for source in manifest["sources"]):
                source["name"] = Path(source["name"]).name  # the corpus is elsewhere
            assert manifests[0] == manifests[1]
        else:
            assert (written / path.name).read_bytes() == path.read_bytes()
