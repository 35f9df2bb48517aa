"""Counts are equal however the work is split, limited in memory, interrupted and resumed."""

import functools
import gzip
import importlib.util
import itertools
import json
import logging
import os
import random
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import Source, count, plan, train
from hf_bpe._utils import memory
from hf_bpe.counting import _count as counting
from hf_bpe.reference import count_pre_tokens
from support.cases import case
from support.profiles import by_profile, scaled
from support.strategies import patterns, texts

SPECIAL = "<|endoftext|>"
SETTINGS = {"special_tokens": [SPECIAL]}
DOCUMENT_WORDS = by_profile(quick=300, thorough=2000)
ROOM = by_profile(quick=300_000, thorough=2_000_000)
"""Bytes of memory in which the words of `corpus` do not fit."""
TINY = 40  # bytes a batch, so that a few words make several batches


def counted(documents, pattern="gpt2"):
    return count_pre_tokens([document.encode() for document in documents if document], pattern)


@pytest.fixture
def corpus(tmp_path):
    """A folder of files with distinct words, some of which are in several."""
    generator = random.Random(0)
    folder = tmp_path / "corpus"
    folder.mkdir()
    for number in range(6):
        documents = [
            " ".join(f"word{generator.randrange(30_000)}" for _ in range(generator.randrange(1, DOCUMENT_WORDS)))
            for _ in range(20)
        ]
        (folder / f"{number}.txt").write_text(SPECIAL.join(documents))
    return folder


def expected_of(corpus):
    total = Counter()
    for path in corpus.glob("*.txt"):
        total += counted(path.read_text().split(SPECIAL))
    return dict(total)


