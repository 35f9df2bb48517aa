"""The page of comparisons in which other tools are faster, and the texts that it is about."""

import json
import random

import pytest

from support.benchmarking import ROOT


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import faster_peers, kinds

    return faster_peers, kinds


def result(threads=1, **changes):
    contenders = {"hf_bpe:numpy": 100.0, "fast:numpy": 120.0, "slow:lists": 50.0}
    rows = [
        {
            **{"subject": "english", "contender": name, "threads": threads, "megabytes_per_second": speed},
            **{"live_bytes": 9e6, "times_as_fast_as": {other: speed / own for other, own in contenders.items()}},
        }
        for name, speed in contenders.items()
    ]
    return {
        "benchmark": "encoding",
        "date": "2026-11-26T00:00:00+00:00",
        "machine": {"processor": "P", "cores": 2, "python": "3.11", "load_before": 0.1},
        "options": {"repeats": 3, "size": 200, "vocabulary": {"pattern": "gpt2"}},
        "contenders": {name: {"version": "1"} for name in contenders},
        "summary": rows,
        "left_out": [{"subject": "english", "contender": "odd:numpy", "threads": threads, "reason": "other ids"}],
        **changes,
    }


def test_the_page_is_what_the_results_say(benchmarks):
    page = benchmarks[0].page
    collected = json.loads((ROOT / "benchmarks" / "results" / "cells.json").read_text(encoding="utf-8"))
    written = (ROOT / "docs" / "explanation" / "where-other-tools-are-faster.md").read_text(encoding="utf-8")
    assert written == page(collected)


def test_a_faster_peer_is_listed_and_one_with_other_ids_left_out(benchmarks):
    faster_peers, _ = benchmarks
    collected = faster_peers.collect([result()])
    text = faster_peers.page(collected)
    assert "## Faster in 1 of 2 comparisons" in text
    assert "| English | GPT-2 | 200 bytes | 1 | fast | 1.20 |" in text
    assert "| English | GPT-2 | 200 bytes | 1 | 100 / 9 | 120 / 9 | 50 / 9 |" in text
    assert "| English | GPT-2 | 200 bytes | 1 | odd | other ids |" in text
    del collected["cells"][0]["peers"]["fast"]
    assert "No other library is faster in any comparison" in faster_peers.page(collected)


def test_results_of_other_machines_or_versions_are_refused(benchmarks):
    faster_peers, _ = benchmarks
    one = result()
    for other in (
        result(machine={**one["machine"], "cores": 3}),
        result(contenders={"hf_bpe:numpy": {"version": "2"}}),
        result(options={**one["options"], "repeats": 4}),
    ):
        with pytest.raises(ValueError, match="expected results of one machine"):
            faster_peers.collect([one, other])
    with pytest.raises(ValueError, match="expected results of encoding"):
        faster_peers.collect([result(benchmark="cold")])


def test_kinds_of_text_are_made_of_documents_and_always_the_same(benchmarks):
    _, kinds = benchmarks
    words = ["One. Two three four five.\n\nSix seven eight", "Nine, ten.\n\nEleven twelve thirteen"]
    documents = words, words, ["def f():\n    return 1\n" * 20, "x = 1\n" * 30]
    for kind, sign in {
        **{"added_tokens": "<|", "agent_traces": '"tool": "read_file"', "json": '"score"'},
        **{"chats_chatml": "<|im_start|>user\n", "chats_llama3": "<|eot_id|>", "chats_deepseek": "<｜Assistant｜>"},
    }.items():
        text = kinds.make(kind, documents, 10**6)
        assert sign in text
        assert text == kinds.make(kind, documents, 10**6)
        assert kinds.make(kind, documents, 1) == text.split("<|endoftext|>")[0]
    assert {*kinds.KINDS} == {*kinds.KINDS} & {*benchmarks[0].NAMES}
    json.loads(kinds.make("json", documents, 1))


def test_samples_are_whole_documents(benchmarks, tmp_path):
    _, kinds = benchmarks
    documents = [f"document {random.Random(i).random()}" for i in range(9)]
    (tmp_path / "text.txt").write_text("<|endoftext|>".join(documents), encoding="utf-8")
    chosen = kinds.sample(tmp_path / "text.txt", 60).split("<|endoftext|>")
    assert {*chosen} < {*documents}
    assert sum(map(len, chosen)) >= 60
