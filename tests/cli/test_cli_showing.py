"""`hf-bpe show` and `tree`."""

import json
import re

import pytest

from hf_bpe import BPETokenizer
from hf_bpe.analysis import merge_tree, show
from support.commands import error, run
from support.samples import make_tokenizer

TEXT = b"lowest\xff 2024\nnewest <|user|>\n"


@pytest.fixture(scope="module")
def tokenizer():
    return make_tokenizer()


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch):
    for name in ("FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLORTERM", raising=False)


def test_files_standard_input_and_text_are_shown_alike(folder, tokenizer, tmp_path):
    file = tmp_path / "text"
    file.write_bytes(TEXT)
    shown = show(tokenizer, TEXT)
    for result in (run("show", folder, file), run("show", folder, stdin=TEXT)):
        assert result.stdout_bytes.decode() == f"{shown.marked}\n"
        assert result.stderr == f"hf-bpe: {shown.summary}\n"
    result = run("show", folder, "--text", "newest lowest", "--ids", "--max-tokens", 1)
    assert result.stdout == f"{show(tokenizer, b'newest lowest', ids=True, max_tokens=1).marked}\n"
    assert result.stderr.endswith("; the first 1 tokens are shown\n")


def test_several_tokenizers_show_one_text(folder, tokenizer, tmp_path):
    run("truncate", folder, "-o", tmp_path / "short", "--vocab-size", 270)
    short = BPETokenizer.from_pretrained(tmp_path / "short")
    file = tmp_path / "text"
    file.write_bytes(TEXT)
    tokens = [show(each, TEXT) for each in (tokenizer, short)]
    names = [folder.name, "short"]
    expected = "\n\n".join(f"{name}: {each.summary}\n{each.marked}" for name, each in zip(names, tokens, strict=True))
    folders = [folder, tmp_path / "short"]
    for arguments, given in (([file], b""), (["-"], TEXT), ([], TEXT)):
        result = run("show", *folders, *arguments, stdin=given)
        assert result.stdout_bytes.decode() == f"{expected}\n"
        assert result.stderr == ""
    assert run("show", *folders, "--text", "low").stdout.count("low\n") == 2
    run("show", *folders, file, "--html", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert [page.count(f"<h2>{name}</h2>") for name in names] == [1, 1]


CHAT = [{"role": "user", "content": "lowest"}, {"role": "assistant", "content": "newest low"}]
TEMPLATE = "{% for each in messages %}<|user|>{{ each.role }}\n{{ each.content }}\n{% endfor %}"


def test_chats_are_shown_turn_by_turn(tokenizer, folder, tmp_path):
    chatty = BPETokenizer(model=tokenizer.model, chat_template=TEMPLATE)
    chatty.add_tokens(["<|user|>"], special_tokens=True)
    chatty.save_pretrained(tmp_path / "chatty")
    file = tmp_path / "chat.json"
    for written in (CHAT, {"messages": CHAT}):
        file.write_text(json.dumps(written), encoding="utf-8")
        result = run("show", tmp_path / "chatty", "--chat", file)
        turns = [show(chatty, f"<|user|>{each['role']}\n{each['content']}\n") for each in CHAT]
        expected = [f"{number} · {each['role']}: " for number, each in enumerate(CHAT, 1)]
        expected = [f"{begin}{turn.summary}\n{turn.marked}" for begin, turn in zip(expected, turns, strict=True)]
        assert result.stdout == "\n\n".join(expected) + "\n"
        whole = chatty.apply_chat_template(CHAT, tokenize=False)
        assert result.stderr == f"hf-bpe: chatty: {show(chatty, whole).summary}\n"
    assert "has no chat template" in error("show", folder, "--chat", file)
    file.write_text(json.dumps([{"role": "user", "content": "low\ud800"}, *CHAT]), encoding="utf-8")
    assert "2 · user: " in run("show", tmp_path / "chatty", "--chat", file).stdout
    file.write_text("[" * 100_000, encoding="utf-8")
    assert "expected JSON, a list of messages" in error("show", tmp_path / "chatty", "--chat", file)
    file.write_text('[{"role": "user"}]', encoding="utf-8")
    assert "expected a list of messages, such as" in error("show", tmp_path / "chatty", "--chat", file)


@pytest.mark.parametrize(
    ("options", "environment", "is_colored"),
    [
        ([], {}, False),
        (["--color"], {}, True),
        (["--color"], {"NO_COLOR": "1"}, True),
        (["--color"], {"TERM": "dumb"}, True),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        ([], {"FORCE_COLOR": "1", "TERM": "dumb"}, False),
        (["--no-color"], {"FORCE_COLOR": "1"}, False),
    ],
    ids=str,
)
def test_there_are_colors_where_they_are_wanted(folder, tokenizer, monkeypatch, options, environment, is_colored):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    shown, tree = show(tokenizer, TEXT), merge_tree(tokenizer, "newest")
    for arguments, plain, colored in (
        (["show", folder], shown.marked, shown.colored().plain),
        (["tree", folder, "newest"], str(tree), str(tree)),
    ):
        printed = run(*arguments, *options, stdin=TEXT).stdout_bytes.decode()
        assert ("\x1b[" in printed) == is_colored
        bare = re.sub(r"\x1b\[[0-9;]*m", "", printed)
        assert bare.rstrip("\n") == (colored if is_colored else plain).rstrip("\n")


def test_pages_are_written_whole(folder, tokenizer, tmp_path):
    page = tmp_path / "pages" / "page.html"
    result = run("show", folder, "--ids", "--html", page, stdin=TEXT)
    assert result.stdout_bytes == b""
    assert result.stderr.startswith(f"hf-bpe: saved in {page}\n")
    title = f"Tokens of standard input by {folder.name}"
    assert page.read_text("utf-8") == show(tokenizer, TEXT, ids=True).to_html(title)
    run("tree", folder, "newest", "--html", page, "--force")
    tree = merge_tree(tokenizer, "newest")
    assert page.read_text("utf-8") == tree.to_html(f"{tree.title} of {folder.name}")


def test_trees_are_of_a_token_or_of_an_id(folder, tokenizer):
    tree = merge_tree(tokenizer, " newest")
    for arguments in ([" newest"], ["Ġnewest"], ["--id", tree.id]):
        assert run("tree", folder, *arguments).stdout_bytes.decode() == f"{tree}\n"
