"""Files that are damaged, or something else: each is refused in one line that says where, and nothing is written."""

import dataclasses
import json
import pickle
import re
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, conversion, train
from hf_bpe.conversion import Definition
from support.cases import case
from support.commands import error, run
from support.profiles import by_profile
from support.strategies import damaged


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a folder with one tokenizer in every format that is text."""
    folder = tmp_path_factory.mktemp("whole")
    tokenizer = BPETokenizer.train(["low lower lowest newest"] * 3, vocab_size=262, special_tokens=["<|x|>"])
    tokenizer.convert_to(folder / "gpt2", format="gpt2")
    tokenizer.convert_to(folder / "x.json")
    tokenizer.convert_to(folder / "x.tiktoken")
    return folder


def edited(change):
    def edit(path):
        content = json.loads(path.read_text("utf-8"))
        change(content)
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")

    return edit


def line(number, new):
    def change(path):
        lines = path.read_bytes().split(b"\n")
        lines[number] = new
        path.write_bytes(b"\n".join(lines))

    return change


def content(data):
    return lambda path: path.write_bytes(data)


def truncated(path):
    path.write_bytes(path.read_bytes()[:-40])


def one_long_line(path):
    with path.open("wb") as file:
        file.truncate(1 << 30)


VOCAB, MERGES, JSON, RANKS, SIDECAR = ("gpt2/vocab.json", "gpt2/merges.txt", "x.json", "x.tiktoken", "x.tiktoken.json")
TOO_LARGE = (one_long_line, "is larger than 256 MiB")
# What else may be wrong in vocab.json and merges.txt is in test_gpt2_files.py.
BROKEN = {
    VOCAB: {"truncated": (truncated, r"not JSON at line 1, column \d+: "), "of one line of 1 GB": TOO_LARGE},
    MERGES: {"of one line of 1 GB": TOO_LARGE},
    JSON: {
        "with an id twice": (edited(lambda c: c["model"]["vocab"].update(b=97)), "model: vocab: tokens .* same id, 97"),
        "with an unknown part": (
            edited(lambda c: c["model"]["merges"].append(["q", "zz"])),
            r"model: merge \d+: 'zz' is not a token of the vocabulary",
        ),
        "with a merge of three": (
            edited(lambda c: c["model"]["merges"].append("q z z")),
            r"model: merge \d+: expected two tokens, got 'q z z'",
        ),
        "with an added token elsewhere": (
            edited(lambda c: c["added_tokens"][0].update(id=5)),
            r"added_tokens: '<\|x\|>' has the id 5, where tokenizers gives it 256",
        ),
        "without a model": (edited(lambda c: c.pop("model")), r"not a tokenizer\.json: KeyError\('model'\)"),
        "of WordPiece": (edited(lambda c: c["model"].update(type="WordPiece")), "model: is WordPiece, expected BPE"),
        "of SentencePiece BPE": (edited(lambda c: c["model"]["merges"].append(["▁", "x"])), "model: .*'▁'"),
        "with dropout": (edited(lambda c: c["model"].update(dropout=0.1)), r"model: dropout 0\.1"),
        "with a prefix of parts": (
            edited(lambda c: c["model"].update(continuing_subword_prefix="##")),
            "model: continuing_subword_prefix '##'",
        ),
    },
    RANKS: {
        "truncated": (
            lambda path: path.write_bytes(path.read_bytes()[:-5]),
            r"line \d+: expected a token in base64, a sp",
        ),
        "with wrong base64": (line(3, b"A 3"), "line 4: b'A' is not base64: "),
        "with a rank twice": (line(3, b"eHg= 2"), "line 4: tokens .* have the same rank, 2"),
        "with a token twice": (line(3, b"AA== 999"), r"line 4: token b'\\x00' occurs twice"),
        "of another format": (content(b"{}"), "line 1: expected a token in base64"),
        "empty": (content(b""), "expected tokens and ranks, got an empty file"),
        "of one line of 1 GB": TOO_LARGE,
    },
    SIDECAR: {
        "truncated": (truncated, "not JSON at line"),
        "of something else": (content(b"{}"), "expected the sidecar of"),
        "with an id that is text": (edited(lambda c: c["special_tokens"].update(x="5")), ".*expected ids, got '5'"),
    },
}


def copied(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "in"))


def source_of(folder, name):
    return folder / ("gpt2" if name.startswith("gpt2/") else name.removesuffix(".json") if "tiktoken" in name else name)


def damaged_copy(whole, tmp_path, name, kind):
    """Damage a copy of the files; return what is given to be read, and the message to expect."""
    damage, message = BROKEN[name][kind]
    folder = copied(whole, tmp_path)
    damage(folder / name)
    return source_of(folder, name), f"{re.escape(Path(name).name)}: {message}"


@pytest.mark.parametrize("name", BROKEN)
def test_damaged_file_is_refused_with_its_location(whole, tmp_path, name):
    for number, kind in enumerate(BROKEN[name]):
        with case(kind):
            source, message = damaged_copy(whole, tmp_path / str(number), name, kind)
            with pytest.raises(ValueError, match=message) as refused:
                conversion.read(source)
            assert len(str(refused.value)) < 900


KINDS = [(VOCAB, "truncated"), (JSON, "without a model"), (RANKS, "truncated"), (SIDECAR, "truncated")]


@pytest.mark.parametrize(("name", "kind"), KINDS)
def test_commands_refuse_a_damaged_file_and_write_nothing(whole, tmp_path, name, kind):
    source, message = damaged_copy(whole, tmp_path, name, kind)
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
    for name in DAMAGED:
        path = folder / f"{name}{conversion.FORMATS[name].suffix}"
        written = conversion.write(Definition(model), path, format=name, verify=False)
        found[name] = path, {file: file.read_bytes() for file in written}
    return found


DAMAGED = ["gpt2", "text", "gguf", "tokenizer.json", "tiktoken"]


@pytest.mark.filterwarnings("ignore")  # of what is dropped or set aside
@pytest.mark.parametrize("name", DAMAGED)
@settings(max_examples=by_profile(quick=15, thorough=200))
@given(data=st.data())
def test_damaged_file_is_refused_or_is_another_model(contents, name, data):
    path, files = contents[name]
    file = data.draw(st.sampled_from(sorted(files)))
    for each, content in files.items():
        each.write_bytes(data.draw(damaged(content)) if each == file else content)
    try:
        message = f"{path}: {conversion.read(path, format=name) and 'read'}"
    except ValueError as error:
        message = str(error)
    assert re.fullmatch(rf"{re.escape(str(path.parent))}[^\n]*", message)


@pytest.mark.parametrize("name", [JSON, RANKS])
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
    (b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\x0c\n\x03<s>", "a SentencePiece model, which transformers"),
    (b"\n" * 9, "unknown format"),
]


def test_other_files_are_refused_by_their_content(tmp_path):
    for content, message in OTHER_CONTENTS:
        with case(content):
            path = tmp_path / "some.file"
            path.write_bytes(content)
            assert message in error("convert", path, tmp_path / "out")
            assert not (tmp_path / "out").exists()


def test_files_that_cannot_be_read_are_named(whole, tmp_path, monkeypatch):
    folder = copied(whole, tmp_path)

    def denied(path):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("hf_bpe.formats._files.tokenizer_json.read_bounded", denied)
    assert error("inspect", folder / JSON) == f"{folder / JSON}: Permission denied"
