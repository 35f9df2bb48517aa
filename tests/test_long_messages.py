"""Messages and log lines about long values of strangers' files and of wrong calls: they show the beginning."""

import json

import pytest

from hf_bpe import BPEModel, BPETokenizer, Source, WordCounts, count, train
from hf_bpe.editing import Remap

LONG = "a" * 5000
MODEL = train(["low lower"], 259, ["<x>"])

CALLS = {
    "a name of a pattern": (lambda: train(["low"], 300, pattern=LONG), "is not known: expected one of"),
    "a URL": (lambda: train(["s3://" + LONG[:3000], "low"], 300), "is a URL and 'low' is not"),
    "a URL to read": (lambda: count("http://127.0.0.1:9/" + LONG * 2), "expected a URL of at most 8192 characters"),
    "a URL to load": (lambda: BPETokenizer.convert_from("memory://" + LONG * 2), "expected a URL of at most"),
    "a remap": (lambda: Remap.load(LONG), "path: expected a path, got 'aaa"),
    "the content of a file": (lambda: BPETokenizer.convert_from(LONG), "expected a path, got 'aaa"),
    "a special token": (lambda: train(["low"], 300, [LONG, LONG]), "is given twice"),
    "a setting of a model": (
        lambda: BPETokenizer(model=MODEL, model_special_tokens=[LONG]),
        "takes either a model, or files",
    ),
    "an option": (lambda: BPETokenizer(model=MODEL)("low", **{LONG: 1}), "unknown option 'aaa"),
    "a format": (lambda: BPETokenizer.convert_from(".", format=LONG), "unknown format 'aaa"),
    "two ids": (lambda: BPEModel({0: LONG.encode(), 1: LONG.encode()}, []), "has two ids, 0 and 1"),
    "a pattern that is lost": (
        lambda: BPETokenizer(model=BPEModel(MODEL.vocab, MODEL.merges, (), f"{LONG}|.")).convert_to("x.gguf"),
        "cannot carry the split pattern, 'aaa",
    ),
}
# The path of a value in tokenizer.json → the value, and a part of the message.
FILES = {
    ("model", "dropout"): (LONG, "which makes ids random, would be lost"),
    ("model", "vocab"): ({LONG: 1, LONG + "b": 1}, "have the same id, 1"),
    ("added_tokens",): ([{"id": 900, "content": LONG}], "has the id 900, where tokenizers gives it 259"),
    ("normalizer",): ({"type": LONG}, "normalizer: 'aaa"),
    ("pre_tokenizer",): ({"type": LONG}, "has no ByteLevel"),
    ("decoder",): ({"type": LONG}, "is not ByteLevel"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved")
    BPETokenizer(model=MODEL).save_pretrained(path)
    return path


def check(call, part):
    with pytest.raises((TypeError, ValueError, OSError)) as raised:
        call()
    assert part in str(raised.value)
    assert len(str(raised.value)) < 800


@pytest.mark.parametrize("name", CALLS)
def test_wrong_call_shows_the_beginning_of_a_value(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(*CALLS[name])


@pytest.mark.parametrize("keys", FILES, ids=".".join)
def test_refusal_of_a_file_shows_the_beginning(keys, folder, tmp_path):
    content = json.loads((folder / "tokenizer.json").read_text())
    *outer, last = keys
    part = content
    for key in outer:
        part = part[key]
    part[last], message = FILES[keys]
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    check(lambda: BPETokenizer.from_pretrained(tmp_path), message)
    check(lambda: BPETokenizer.convert_from(tmp_path / "tokenizer.json"), message)


def test_setting_that_is_no_id_shows_the_beginning(folder, tmp_path):
    (tmp_path / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {LONG: {"content": "<y>"}}}))
    check(lambda: BPETokenizer.from_pretrained(tmp_path), "added_tokens_decoder: expected ids, got 'aaa")


def test_line_without_the_column_shows_the_beginning(tmp_path, caplog):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({LONG: 1}) + "\n")
    check(lambda: count(path), "expected a JSON object with a string as 'text', got an object with 'aaa")
    check(lambda: BPETokenizer(model=MODEL).encode_files(path, tmp_path / "a.npy"), "got an object with 'aaa")
    count(Source(path, on_error="skip"))
    assert "got an object with 'aaa" in caplog.text
    assert len(caplog.text) < 2000


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [("unicode", LONG, "counted with Unicode aaa"), ("skipped", {LONG: LONG}, "skipped.aaa")],
    ids=["unicode", "skipped"],
)
def test_header_of_counts_shows_the_beginning(tmp_path, key, value, message):
    count(["low lower"]).save(tmp_path / "counts")
    data = (tmp_path / "counts").read_bytes()
    begin, end = data.index(b"{\n"), data.rindex(b"}") + 1  # then the length and what ends the file
    header = json.dumps({**json.loads(data[begin:end]), key: value}).encode()
    (tmp_path / "counts").write_bytes(data[:begin] + header + len(header).to_bytes(8, "little") + data[end + 8 :])
    check(lambda: WordCounts.load(tmp_path / "counts"), message)


def test_other_settings_show_the_beginning(tmp_path):
    some, others = ([f"<{letter}{LONG}>"] for letter in "xy")
    check(
        lambda: count(["low"], special_tokens=some).merge(count(["low"], special_tokens=others)),
        "special_tokens ['<xaaa",
    )
    (tmp_path / "low.txt").write_text("low lower")
    count(tmp_path / "low.txt", special_tokens=some, work_dir=tmp_path / "work")
    check(
        lambda: count(tmp_path / "low.txt", special_tokens=others, work_dir=tmp_path / "work"),
        "expected a count with special_tokens",
    )
