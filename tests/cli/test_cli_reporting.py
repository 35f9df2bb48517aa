"""Reports and comparisons on the command line."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from hf_bpe import BPETokenizer, count, train
from hf_bpe.analysis import compare, report
from support.commands import TEXT, run


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Work in a folder with two tokenizers and some text."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(TEXT, encoding="utf-8")
    Path("b.txt").write_text("你好 привет low\n" * 3, encoding="utf-8")
    Path("rows.jsonl").write_text('{"body": "lowest"}\n', encoding="utf-8")
    Path("latin1.txt").write_bytes(b"caf\xe9 low")
    for name, size in (("small", 262), ("large", 280)):
        BPETokenizer(model=train([TEXT], size, ["<|x|>"])).save_pretrained(name)


def load(name):
    return BPETokenizer.from_pretrained(name)


def on_json(*arguments, stdin=b""):
    return json.loads(run(*arguments, "--json", stdin=stdin).stdout)


class TestReport:
    @pytest.mark.parametrize(
        ("arguments", "texts", "options"),
        [
            (["a.txt"], "a.txt", {}),
            (["a.txt", "b.txt"], ["a.txt", "b.txt"], {}),
            (["*.txt", "--errors", "replace"], {"*.txt": [TEXT, "你好 привет low\n" * 3, "caf\ufffd low"]}, {}),
            (["--group", "x=a.txt", "--group", "y=b.txt"], {"x": "a.txt", "y": "b.txt"}, {}),
            (["--group", "x=a.txt", "--group", "x=b.txt"], {"x": ["a.txt", "b.txt"]}, {}),
            (["a.txt", "--group", "y=b.txt", "--reference", "y"], {"a.txt": "a.txt", "y": "b.txt"}, {"reference": "y"}),
            (["rows.jsonl", "--column", "body"], ["lowest"], {}),
            (["b.txt", "--max-document-bytes", "6"], ["你好"], {}),
            (["a.txt", "--workers", "1", "--max-memory", "4GB"], "a.txt", {}),
        ],
    )
    def test_report_matches_the_library(self, arguments, texts, options):
        expected = report(load("small"), texts, name="small", **options).as_json()
        found = on_json("report", "small", *arguments)
        if "*.txt" in arguments:  # three files, so three groups, which the library is not asked for here
            assert found["total"] == expected["total"]
            assert [row["name"] for row in found["groups"]] == ["a.txt", "b.txt", "latin1.txt"]
        else:
            assert found == json.loads(json.dumps(expected))

    def test_report_takes_counts_files(self):
        count("a.txt", special_tokens=["<|x|>"]).save("a.counts")
        of_counts = on_json("report", "small", "--counts", "a.counts")
        assert of_counts["total"] == on_json("report", "small", "a.txt")["total"]
        both = on_json("report", "small", "b.txt", "--counts", "a.counts")
        assert [row["name"] for row in both["groups"]] == ["b.txt", "a.counts"]

    def test_report_reads_standard_input(self):
        found = on_json("report", "small", "-", stdin=TEXT.encode())
        assert found["total"] == on_json("report", "small", "a.txt")["total"]

    def test_report_prints_tables_in_utf8(self):
        printed = run("report", "small", "a.txt", "b.txt").stdout_bytes
        assert printed == f"{report(load('small'), ['a.txt', 'b.txt'], name='small')}\n".encode()

    def test_report_writes_a_page(self):
        result = run("report", "small", "a.txt", "--html", "pages/small.html")
        assert (result.stdout, result.stderr.splitlines()[-1]) == ("", "hf-bpe: saved in pages/small.html")
        found = report(load("small"), "a.txt", name="small")
        command = shlex.join(["hf-bpe", *sys.argv[1:]])
        assert Path("pages/small.html").read_text("utf-8") == found.to_html(command=command)


class TestCompare:
    def test_compare_matches_the_library(self):
        tokenizers = {name: load(name) for name in ("small", "large")}
        texts = {"a.txt": "a.txt", "y": "b.txt"}
        expected = compare(tokenizers, texts, reference="y").as_json()
        found = on_json("compare", "small", "large", "--on", "a.txt", "--group", "y=b.txt", "--reference", "y")
        assert found == json.loads(json.dumps(expected))
        printed = run("compare", "small", "large", "--on", "a.txt").stdout_bytes.decode()
        assert printed == f"{compare(tokenizers, 'a.txt')}\n"

    def test_tokenizers_with_equal_names_are_named_by_path(self):
        Path("other").mkdir()
        Path("small").rename("other/small")
        Path("large").rename("small")
        found = on_json("compare", "small", "other/small", "--on", "a.txt")
        assert [one["name"] for one in found["reports"]] == ["small", "other/small"]