@settings(max_examples=by_profile(quick=8, thorough=40))
@given(st.lists(st.lists(texts, max_size=3), min_size=1, max_size=4), patterns, st.integers(1, 3), st.integers(1, 99))
def test_counts_are_equal_for_any_split_of_the_work(tmp_path_factory, parts, pattern, workers, shard_bytes):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path_factory.mktemp("parts")
    documents = [document for part in parts for document in part]
    settings = {"pattern": pattern, "special_tokens": ["<x>"], "num_workers": workers}
    whole = count(iter(documents), **settings)
    assert dict(whole.items()) == counted([piece for document in documents for piece in document.split("<x>")], pattern)
    for number, part in enumerate(parts):
        (folder / f"{number}.txt").write_bytes("<x>".join(part).encode())
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part)
        (folder / f"{number}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
        column = pyarrow.array(part, pyarrow.string())
        parquet.write_table(pyarrow.table({"text": column}), folder / f"{number}.parquet", row_group_size=2)
    for pattern in ("*.txt", "*.jsonl.gz", "*.parquet"):
        files = sorted(folder.glob(pattern))
        assert count(files, **settings) == whole
        shards = plan(files[::-1], shard_bytes=shard_bytes)
        assert count(shards, **settings) == whole
        halves = [count(shards[index::2], **settings) for index in range(2)]
        assert halves[1].merge(halves[0]) == whole


@pytest.mark.parametrize("weight", [0.1, Fraction(1, 3), 1000])
def test_weights_are_exact(weight):
    texts = ["low low lower", "lower lowest"]
    counts = count([Source(iter(texts[:1]), weight=weight), Source(iter(texts[1:]))])
    separate = [count([text]) for text in texts]
    assert separate[0].merge(separate[1], weights=[weight, 1]) == counts
    assert [source.weight for source in counts.sources] == [str(Fraction(str(weight))), "1"]


def test_weights_past_64_bits_are_refused():
    with pytest.raises(OverflowError, match="exceed 64 bits; choose rounder weights"):
        count([Source(["low"], weight="1/1000000"), Source(["low"], weight=10**15)])
    with pytest.raises(OverflowError, match="2\\*\\*64"):
        count([Source(["low " * 100], weight=2**62)])


@scaled
def test_little_memory_gives_the_same_counts(corpus, monkeypatch, caplog):
    expected = expected_of(corpus)
    monkeypatch.setattr(counting, "_room", lambda limit: ROOM)
    with caplog.at_level(logging.INFO, "hf_bpe"):
        counts = count(corpus, max_memory=memory.resident_bytes() + 10**9, **SETTINGS)
    assert caplog.text.count("memory limit reached") >= 2
    assert dict(counts.items()) == expected
    assert counts == count(corpus, **SETTINGS)
    # Learning takes what is left of the memory; the process that runs the tests may have much of it.
    most = memory.resident_bytes() + 10**9
    assert train(corpus, 1000, [SPECIAL], max_memory=most) == train(corpus, 1000, [SPECIAL])


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures what Linux reports")
def test_the_memory_of_the_process_stays_below_its_bound(tmp_path):
    generator = random.Random(0)
    with (tmp_path / "many-words.txt").open("w") as file:
        for _ in range(60 if importlib.util.find_spec("hf_bpe._native") else 15):
            file.write(" ".join(str(generator.randrange(10**9)) for _ in range(50_000)))
    code = """
import sys
from hf_bpe import count
counts = count(sys.argv[1], max_memory=sys.argv[2], num_workers=2) if sys.argv[2] else count(sys.argv[1])
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(counts.fingerprint, int(peak) * 1024)
"""
    found = {}
    for limit in ("", "100MB"):
        command = [sys.executable, "-c", code, str(tmp_path / "many-words.txt"), limit]
        output = subprocess.run(command, capture_output=True, text=True, check=True)
        fingerprint, peak = output.stdout.split()
        found[limit] = fingerprint, int(peak)
    assert found[""][0] == found["100MB"][0]
    assert found["100MB"][1] < 100_000_000 < found[""][1]


@scaled
def test_finished_shards_are_not_counted_again(corpus, tmp_path, monkeypatch):
    work = tmp_path / "work"
    monkeypatch.setattr(counting, "_COMMIT_SECONDS", 0)
    monkeypatch.setattr(counting, "_BATCH_BYTES", 1)
    read = counting.read
    names = []

    def stop_at(last, shard, *options):
        if len(names) == last:
            raise KeyboardInterrupt
        names.append(Path(shard.name).name)
        return read(shard, *options)

    for stop in (2, 3, 3, 5):
        monkeypatch.setattr(counting, "read", lambda *given, stop=stop: stop_at(stop, *given))
        with pytest.raises(KeyboardInterrupt):
            count(corpus, work_dir=work, **SETTINGS)
    (corpus / "6.txt").write_text("new")
    monkeypatch.setattr(counting, "read", lambda *given: stop_at(None, *given))
    counts = count(corpus, work_dir=work, **SETTINGS)
    assert names == [f"{number}.txt" for number in range(7)]
    assert dict(counts.items()) == expected_of(corpus)
    assert count(corpus, work_dir=work, **SETTINGS) == counts
    assert len(names) == 7
    assert counts == count(corpus, **SETTINGS)
    assert {source.name for source in counts.sources} == {str(path) for path in corpus.iterdir()}


def test_file_named_twice_counts_twice(tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "_COMMIT_SECONDS", 0)
    monkeypatch.setattr(counting, "_BATCH_BYTES", 1)
    path = tmp_path / "a.txt"
    path.write_text("low low")
    for number in (1, 2, 2, 3):
        assert dict(count([path] * number, work_dir=tmp_path / "work").items()) == {b"low": number, b" low": number}
    with pytest.raises(ValueError, match=r"a\.txt has changed"):
        count([path], work_dir=tmp_path / "work")


@pytest.mark.skipif(os.name == "nt", reason="limits the number of open files")
def test_any_number_of_commits_is_merged(tmp_path, monkeypatch):
    import resource

    monkeypatch.setattr(counting, "_COMMIT_SECONDS", 0)
    monkeypatch.setattr(counting, "_BATCH_BYTES", 1)
    for number in range(300):
        (tmp_path / f"{number}.txt").write_text(f"low {number}")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len([*Path("/dev/fd").iterdir()]) + 80, limits[1]))
    try:
        counts = count(tmp_path, work_dir=tmp_path / "work")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert counts.top(1) == [(b"low", 300)]
    assert len(counts) == 301


