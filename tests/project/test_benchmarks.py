import base64
import gzip
import json
import os
import shutil
import subprocess
import sys

import pytest

import hf_bpe
from hf_bpe import train_bpe
from support.benchmarking import ROOT, measure, run, write_gpt2_folder, write_text
from support.profiles import by_profile, thorough

WRONG_PEER = """
from benchmarks.peers import hf_bpe

DISTRIBUTION = "hf_bpe"

class Training(hf_bpe.Training):
    def outcome(self):
        merges = super().outcome()
        return [*merges[:3], merges[4], merges[3], *merges[5:]]
"""

WRONG_ENCODER = """
from benchmarks.encoders import tiktoken

DISTRIBUTION = "tiktoken"

class Tokenizer(tiktoken.Tokenizer):
    def __init__(self, job):
        super().__init__(job)
        encode = self.encode_one
        self.encode_one = lambda text: encode(text)[::-1]

    def encode_lists(self, texts):
        return [ids if len(ids) % 2 else ids[::-1] for ids in super().encode_lists(texts)]

    def decode(self, sequences):
        return [text.upper() for text in super().decode(sequences)]
"""

TIKTOKEN = "from benchmarks.encoders.tiktoken import *\n"

PEERS = ["hf_bpe", "tiktoken", "tokenizers", *by_profile(quick=[], thorough=["transformers"])]


@pytest.fixture
def text(tmp_path):
    return write_text(tmp_path)


@pytest.fixture
def gpt2(tmp_path, text):
    return write_gpt2_folder(tmp_path, text)


def train(tmp_path, text, *peers):
    output = tmp_path / "results" / "training.json"
    options = ["--vocab-size", 300, "--repeats", 1, "--witnesses", "--output", output]
    return run(tmp_path, "training", text, "--peers", *peers, *options), output


def test_training_is_compared_and_timed(tmp_path, text):
    done, output = train(tmp_path, text, "hf_bpe", "hf_bpe:lexicographic", "tokenizers")
    assert done.returncode == 0, done.stderr
    assert "huggingface ties: hf_bpe, tokenizers give the same 43 merges." in done.stderr
    assert "tokenizers" in done.stdout

    result = json.loads(output.read_text(encoding="utf-8"))
    assert result["benchmark"] == "training"
    assert result["options"]["vocab_size"] == 300
    assert result["machine"]["cores"] >= 1
    assert result["files"][0]["name"] == "text.txt"
    assert result["files"][0]["bytes"] == text.stat().st_size
    assert [peer["ties"] for peer in result["contenders"].values()] == ["huggingface", "lexicographic", "huggingface"]
    assert all(peer["version"] and peer["entry_point"] for peer in result["contenders"].values())
    assert "runs" not in result  # of which there are too many to keep
    assert len(result["summary"]) == 3
    for row in result["summary"]:
        assert row["seconds"] > 0
        assert row["cpu_seconds"] > 0
        assert row["peak_bytes"] > 1_000_000
        assert row["hand_over_seconds"] >= 0
        assert (row["reading_seconds"] is None) == row["contender"].startswith("hf_bpe")
    times = {row["contender"]: row["seconds"] for row in result["summary"]}
    for row in result["summary"]:
        for name, ratio in row["times_as_fast_as"].items():
            assert ratio == pytest.approx(times[name] / row["seconds"])


def test_wrong_merges_are_refused_before_anything_is_timed(tmp_path, text):
    (tmp_path / "wrong_peer.py").write_text(WRONG_PEER, encoding="utf-8")
    done, output = train(tmp_path, text, "hf_bpe", "wrong_peer")
    assert done.returncode == 1
    assert "hf_bpe (1 thread) and wrong_peer (1 thread) differ, and must not: merge 4 of 43 is" in done.stderr
    assert "round 1" not in done.stderr
    assert done.stdout == ""
    assert not output.exists()


def test_a_peer_that_is_missing_is_named(tmp_path, text):
    done, _ = train(tmp_path, text, "no_such_peer")
    assert done.returncode == 1
    assert "error: no_such_peer: ModuleNotFoundError" in done.stderr


def test_ties_that_a_peer_cannot_do_are_refused(tmp_path, text):
    done, _ = train(tmp_path, text, "tokenizers:lexicographic")
    assert done.returncode == 1
    assert "ties 'lexicographic' are not known; expected one of huggingface" in done.stderr


def test_merges_are_found_from_ranks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.peers._merges import from_ranks

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    vocab, merges = train_bpe([text], vocab_size=600)
    assert from_ranks({token: rank for rank, token in vocab.items()}) == merges


