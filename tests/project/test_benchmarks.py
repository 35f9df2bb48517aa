"""Benchmarks refuse results that differ before they time anything, and the page is what their results say."""

import json
import os
import subprocess
import sys

import pytest

import hf_bpe
from hf_bpe.conversion import write_gpt2
from support.processes import PATIENCE
from support.profiles import thorough
from support.project import ROOT

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


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md")]
    path.write_text("<|endoftext|>".join([*pages, "", "naïve 你好\n\n\n"]), encoding="utf-8")
    return path


@pytest.fixture
def gpt2(tmp_path, text):
    made = tmp_path / "gpt2"
    made.mkdir()
    write_gpt2(hf_bpe.train([text], 600, ["<|endoftext|>"], pattern="gpt2"), made)
    return made


def run(tmp_path, *arguments):
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "benchmarks", *map(str, arguments)]
    options = {"env": {**os.environ, "PYTHONPATH": path}, "capture_output": True, "encoding": "utf-8"}
    return subprocess.run(command, cwd=ROOT, check=False, timeout=PATIENCE, **options)


def measure(tmp_path, task, *arguments):
    output = tmp_path / f"{task}.json"
    done = run(tmp_path, task, *arguments, "--repeats", 1, "--output", output)
    return done, json.loads(output.read_text(encoding="utf-8")) if output.exists() else None


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
            assert ratio == pytest.approx(times[name] / row["seconds"], rel=1e-3)


def test_wrong_merges_are_refused_before_anything_is_timed(tmp_path, text):
    (tmp_path / "wrong_peer.py").write_text(WRONG_PEER, encoding="utf-8")
    done, output = train(tmp_path, text, "hf_bpe", "wrong_peer")
    assert done.returncode == 1
    assert "hf_bpe (1 thread) and wrong_peer (1 thread) differ, and must not: merge 4 of 43 is" in done.stderr
    assert "round 1" not in done.stderr
    assert done.stdout == ""
    assert not output.exists()


@thorough
@pytest.mark.parametrize("task", ["encoding", "decoding"])
def test_wrong_ids_and_texts_are_refused_before_timing(tmp_path, text, gpt2, task):
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


def test_page_of_faster_peers_is_what_the_results_say(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.faster_peers import page

    collected = json.loads((ROOT / "benchmarks" / "results" / "cells.json").read_text(encoding="utf-8"))
    written = (ROOT / "docs" / "explanation" / "where-other-tools-are-faster.md").read_text(encoding="utf-8")
    assert written == page(collected)