@scaled
def test_iterables_are_counted_each_time(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "_room", lambda limit: ROOM)
    files = expected_of(corpus)
    for given_ in (["low"], [f"other{number} word" for number in range(50 * DOCUMENT_WORDS)], []):
        counts = count([Source(iter(given_)), Source(corpus)], work_dir=tmp_path / "work", max_memory="1TB", **SETTINGS)
        assert dict(counts.items()) == Counter(files) + counted(given_)


@scaled
@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda file: file.write_text("other"), {}, "0.txt has changed, or is read with other options, since it was c"),
        (lambda file: file.unlink(), {}, "0.txt is not among the sources since it was counted in .*; use another"),
        (Path.exists, {"pattern": "cl100k"}, "a count with pattern 'cl100k', got 'gpt2'"),
        (Path.exists, {"special_tokens": []}, "a count with special_tokens"),
    ],
)
def test_other_sources_and_settings_are_refused(corpus, tmp_path, change, options, message):
    count(corpus, work_dir=tmp_path / "work", **SETTINGS)
    change(corpus / "0.txt")
    with pytest.raises(ValueError, match=message):
        count(corpus, work_dir=tmp_path / "work", **{**SETTINGS, **options})


@scaled
def test_leftovers_of_a_crash_are_removed(corpus, tmp_path):
    work = tmp_path / "work"
    counts = count(corpus, work_dir=work, **SETTINGS)
    manifest = (work / "manifest.jsonl").read_bytes()
    (work / "000000099.run").write_bytes(b"half a")
    (work / "manifest.jsonl").write_bytes(manifest + b'{"shards": {"')
    assert count(corpus, work_dir=work, **SETTINGS) == counts
    assert not (work / "000000099.run").exists()
    assert (work / "manifest.jsonl").read_bytes().startswith(manifest)


@scaled
@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"")])
def test_a_damaged_folder_is_refused(corpus, tmp_path, damage):
    work = tmp_path / "work"
    count(corpus, work_dir=work, **SETTINGS)
    damage(next(work.glob("*.run")))
    with pytest.raises(ValueError, match=r"run is (missing|damaged); delete .* to count again"):
        count(corpus, work_dir=work, **SETTINGS)


@scaled
def test_a_listener_hears_of_all_bytes_and_can_end_the_counting(corpus):
    events = []
    count(corpus, callback=events.append, **SETTINGS)
    total = sum(path.stat().st_size for path in corpus.iterdir())
    assert {(event.stage, event.total, event.merge) for event in events} == {("counting", total, None)}
    assert [event.done for event in events] == sorted(event.done for event in events)
    assert events[-1].done == total

    def stop(event):
        raise InterruptedError("enough")

    with pytest.raises(InterruptedError, match="enough"):
        count(corpus, callback=stop, **SETTINGS)


DIES_FLUSHING = """
import itertools, os, sys
from hf_bpe.counting import _count as counting

flush, number, last = os.fsync, itertools.count(1), int(sys.argv[3])
os.fsync = lambda descriptor: os._exit(9) if next(number) == last else flush(descriptor)
counting._COMMIT_SECONDS = 0
counting._BATCH_BYTES = 1
print(counting.count(sys.argv[1], special_tokens=["<|endoftext|>"], work_dir=sys.argv[2]).fingerprint)
"""


@scaled
def test_counting_killed_at_any_flush_resumes_with_equal_counts(corpus, tmp_path):
    expected = count(corpus, **SETTINGS).fingerprint
    command = [sys.executable, "-c", DIES_FLUSHING, str(corpus), str(tmp_path / "work")]
    deaths = 0
    for flushes in itertools.cycle([1, 2, 3, 4, 5]):  # what comes before is kept, so that the end comes nearer
        ran = subprocess.run([*command, str(flushes)], capture_output=True, text=True, check=False)
        if ran.returncode != 9:
            break
        deaths += 1
    assert (ran.returncode, ran.stdout.strip()) == (0, expected), ran.stderr
    assert deaths > len([*corpus.iterdir()])


