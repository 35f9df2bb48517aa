"""The password of a URL is in no message, no log, and no file that is written."""

import logging
import traceback

import pytest

from hf_bpe import BPETokenizer, Source, WordCounts, count, plan
from hf_bpe.analysis import compare, report
from hf_bpe.token_files import merge_manifests
from support.cases import case
from support.commands import run

fsspec = pytest.importorskip("fsspec")

AT = "user:secret@127.0.0.1:9"  # where nothing listens
END = "<|endoftext|>"


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(["low lower"], num_merges=3, special_tokens=[END])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\n')
    return tmp_path


def outcome(call, *arguments, **options):
    """Return what is shown of a call: its error with all causes that are printed, or its result."""
    try:
        return repr(call(*arguments, **options))
    except (OSError, ValueError, ImportError) as error:
        return "".join(traceback.format_exception(error)[-1:]) + str(error.__cause__)


def reading(tokenizer):
    """Return the ways to read a source of text, by name."""
    options = {"format": "npy", "overwrite": True}
    return {
        "plan": lambda source: [repr(shard) for shard in plan(source)],
        "count": lambda source: count(source, work_dir="counting").save("c.counts"),
        "train": lambda source: BPETokenizer.train(source, num_merges=1).save_pretrained("model"),
        "encode_files": lambda source: tokenizer.encode_files(source, "ids.npy", work_dir="work", **options),
        "report": lambda source: report(tokenizer, source),
        "compare": lambda source: compare([tokenizer], source),
    }


# Without a connection, a file system, a file; a link of a chain; a file that is read, and lines that cannot be.
@pytest.mark.parametrize(
    "url",
    [
        *(f"http://{AT}/a.jsonl", f"unknown://{AT}/a.jsonl", f"memory://{AT}/none.jsonl"),
        *(f"zip://a.jsonl::http://{AT}/a.zip", f"memory://{AT}/good.jsonl", f"memory://{AT}/bad.jsonl"),
    ],
)
def test_password_of_a_source_is_nowhere(tokenizer, folder, caplog, url):
    caplog.set_level(logging.INFO)
    for name, content in (("good", '{"text": "low"}\n'), ("bad", '{"text": "low"}\n3\n')):
        fsspec.filesystem("memory").pipe(f"/{AT}/{name}.jsonl", content.encode())
    for name, read in reading(tokenizer).items():
        for source in (url, Source(url, on_error="skip")):
            with case(name, source):
                assert "secret" not in outcome(read, source)
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert (len(written) > 5) == ("good" in url or "bad" in url)
    assert not [path for path in written if b"secret" in path.read_bytes()]
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    "url", [f"{protocol}://{AT}/a" for protocol in ("http", "unknown", "memory", "memory://x::s3")]
)
def test_password_of_a_file_or_an_output_is_nowhere(tokenizer, caplog, url):
    caplog.set_level(logging.INFO)
    fsspec.filesystem("memory").pipe(f"/{AT}/a", b"a file where a folder is expected")
    calls = {
        "convert_from": (BPETokenizer.convert_from, url),
        "from_pretrained": (BPETokenizer.from_pretrained, url),
        "load": (WordCounts.load, url),
        "save": (count(["low"]).save, f"{url}/b"),
        "save_pretrained": (tokenizer.save_pretrained, f"{url}/b"),
        "convert_to": (tokenizer.convert_to, f"{url}/b.tiktoken", "tiktoken"),
        "merge_manifests": (merge_manifests, f"{url}/b.npy"),
        "output": (lambda: tokenizer.encode_files("a.jsonl", f"{url}/b.npy") and None,),
        "work_dir": (lambda: tokenizer.encode_files("a.jsonl", "b.npy", work_dir=f"{url}/b") and None,),
    }
    for name, (call, *arguments) in calls.items():
        with case(name):
            assert "secret" not in outcome(call, *arguments)
    assert "secret" not in caplog.text


def test_password_is_not_in_the_output_of_commands(tokenizer):
    tokenizer.save_pretrained("tok")
    url = f"http://{AT}/a.jsonl"
    for arguments in (
        *(("count", url, "-o", "c"), ("train", url, "-o", "t"), ("encode-files", "tok", url, "-o", "ids.npy")),
        *(("report", "tok", url), ("inspect", url), ("convert", url, "x"), ("verify", url)),
    ):
        result = run(*arguments, code=None)
        assert "secret" not in result.stdout + result.stderr
