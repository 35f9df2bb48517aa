"""--download, and from_pretrained of a repository, with a server in place of the Hub."""

import contextlib
import hashlib
import http.server
import json
import os
import subprocess
import threading

import pytest

from hf_bpe import BPETokenizer
from support.commands import program, run
from support.processes import run_code
from support.profiles import thorough

_COMMIT = "a" * 40


class _Hub(http.server.BaseHTTPRequestHandler):
    """The Hub as far as huggingface_hub asks for the files of one repository, `some/tokenizer`."""

    def do_GET(self):
        path = self.path.partition("?")[0]
        files = {file.name: file.read_bytes() for file in self.server.folder.iterdir()}
        name = path.removeprefix(f"/some/tokenizer/resolve/{_COMMIT}/")
        headers = {"X-Repo-Commit": _COMMIT}
        if path.startswith("/api/models/some/tokenizer/tree/"):  # newer releases of huggingface_hub ask for this
            listed = [{"type": "file", "path": name, "size": len(data), "oid": ""} for name, data in files.items()]
            status, body = 200, json.dumps(listed).encode()
        elif path.startswith("/api/models/some/tokenizer/"):
            listed = [{"rfilename": name} for name in files]
            status, body = 200, json.dumps({"id": "some/tokenizer", "sha": _COMMIT, "siblings": listed}).encode()
        elif name in files:
            status, body = 200, files[name]
            headers["ETag"] = f'"{hashlib.sha1(body).hexdigest()}"'  # as the Hub does
        else:
            status, body = (403, b"{}") if "gated" in path else (404, b"{}")
            missing = "EntryNotFound" if path.startswith("/some/tokenizer/") else "RepoNotFound"
            headers["X-Error-Code"] = "GatedRepo" if "gated" in path else missing
        self.send_response(status)
        for each in {**headers, "Content-Length": len(body)}.items():
            self.send_header(*map(str, each))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def hub_of(folder, cache):
    """Serve a folder as the only repository; yield the environment of programs for which this is the Hub."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    server.folder = folder
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    yield {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(cache), "NO_PROXY": "127.0.0.1"}
    server.shutdown()
    server.server_close()


@pytest.fixture
def hub(folder, tmp_path):
    with hub_of(folder, tmp_path / "cache") as environment:
        yield environment


def test_repository_is_downloaded_once(hub, folder, tmp_path):
    for environment in (hub, {**hub, "HF_HUB_OFFLINE": "1"}):
        options = {"input": b"low", "env": environment, "stdout": subprocess.PIPE, "cwd": tmp_path}
        done = program("encode", "some/tokenizer", "--download", **options)
        assert done.stderr == b""
        assert done.stdout == run("encode", folder, stdin=b"low").stdout_bytes


def test_from_pretrained_downloads_a_tiktoken_vocabulary(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    BPETokenizer.train(["low lower lowest"] * 3, num_merges=5, pattern="kimi-k2").convert_to(folder / "x.tiktoken")
    (folder / "x.tiktoken").rename(folder / "tiktoken.model")
    (folder / "x.tiktoken.json").unlink()
    auto_map = {"AutoTokenizer": ["tokenization_kimi.TikTokenTokenizer", None]}
    (folder / "tokenizer_config.json").write_text(json.dumps({"auto_map": auto_map}))
    code = """
from hf_bpe import BPETokenizer
tokenizers = (BPETokenizer.from_pretrained("some/tokenizer", local_files_only=only) for only in (False, True))
print(json.dumps([tokenizer.encode("low lower") for tokenizer in tokenizers]))"""
    expected = BPETokenizer.from_pretrained(folder).encode("low lower")
    assert len(expected) < 9
    with hub_of(folder, tmp_path / "cache") as online:
        assert run_code(code, **{**online, "HF_HUB_OFFLINE": "0"}) == [expected, expected]


@thorough
@pytest.mark.parametrize(
    ("name", "message"),
    [("no/such", "no/such: no public repository of the Hub"), ("gated/one", "gated/one: accept its terms on the Hub")],
)
def test_refusals_of_the_hub_are_named(hub, tmp_path, name, message):
    done = program("encode", name, "--download", input=b"", env=hub, stdout=subprocess.PIPE, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode().startswith(f"hf-bpe: error: {message}")


@thorough
def test_unreachable_hub_is_named(hub, tmp_path):
    done = program(
        "encode", "a/b", "--download", env={**hub, "HF_ENDPOINT": "http://127.0.0.1:9"}, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 1
    assert done.stderr.decode().startswith("hf-bpe: error: a/b: cannot be downloaded: ")