AMOUNTS = {5: 5, "5": 5, "2GB": 2 * 10**9, "1.5 GiB": 3 * 2**29, "500m": 5 * 10**8, "1kb": 1000, "3Ti": 3 * 2**40}


def test_amounts_of_memory():
    for amount, expected in AMOUNTS.items():
        with case(amount):
            assert memory.parse_bytes(amount, "max_memory") == expected
    text = "max_memory: expected a number of bytes, or text such as '2GB'"
    for wrong, error, message in (
        *((wrong, ValueError, text) for wrong in ("", "GB", "2 GBs", "-1", "1e9", "2 XB", "iB")),
        (1.5, TypeError, "max_memory: expected"),
        (0, ValueError, "max_memory: expected at least 1, got 0"),
    ):
        with case(wrong), pytest.raises(error, match=message):
            memory.parse_bytes(wrong, "max_memory")


def test_skipped_input_is_counted_and_logged(tmp_path, caplog, monkeypatch):
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\n{"txt": "low"}\n{"text": "lower low"}\n')
    (tmp_path / "b.txt").write_bytes(b"low \xff low")
    source = Source(tmp_path, on_error="skip", max_document_bytes=5)
    for work in (None, tmp_path / "work"):
        caplog.clear()
        with caplog.at_level(logging.INFO, "hf_bpe"):
            counts = count(source, work_dir=work)
        assert counts.skipped == {"files": 1, "documents": 1, "shortened": 1}
        assert dict(counts.items()) == {b"low": 2, b"lower": 1, b" ": 1}
        assert "skipped: the rest of 1 files and 1 documents; shortened: 1 documents" in caplog.text


@pytest.mark.parametrize("suffix", ["txt", "jsonl"])
def test_large_file_is_resumed_inside(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr("hf_bpe.counting._count._PART_BYTES", 100)
    monkeypatch.setattr("hf_bpe.counting._count._COMMIT_SECONDS", 0)
    monkeypatch.setattr("hf_bpe.counting._count._BATCH_BYTES", 100)
    path, work = tmp_path / f"text.{suffix}", tmp_path / "work"
    text = "low lower lowest newest widest "
    path.write_text((text if suffix == "txt" else json.dumps({"text": text}) + "\n") * 100, encoding="utf-8")
    read = []

    def interrupt(event):
        read.append(event.done)
        if event.done > 1500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        count(path, work_dir=work, callback=interrupt)
    resumed = []
    counts = count(path, work_dir=work, callback=lambda event: resumed.append(event.done))
    assert counts == count(path)
    assert min(resumed) >= 1400


@pytest.fixture
def tiny_batches(monkeypatch, native):
    monkeypatch.setattr(native, "Counter", functools.partial(native.Counter, chunk_bytes=TINY))
    monkeypatch.setattr(counting, "_BATCH_BYTES", 4 * TINY)


@pytest.mark.usefixtures("tiny_batches")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_that_is_not_utf8_is_refused(tmp_path, workers):
    (tmp_path / "good.txt").write_text("low " * 50, encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"low " * 50 + b"\xed\xa0\x80")
    with pytest.raises(ValueError, match=r"bad\.txt: not UTF-8: byte 0xED at offset 200 .*; convert the file"):
        count([tmp_path / "good.txt", tmp_path / "bad.txt"], special_tokens=["<x>"], num_workers=workers)


def test_nothing_is_counted_of_nothing(tmp_path):
    empty = tmp_path / "empty.txt"
    empty.touch()
    for source in (empty, [empty, empty], [], (), iter([]), [""], [b""], [[]], [["", ""]], ["<x>"]):
        assert len(count(source, special_tokens=["<x>"])) == 0