@thorough
@pytest.mark.parametrize(
    "options",
    [["--into", "lists"], ["--into", "numpy"], ["--warm"]],
)
def test_encoding_is_compared_and_timed(tmp_path, text, gpt2, options):
    peers = [peer if peer in ("hf_bpe", "tiktoken") else f"{peer}:lists" for peer in PEERS]
    other = tmp_path / "other.txt"
    other.write_text("one 1\n<|endoftext|>two 2\n", encoding="utf-8")
    done, result = measure(tmp_path, "encoding", text, other, "--gpt2", gpt2, "--peers", *peers, *options)
    assert done.returncode == 0, done.stderr
    assert f"text: {', '.join(PEERS)} give the same for" in done.stderr
    assert f"other: {', '.join(PEERS)} give the same for 2 texts." in done.stderr
    assert "speed / tiktoken's" in done.stdout
    assert result["options"]["vocabulary"]["pattern"] == "gpt2"
    assert sorted({(row["subject"], row["contender"].partition(":")[0]) for row in result["summary"]}) == sorted(
        (subject, peer) for subject in ("text", "other") for peer in PEERS
    )
    for row in result["summary"]:
        assert row["megabytes_per_second"] > 0
        assert row["peak_bytes"] > 1_000_000
        assert len(row["times_as_fast_as"]) == len(PEERS)


@thorough
def test_rank_files_are_another_way_to_give_a_vocabulary(tmp_path, text):
    vocab, _ = train_bpe([text.read_text(encoding="utf-8")], vocab_size=600, pattern="cl100k")
    ranks = tmp_path / "own.tiktoken"
    lines = [f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in vocab.items()]
    ranks.write_text("".join(lines), encoding="utf-8")
    options = ["--ranks", ranks, "--vocabulary", "cl100k", "--peers", *PEERS]
    done, result = measure(tmp_path, "encoding", text, *options)
    assert done.returncode == 0, done.stderr
    assert result["options"]["vocabulary"]["tokens"] == 601  # with the special token


@thorough
def test_a_tokenizer_json_that_takes_whole_words_first_is_a_third_way(tmp_path, text, gpt2):
    hf_bpe.BPETokenizer.train(
        [text], vocab_size=600, special_tokens=["<|endoftext|>"], pattern="llama3"
    ).save_pretrained(tmp_path)
    path = tmp_path / "tokenizer.json"
    options = ["--tokenizer-json", path, "--vocabulary", "llama3", "--peers", "hf_bpe", "tiktoken", "tokenizers"]
    done, _ = measure(tmp_path, "encoding", text, *options)
    assert done.returncode == 1
    assert "expected a model that takes whole words first; give its ranks" in done.stderr
    content = json.loads(path.read_text(encoding="utf-8"))
    content["model"]["ignore_merges"] = True
    path.write_text(json.dumps(content), encoding="utf-8")
    done, _ = measure(tmp_path, "encoding", text, *options)
    assert done.returncode == 0, done.stderr


@thorough
@pytest.mark.parametrize("task", ["encoding", "decoding"])
def test_wrong_ids_and_texts_are_refused_before_anything_is_timed(tmp_path, text, gpt2, task):
    (tmp_path / "wrong_peer.py").write_text(WRONG_ENCODER, encoding="utf-8")
    done, result = measure(tmp_path, task, text, "--gpt2", gpt2, "--peers", "tiktoken", "wrong_peer")
    assert done.returncode == 1
    assert "differ, and must not: text " in done.stderr
    assert "round 1" not in done.stderr
    assert done.stdout == ""
    assert result is None


def test_peers_with_other_ids_or_errors_can_be_left_out(tmp_path, text, gpt2):
    (tmp_path / "wrong_peer.py").write_text(WRONG_ENCODER, encoding="utf-8")
    peers = ["tiktoken", "wrong_peer", "tokenizers:numpy", "hf_bpe"]
    done, result = measure(tmp_path, "encoding", text, "--gpt2", gpt2, "--leave-out", "--peers", *peers)
    assert done.returncode == 0, done.stderr
    reasons = {one["contender"]: one["reason"] for one in result["left_out"]}
    assert reasons["wrong_peer:lists"] == "other ids"
    assert "no entry point for encoding" in reasons["tokenizers:numpy"]
    assert {row["contender"] for row in result["summary"]} == {"tiktoken:lists", "hf_bpe:lists"}
    assert all(0 < row["live_bytes"] <= row["peak_bytes"] for row in result["summary"])


def test_a_peer_runs_in_the_python_that_a_variable_names(tmp_path, text, gpt2, monkeypatch):
    other = tmp_path / "python"
    other.write_text(f'#!/bin/sh\nOF_ANOTHER=1 exec "{sys.executable}" "$@"\n', encoding="utf-8")
    other.chmod(0o755)
    (tmp_path / "here.py").write_text("import os\nassert 'OF_ANOTHER' not in os.environ\n" + TIKTOKEN, encoding="utf-8")
    (tmp_path / "there.py").write_text("import os\nassert 'OF_ANOTHER' in os.environ\n" + TIKTOKEN, encoding="utf-8")
    monkeypatch.setenv("BENCHMARKS_PYTHON_THERE", str(other))
    done, _ = measure(tmp_path, "encoding", text, "--gpt2", gpt2, "--peers", "here", "there")
    assert done.returncode == 0, done.stderr


