import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hf_bpe import train_bpe

ROOT = Path(__file__).resolve().parent.parent

WRONG_PEER = """
from benchmarks.peers import hf_bpe

DISTRIBUTION = "hf_bpe"

class Training(hf_bpe.Training):
    def outcome(self):
        merges = super().outcome()
        return [*merges[:3], merges[4], merges[3], *merges[5:]]
"""


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "ARCHITECTURE.md")]
    path.write_text("<|endoftext|>".join([*pages, "", "naïve 你好\n\n\n"]), encoding="utf-8")
    return path


def run(tmp_path, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
    )


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
    assert all(peer["version"] and peer["door"] for peer in result["contenders"].values())
    assert len(result["runs"]) == 3
    for one in result["runs"]:
        assert one["seconds"] > 0
        assert one["cpu_seconds"] > 0
        assert one["peak_bytes"] >= one["start_bytes"] > 1_000_000
        assert one["hand_over_seconds"] >= 0
        assert (one["reading_seconds"] is None) == one["contender"].startswith("hf_bpe")
        assert "outcome" not in one
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


def test_splitting_is_compared_and_timed(tmp_path, text):
    output = tmp_path / "splitting.json"
    peers = ["hf_bpe", "regex", "tokenizers"]
    done = run(tmp_path, "splitting", text, "--peers", *peers, "--repeats", 1, "--output", output)
    assert done.returncode == 0, done.stderr
    assert "hf_bpe, regex, tokenizers give the same" in done.stderr
    result = json.loads(output.read_text(encoding="utf-8"))
    assert sorted(row["contender"] for row in result["summary"]) == sorted(peers)
    assert all(row["megabytes_per_second"] > 0 for row in result["summary"])


def test_merges_are_found_from_ranks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks.peers._merges import from_ranks

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    vocab, merges = train_bpe([text], vocab_size=600)
    assert from_ranks({token: rank for rank, token in vocab.items()}) == merges
