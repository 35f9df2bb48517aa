"""Files that are damaged, or something else: each is refused in one line that says where, and nothing is written."""

import base64
import dataclasses
import json
import os
import pickle
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, train
from hf_bpe.conversion import Definition
from hf_bpe.conversion import _formats as formats
from hf_bpe.formats import _tokenizer_json as tokenizer_json
from support.cases import case
from support.commands import error, run
from support.profiles import by_profile
from support.strategies import damaged

IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with one tokenizer in every format that is text."""
    folder = tmp_path_factory.mktemp("whole")
    tokenizer = BPETokenizer.train(["low lower lowest newest"] * 3, vocab_size=262, special_tokens=["<|x|>"])
    tokenizer.convert_to(folder / "gpt2", format="gpt2")
    tokenizer.convert_to(folder / "x.json")
    tokenizer.convert_to(folder / "x.tiktoken")
    return folder


def edit_json(path, change):
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def replace(old, new):
    def change(path):
        content = path.read_bytes()
        assert old in content
        path.write_bytes(content.replace(old, new, 1))

    return change


def line(number, new):
    def change(path):
        lines = path.read_bytes().split(b"\n")
        lines[number] = new
        path.write_bytes(b"\n".join(lines))

    return change


def truncated(path):
    path.write_bytes(path.read_bytes()[:-40])


def one_long_line(path):
    with path.open("wb") as file:
        file.truncate(1 << 30)


def pickled(path):
    path.write_bytes(pickle.dumps({"vocab": {"a": 0}, "merges": []}))


def latin1(path):
    path.write_bytes(path.read_bytes().replace("Ġ".encode(), b"\xe9", 1))


def utf16(path):
    path.write_bytes(path.read_text("utf-8").encode("utf-16"))


def empty(path):
    path.write_bytes(b"")


def nested(path):
    path.write_bytes(b"[" * 100_000)


VOCAB, MERGES, JSON, RANKS, SIDECAR = ("gpt2/vocab.json", "gpt2/merges.txt", "x.json", "x.tiktoken", "x.tiktoken.json")
BROKEN = {
    "vocab.json truncated": (VOCAB, truncated, r"vocab\.json: not JSON at line 1, column \d+: "),
    "vocab.json of one line of 1 GB": (VOCAB, one_long_line, r"vocab\.json: is larger than 256 MiB"),
    "vocab.json is a pickle": (VOCAB, pickled, r"vocab\.json: not UTF-8 at byte 0"),
    "merges.txt in Latin-1": (MERGES, line(1, b"caf\xe9 x"), r"merges\.txt: not UTF-8 at byte \d+, in line 2: "),
    "merges.txt of one line of 1 GB": (MERGES, one_long_line, r"merges\.txt: is larger than 256 MiB"),
    "tokenizer.json with an id twice": (
        JSON,
        replace(b'"b": 98', b'"b": 97'),
        r"x\.json: model: vocab: tokens .* the same id, 97",
    ),
    "tokenizer.json with an unknown part": (
        JSON,
        lambda path: edit_json(path, lambda c: c["model"]["merges"].append(["q", "zz"])),
        r"x\.json: model: merge \d+: 'zz' is not a token of the vocabulary",
    ),
    "tokenizer.json with a merge of three": (
        JSON,
        lambda path: edit_json(path, lambda c: c["model"]["merges"].append("q z z")),
        r"x\.json: model: merge \d+: expected two tokens, got 'q z z'",
    ),
    "tokenizer.json with an added token elsewhere": (
        JSON,
        lambda path: edit_json(path, lambda c: c["added_tokens"][0].update(id=5)),
        r"x\.json: added_tokens: '<\|x\|>' has the id 5, where tokenizers gives it 256",
    ),
    "tokenizer.json without a model": (
        JSON,
        lambda path: edit_json(path, lambda c: c.pop("model")),
        r"x\.json: not a tokenizer\.json: KeyError\('model'\)",
    ),
    "tokenizer.json of WordPiece": (
        JSON,
        lambda path: edit_json(path, lambda c: c["model"].update(type="WordPiece")),
        r"x\.json: model: is WordPiece, expected BPE",
    ),
    "tokenizer.json of SentencePiece BPE": (
        JSON,
        lambda path: edit_json(path, lambda c: c["model"]["merges"].append(["▁", "x"])),
        r"x\.json: model: .*'▁'",
    ),
    "tokenizer.json with dropout": (
        JSON,
        lambda path: edit_json(path, lambda c: c["model"].update(dropout=0.1)),
        r"x\.json: model: dropout 0\.1",
    ),
    "tokenizer.json with a prefix of parts": (
        JSON,
        lambda path: edit_json(path, lambda c: c["model"].update(continuing_subword_prefix="##")),
        r"x\.json: model: continuing_subword_prefix '##'",
    ),
    "tiktoken file truncated": (
        RANKS,
        lambda path: path.write_bytes(path.read_bytes()[:-5]),
        r"x\.tiktoken: line \d+: expected a token in base64, a space and its rank",
    ),
    "tiktoken file with wrong base64": (RANKS, line(3, b"A 3"), r"x\.tiktoken: line 4: b'A' is not base64: "),
    "tiktoken file with a rank twice": (
        RANKS,
        line(3, b"eHg= 2"),
        r"x\.tiktoken: line 4: tokens .* have the same rank, 2",
    ),
    "tiktoken file with a token twice": (
        RANKS,
        line(3, base64.b64encode(b"\x00") + b" 999"),
        r"x\.tiktoken: line 4: token b'\\x00' occurs twice",
    ),
    "tiktoken file of another format": (
        RANKS,
        lambda path: path.write_text("{}"),
        r"x\.tiktoken: line 1: expected a token in base64",
    ),
    "tiktoken file empty": (RANKS, empty, r"x\.tiktoken: expected tokens and ranks, got an empty file"),
    "tiktoken file of one line of 1 GB": (RANKS, one_long_line, r"x\.tiktoken: is larger than 256 MiB"),
    "sidecar truncated": (SIDECAR, truncated, r"x\.tiktoken\.json: not JSON at line"),
    "sidecar of something else": (
        SIDECAR,
        lambda path: path.write_text("{}"),
        r"x\.tiktoken\.json: expected the sidecar of",
    ),
    "sidecar with an id that is text": (
        SIDECAR,
        lambda path: edit_json(path, lambda c: c["special_tokens"].update(x="5")),
        r"x\.tiktoken\.json: .*expected ids, got '5'",
    ),
}


def copied(whole, tmp_path):
    folder = tmp_path / "in"
    for path in [path for path in whole.rglob("*") if path.is_file()]:
        copy = folder / path.relative_to(whole)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    return folder


def source_of(folder, name):
    return folder / ("gpt2" if name.startswith("gpt2/") else name.removesuffix(".json") if "tiktoken" in name else name)


def damaged_copy(whole, tmp_path, kind):
    """Damage a copy of the files; return what is given to be read, and the message to expect."""
    name, damage, message = BROKEN[kind]
    folder = copied(whole, tmp_path)
    damage(folder / name)
    return source_of(folder, name), message


@pytest.mark.parametrize("name", [VOCAB, MERGES, JSON, RANKS, SIDECAR])
def test_damaged_file_is_refused_with_its_location(whole, tmp_path, name):
    for number, (kind, (damaged_file, _, _)) in enumerate(BROKEN.items()):
        if damaged_file == name:
            with case(kind):
                source, message = damaged_copy(whole, tmp_path / str(number), kind)
                with pytest.raises(ValueError, match=message) as refused:
                    formats.read(source)
                assert len(str(refused.value)) < 900


KINDS = ["vocab.json truncated", "tokenizer.json without a model", "tiktoken file truncated", "sidecar truncated"]


@pytest.mark.parametrize("kind", KINDS)
def test_commands_refuse_a_damaged_file_and_write_nothing(whole, tmp_path, kind):
    source, message = damaged_copy(whole, tmp_path, kind)
    for said in (
        error("convert", source, tmp_path / "out"),
        error("verify", source, source),
        refusal_by_inspect(source),
    ):
        assert re.search(message, said), said
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def refusal_by_inspect(source):
    """Return the error of `inspect`; before it, what transformers makes of the folder is printed, if it loads it."""
    return run("inspect", source, code=1).stderr.splitlines()[-1]


@pytest.fixture(scope="module")
def contents(tmp_path_factory):
    """Return a folder to damage, and format → path and files of a tokenizer there."""
    folder = tmp_path_factory.mktemp("damaged")
    model = train(["low lower lowest newest 你好\t\n"] * 3, num_merges=9)
    specials = {300: b"<|x|>", 301: b"</s>"}
    model = dataclasses.replace(model, vocab=model.vocab | specials, special_tokens=("<|x|>", "</s>"))
    found = {}
    for name, path in (("gpt2", "gpt2"), ("text", "text"), *((FILES[suffix], f"x{suffix}") for suffix in FILES)):
        before = {*folder.rglob("*")}
        formats.write(Definition(model), folder / path, format=name, verify=False)
        new = [file for file in folder.rglob("*") if file.is_file() and file not in before]
        found[name] = folder / path, {file: file.read_bytes() for file in new}
    return found


FILES = {".gguf": "gguf", ".json": "tokenizer.json", ".tiktoken": "tiktoken"}


@pytest.mark.filterwarnings("ignore")  # of what is dropped or set aside
@pytest.mark.parametrize("name", ["gpt2", "text", *FILES.values()])
@settings(max_examples=by_profile(quick=15, thorough=200))
@given(data=st.data())
def test_damaged_file_is_refused_or_is_another_model(contents, name, data):
    path, files = contents[name]
    file = data.draw(st.sampled_from(sorted(files)))
    for each, content in files.items():
        each.write_bytes(data.draw(damaged(content)) if each == file else content)
    try:
        message = f"{path}: {formats.read(path, format=name) and 'read'}"
    except ValueError as error:
        message = str(error)
    assert re.fullmatch(rf"{re.escape(str(path.parent))}[^\n]*", message)


@pytest.mark.parametrize("name", [VOCAB, MERGES, JSON, RANKS])
@pytest.mark.parametrize("odd", ["BOM", "CRLF"])
def test_a_byte_order_mark_and_crlf_are_read_all_the_same(whole, tmp_path, name, odd):
    folder = copied(whole, tmp_path)
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(b"\xef\xbb\xbf" + content if odd == "BOM" else content.replace(b"\n", b"\r\n"))
    expected = run("inspect", source_of(whole, name)).stdout
    assert run("inspect", source_of(folder, name)).stdout == expected


OTHER_CONTENTS = [
    (pickle.dumps([1, 2]), "unknown format; expected one of hf, "),
    (b"", "unknown format"),
    (b"GIF89a", "unknown format; expected one of "),
    (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\x0c\n\x03<s>", "a SentencePiece model, which transformers reads"),
    (b"\n" * 9, "unknown format"),
]


def test_other_files_are_refused_by_their_content(tmp_path):
    for content, message in OTHER_CONTENTS:
        with case(content):
            path = tmp_path / "some.file"
            path.write_bytes(content)
            assert message in error("convert", path, tmp_path / "out")
            assert not (tmp_path / "out").exists()


def test_folders_and_missing_files_are_named(tmp_path):
    (tmp_path / "empty").mkdir()
    assert refusal_by_inspect(tmp_path / "empty").endswith("expected a folder with a tokenizer; this one holds nothing")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.model").touch()
    said = refusal_by_inspect(tmp_path / "model")
    assert said.endswith("this one holds tokenizer.model; give the file tokenizer.model itself")
    assert "no file or folder " in error("inspect", tmp_path / "missing")
    said = error("convert", tmp_path / "empty", tmp_path / "out", "--from", "tiktoken")
    assert said == f"{tmp_path / 'empty'} is a folder; expected a .tiktoken rank file"
    (tmp_path / "file").write_text("x")
    said = error("convert", tmp_path / "file", tmp_path / "out", "--from", "gpt2")
    assert said == f"{tmp_path / 'file'} is a file; expected GPT-2's vocab.json and merges.txt"


@pytest.mark.skipif(IS_ROOT or sys.platform == "win32", reason="root may read everything, and Windows has other rights")
def test_files_that_may_not_be_read_are_named(whole, tmp_path):
    folder = copied(whole, tmp_path)
    (folder / JSON).chmod(0)
    assert error("inspect", folder / JSON) == f"{folder / JSON}: Permission denied"


def test_files_that_cannot_be_read_are_named(whole, tmp_path, monkeypatch):
    folder = copied(whole, tmp_path)

    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(tokenizer_json, "read_bytes", denied)
    assert error("inspect", folder / JSON) == f"{folder / JSON}: Permission denied"
