"""Most outputs are local paths: their writers refuse a URL before their work, and write nothing."""

import os
import zipfile
from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerFast

from hf_bpe import BPETokenizer, Source, WordCounts, count, train
from hf_bpe._utils.paths import check_destination, check_output, is_url
from hf_bpe.analysis import compare, report
from hf_bpe.editing import Remap
from hf_bpe.fast import accelerate
from support.cases import case
from support.commands import error, run

URLS = ["s3://bucket/x", "gs://b/x", "hf://datasets/a/b/x", "file:///tmp/x", "memory://x", "simplecache::s3://b/x"]


def fast_tokenizer(folder):
    tokenizer().save_pretrained(folder / "saved")
    return PreTrainedTokenizerFast.from_pretrained(folder / "saved")


def tokenizer():
    return BPETokenizer.train(["low lower lowest"], num_merges=2, eos_token="<|x|>", special_tokens=["<|x|>"])


# What writes → how, given a local folder and an output that ends in x.
WRITERS = {
    "train": lambda folder, url: train(["low"], num_merges=1, work_dir=Path(url)),
    "BPETokenizer.train": lambda folder, url: BPETokenizer.train(["low"], num_merges=1, work_dir=url),
    "save_pretrained, accelerated": lambda folder, url: accelerate(fast_tokenizer(folder)).save_pretrained(url),
    "save_vocabulary": lambda folder, url: tokenizer().save_vocabulary(url),
    "save_chat_templates": lambda folder, url: tokenizer().save_chat_templates(url, {}, None, None),
    "convert_to": lambda folder, url: tokenizer().convert_to(f"{url}.json"),
    "convert_to, folder": lambda folder, url: tokenizer().convert_to(Path(url)),
    "Remap.save": lambda folder, url: Remap({0: 0}).save(f"{url}.json"),
    "Report.to_html": lambda folder, url: report(tokenizer(), ["low"]).to_html(f"{url}.html"),
    "Comparison.to_html": lambda folder, url: compare({"a": tokenizer(), "b": tokenizer()}, ["low"]).to_html(Path(url)),
}

# TOK is a saved tokenizer, C a counts file.
COMMANDS = [
    "train a.txt --num-merges 1 -o {}",
    "train a.txt --num-merges 1 -o new --work-dir {}",
    "truncate TOK --vocab-size 257 -o {}",
    "truncate TOK --vocab-size 257 -o new --remap {}.json",
    "convert TOK {}",
    "convert TOK {}.json",
    "show TOK a.txt --html {}.html",
    "tree TOK low --html {}.html",
    "report TOK a.txt --html {}.html",
    "compare TOK TOK2 a.txt --html {}.html",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("low lower lowest")
    return tmp_path


def test_writers_refuse_a_url(folder):
    for name, write in WRITERS.items():
        message = r": expected a local path, got the URL 's3://bucket/x"
        with case(name), pytest.raises(ValueError, match=message):
            write(folder, "s3://bucket/x")
        assert {path.name for path in folder.iterdir()} <= {"a.txt", "saved"}


def test_commands_refuse_a_url(folder):
    tokenizer().save_pretrained("TOK")
    tokenizer().save_pretrained("TOK2")
    WordCounts({"low": 1}).save("C")
    before = {path.name for path in folder.iterdir()}
    for command in COMMANDS:
        said = error(*command.format("s3://bucket/x").split())
        assert "expected a local path, got the URL 's3://bucket/x" in said, command
        assert {path.name for path in folder.iterdir()} == before, command


def test_url_of_any_scheme_is_no_output():
    for url in (*URLS, *map(Path, URLS)):
        with case(url), pytest.raises(ValueError, match="path: expected a local path, got the URL"):
            check_output("path", url)


def test_url_given_as_text_stays_as_it_is():
    for url in ("hdfs:///data/c", "s3://b//c", "memory://x", "hdfs://host/data/c"):
        assert check_destination("output", url) == url
    assert check_destination("output", Path("s3://b/x")) == "s3://b/x"
    assert check_destination("output", "file:///tmp/x") == ("tmp/x" if os.name == "nt" else "/tmp/x")


def test_urls_of_files_name_local_files(folder):
    odd = folder / "a b" / "100%41 é [1]#?"
    odd.mkdir(parents=True)
    (odd / "low.txt").write_text("low lower lowest")
    url, texts, expected = odd.as_uri(), (odd / "low.txt").as_uri(), count(["low lower lowest"])
    assert "%20" in url
    with zipfile.ZipFile(odd.parent / "all.zip", "w") as archive:
        archive.write(odd / "low.txt", "a.txt")
    packed = f"{odd.parent.as_uri()}/all.zip"
    for source in (texts, url, [texts], Source(texts), f"zip://a.txt::{packed}", f"zip://*.txt::{packed}"):
        assert count(source) == expected, source
    count(texts).save(f"{url}/x.counts")
    assert WordCounts.load(f"{url}/x.counts") == WordCounts.load(odd / "x.counts") == expected
    tokenizer().save_pretrained(f"{url}/tok")
    assert BPETokenizer.convert_from(f"{url}/tok").model == tokenizer().model
    tokenizer().encode_files(texts, f"{url}/ids.npy")
    run("encode-files", f"{url}/tok", texts, "-o", f"{url}/cli.npy")
    assert (odd / "ids.npy").read_bytes() == (odd / "cli.npy").read_bytes()


def test_local_file_whose_name_has_a_colon_is_written(folder):
    counts = WordCounts({"low": 1})
    names = ["12:30.counts", "a:b.counts", "sub:1/a.counts"] if os.name == "posix" else ["a.counts"]
    for name in names:
        counts.save(name)
        counts.save(Path(name))
        assert WordCounts.load(name) == counts
    counts.save(str(folder / "absolute.counts"))


def test_path_of_windows_is_no_url():
    for path in (r"C:\data\x.npy", "C:/data/x.npy", r"\\server\share\x", "//server/x"):
        assert check_output("path", path) == path
        assert not is_url(path)
