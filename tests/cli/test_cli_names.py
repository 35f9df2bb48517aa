"""File names and other text from outside never reach the terminal as control characters."""

import shutil
import unicodedata
from pathlib import Path

import pytest

from hf_bpe.cli import app
from support.commands import error, run
from support.samples import make_tokenizer

NASTY = "a\x1b[31m\x07\x9b2J\u202e"
COMMANDS = {
    "train": ["train {text} -o {new} --vocab-size 260", "train {missing} -o {new} --vocab-size 260"],
    "count": ["count {text} -o {new}", "count {missing} -o {new}", "count {text} {nasty}"],
    "merge-counts": ["merge-counts {counts} {counts} -o {new}", "merge-counts {missing} -o {new}"],
    "encode": ["encode {folder} {text}", "encode {missing} {text}"],
    "encode-files": ["encode-files {folder} {text} -o {new}.npy", "encode-files --merge {missing}"],
    "decode": ["decode {folder} {text}", "decode {missing} {text}"],
    "show": ["show {folder} {text} --html {new}", "show {folder} {missing}"],
    "tree": ["tree {folder} {nasty}", "tree {folder} a --html {new}"],
    "convert": ["convert {folder} {new} --to tokenizer.json", "convert {text} {new}"],
    "inspect": ["inspect {folder}", "inspect {folder} --json", "inspect {text}"],
    "verify": ["verify {folder} {folder} {text}", "verify {folder} {other} {text}"],
    "playground": ["playground {missing}", "playground {folder} {folder}"],
    "report": ["report {folder} {text}", "report {folder} {text} --json"],
    "compare": ["compare {folder} {other} --on {text}", "compare {folder} {folder}"],
    "truncate": ["truncate {folder} -o {new} --vocab-size 290", "truncate {missing} -o {new} --vocab-size 9"],
    "extend": ["extend {folder} {text} -o {new} --add 1", "extend {folder} {missing} -o {new} --add 1"],
    "prune": ["prune {folder} -o {new} --counts {counts} --vocab-size 290"],
    "add-special-tokens": ["add-special-tokens {folder} b{nasty} -o {new}"],
    "pad": ["pad {folder} -o {new} --multiple 8"],
    "help": ["help {nasty}"],
    "": ["{nasty}", "--{nasty}"],
}


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Return files and folders whose names hold control characters, by what they are."""
    root = tmp_path_factory.mktemp("names")
    names = {name: str(root / f"{name}{NASTY}") for name in ("text", "folder", "other", "counts", "new", "missing")}
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": [NASTY]})
    tokenizer.save_pretrained(root / "plain")
    (root / "plain").rename(names["folder"])
    make_tokenizer().save_pretrained(root / "plain")
    (root / "plain").rename(names["other"])
    Path(names["text"]).write_text("low lower lowest 1 2 3\n", encoding="utf-8")
    run("count", names["text"], "-o", names["counts"])
    return {**names, "nasty": NASTY}


def test_table_of_command_lines_has_each_command():
    registered = {command.name or command.callback.__name__.replace("_", "-") for command in app.registered_commands}
    assert registered | {""} == COMMANDS.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_output_has_no_control_characters(names, command, tmp_path):
    for number, line in enumerate(COMMANDS[command]):
        given = {**names, "new": str(tmp_path / f"new{number}{NASTY}")}
        result = run(*(part.format(**given) for part in line.split()), code=None)
        output = result.stdout_bytes.decode("utf-8", "surrogateescape") + result.stderr
        assert output, line
        controls = {char for char in output if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs")}
        assert not controls, line
        assert "\u202e" not in output, line
    shutil.rmtree(tmp_path)


def test_names_keep_text_and_show_control_characters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, shown in (
        ("naïve 你好\tמה👩‍👩‍👧", "naïve 你好\tמה👩‍👩‍👧"),
        (NASTY, "a<U+001B>[31m<U+0007><U+009B>2J<U+202E>"),
        ("\udcff\u2028", "<ff><U+2028>"),
    ):
        assert error("merge-counts", name, "-o", "out.counts") == f"{shown}: No such file or directory"