def test_peer_without_an_entry_point_is_named(tmp_path, text, gpt2):
    done, _ = measure(tmp_path, "encoding", text, "--gpt2", gpt2, "--peers", "tokenizers:numpy")
    assert done.returncode == 1
    assert (
        "error: tokenizers:numpy: ValueError: tokenizers has no entry point for encoding: encode_numpy" in done.stderr
    )


@thorough
@pytest.mark.parametrize("task", ["decoding", "latency", "loading"])
def test_other_tasks_are_compared_and_timed(tmp_path, text, gpt2, task):
    arguments = {"decoding": [text], "latency": ["--calls", 100], "loading": []}[task]
    done, result = measure(tmp_path, task, *arguments, "--gpt2", gpt2, "--peers", *PEERS)
    assert done.returncode == 0, done.stderr
    assert f"{', '.join(PEERS)} give the same" in done.stderr
    assert sorted(row["contender"] for row in result["summary"]) == sorted(PEERS)
    assert all(row["seconds"] > 0 and row["import_seconds"] > 0 for row in result["summary"])


def test_slices_are_of_equal_size_and_hold_all_the_text(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.slices import read_slices

    path = tmp_path / "text.txt"
    lines = "".join(f"line {number} naïve 你好\n" for number in range(2000))
    path.write_text("<|endoftext|>".join([lines, *["é" * 9500] * 7]), encoding="utf-8")
    (whole,) = read_slices((str(path),), 1)
    assert "".join(whole.values()) == lines + "é" * 9500 * 7
    assert all(1000 <= len(text.encode()) <= 9000 for text in whole.values() if text[-1] == "\n" and text not in lines)
    slices = read_slices((str(path),), 3)
    assert {name: text for part in slices for name, text in part.items()} == whole
    with pytest.raises(ValueError, match="fewer documents than the 9 slices"):
        read_slices((str(path),), 9)


@thorough
def test_cold_runs_need_text_for_every_round(tmp_path, text, gpt2):
    done, _ = measure(tmp_path, "cold", text, "--gpt2", gpt2, "--peers", "hf_bpe")
    assert done.returncode == 1
    assert "too little text for 1 rounds of 1 MB; give fewer repeats" in done.stderr


@thorough
def test_the_first_texts_of_a_process_are_compared_and_timed(tmp_path, gpt2):
    long = tmp_path / "long.txt"
    long.write_text("<|endoftext|>".join(f"Text {number} of many. " * 300 for number in range(300)), encoding="utf-8")
    done, result = measure(tmp_path, "cold", long, "--gpt2", gpt2, "--peers", "hf_bpe", "tokenizers:lists")
    assert done.returncode == 0, done.stderr
    assert "long, first 4 kB: hf_bpe, tokenizers give the same for 1 text." in done.stderr
    assert "long, next 1 MB: hf_bpe, tokenizers give the same for 250 texts." in done.stderr
    assert {round(row["megabytes_per_second"] * row["seconds"], 3) for row in result["summary"]} == {0.004, 1}


@pytest.mark.skipif(shutil.which("dpkg-deb") is None, reason="dpkg-deb is not installed")
def test_corpora_are_made_of_the_texts_in_packages(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import corpora

    files = tmp_path / "package" / "usr"
    (tmp_path / "package" / "DEBIAN").mkdir(parents=True)
    (tmp_path / "package" / "DEBIAN" / "control").write_text(
        "Package: words\nVersion: 1\nArchitecture: all\nMaintainer: me\nDescription: words\n"
    )
    files.mkdir()
    pages = {f"{name}.html": f"<p>{name} &amp; more </p>\n\n\n" * 60 for name in ("one", "two")}
    others = {"short.txt": "too short", "same.html": pages["one.html"], "main.c": "int x;\n" * 100, "x.bin": "\0" * 900}
    for name, content in {**pages, **others}.items():
        (files / name).write_text(content)
    (files / "three.txt.gz").write_bytes(gzip.compress(b"three words\n" * 60))
    subprocess.run(
        ["dpkg-deb", "--build", tmp_path / "package", tmp_path / "words.deb"], check=True, capture_output=True
    )
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "apt-get").write_text(f'#!/bin/sh\n[ "$2" = words ] && cp {tmp_path}/words.deb .\n')
    (programs / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(corpora, "PACKAGES", {"english": ["words", "missing"], "code": ["words"]})

    assert corpora.make("english", tmp_path / "english.txt", 100_000) == 3
    texts = (tmp_path / "english.txt").read_text().split("<|endoftext|>")
    paragraphs = {"\n\n".join([f"{name} & more"] * 60) for name in ("one", "two")}
    assert {*texts} == paragraphs | {"\n".join(["three words"] * 60), ""}
    assert corpora.make("code", tmp_path / "code.txt", 100_000) == 1
    assert corpora.make("english", tmp_path / "english.txt", 500) == 1
