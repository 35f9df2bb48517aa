"""Shuffled documents come in the order that the reference defines, however the work is divided or interrupted."""

import json
import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer
from hf_bpe.editing import truncate
from hf_bpe.reference._shuffle import document_key, shuffled_order
from hf_bpe.token_files import _shuffling as shuffling
from hf_bpe.token_files import _sorted_runs as runs
from hf_bpe.token_files import _stream as stream
from hf_bpe.token_files import merge_manifests, shuffle_documents
from hf_bpe.token_files._rows import Chunk
from hf_bpe.token_files._shards import ShardWriter
from hf_bpe.token_files._shares import Share
from hf_bpe.token_files._shuffle_keys import document_keys
from hf_bpe.token_files._shuffling import ShuffledDocuments
from hf_bpe.token_files._sorted_runs import RunTarget
from hf_bpe.token_files._written import TokenFiles
from support.cases import case
from support.commands import error, run
from support.killing import forked, kill_before_move
from support.profiles import by_profile, thorough
from support.token_files import LAYOUTS, content, contents, rows_of, shards_of

END = "<|endoftext|>"
SEEDS = st.integers(0, 2**64 - 1)


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(["low low lower widest widest 你好 42"], num_merges=12, special_tokens=[END])


@pytest.fixture
def corpus(tmp_path):
    """Four files of JSON lines, with documents that are empty, and one of text."""
    folder = tmp_path / "in"
    folder.mkdir()
    for name in "abcd":
        lines = [
            json.dumps({"text": f"{name} widest {number} 你好\n" * (number % 7), "url": f"{name}{number}"})
            for number in range(by_profile(quick=15, thorough=40))
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "e.txt").write_text(END.join(f"lower {number}" for number in range(9)))
    return folder


@pytest.fixture
def small(monkeypatch):
    """Many small runs and buckets; the longest documents are longer than either."""
    set_sizes(monkeypatch)


def set_sizes(monkeypatch, run_bytes=400, bucket_bytes=3000, long=60):
    monkeypatch.setattr(runs, "RUN_BYTES", run_bytes)
    monkeypatch.setattr(shuffling, "BUCKET_BYTES", bucket_bytes)
    monkeypatch.setattr(runs, "LONG", long)
    monkeypatch.setattr(shuffling, "LONG", long)


def documents_of(written):
    ids, offsets = np.load(written.ids), np.load(written.offsets)
    return [ids[start:stop].tolist() for start, stop in pairwise(offsets)]


def rows_of_files(manifest):
    """Return the rows of files of any format."""
    rows = [[]]
    for chunk in TokenFiles.find(manifest).chunks():
        parts = np.split(chunk.ids, chunk.ends)
        rows[-1] += parts[0].tolist()
        rows += [part.tolist() for part in parts[1:]]
    assert rows.pop() == []
    return rows


def manifest_of(written):
    return json.loads(written.manifest.read_text(encoding="utf-8"))


def test_the_order_never_changes():
    """The values are frozen: files of the same seed must have the same order in every version."""
    assert [document_key(seed, number) for seed, number in ((0, 0), (0, 1), (1, 0), (2**64 - 1, 2**63 - 1))] == [
        4617705485178955807,
        2314436782844872725,
        6050677701200490232,
        745730531086082394,
    ]
    assert shuffled_order(0, 16) == [1, 10, 14, 0, 6, 12, 9, 2, 5, 8, 13, 7, 15, 11, 4, 3]
    assert shuffled_order(40, 16) == [13, 0, 10, 6, 9, 15, 14, 2, 8, 7, 1, 3, 11, 4, 12, 5]


@given(seed=SEEDS, first=st.integers(0, 2**63 - 10), count=st.integers(0, 9))
def test_keys_equal_the_reference(seed, first, count):
    assert document_keys(seed, first, count).tolist() == [document_key(seed, first + n) for n in range(count)]


def test_keys_of_different_documents_differ():
    keys = document_keys(1, 0, 1 << 17)
    assert len(np.unique(keys)) == len(keys)


def deviation(counts, expected, degrees):
    """Return by how many standard deviations counts differ more than those of uniform orders."""
    return (((counts - expected) ** 2 / expected).sum() - degrees) / (2 * degrees) ** 0.5


def place_statistic(orders):
    """Compare how often each document comes to each place."""
    number, size = orders.shape
    counts = np.zeros((size, size))
    for order in orders:
        counts[np.arange(size), order] += 1
    # All rows and columns have the same sum, which makes the other deviations size / (size - 1) times as large.
    expected = number / size
    return deviation(expected + (counts - expected) * ((size - 1) / size) ** 0.5, expected, (size - 1) ** 2)


def neighbor_statistic(orders):
    """Compare how often each document follows each other one."""
    number, size = orders.shape
    counts = np.zeros((size, size))
    for order in orders:
        counts[order[:-1], order[1:]] += 1
    return deviation(counts[~np.eye(size, dtype=bool)], number / size, (size - 1) ** 2)


STATISTICS = [place_statistic, neighbor_statistic]


def orders_in(tokenizer, folder, number, size, shuffle):
    """Return the orders of the first `number` seeds, as they are in files."""
    (folder / "in.jsonl").write_text("\n".join(json.dumps({"text": f"{number:03}"}) for number in range(size)))
    encoded = tokenizer.encode_files(folder / "in.jsonl", folder / "a.npy")
    numbers = {tuple(document): number for number, document in enumerate(documents_of(encoded))}
    for seed in range(number):
        written = shuffle(folder / "a.npy", folder / "b.npy", seed)
        yield np.array([numbers[tuple(document)] for document in documents_of(written)])


@pytest.mark.parametrize("step", [1, 1 << 32, 0x9E3779B97F4A7C15])
def test_all_orders_are_equally_likely(step):
    """Seeds are fixed, so the result never changes; similar seeds must not give related orders."""
    size, number = 16, by_profile(quick=4000, thorough=40_000)
    orders = np.array([np.argsort(document_keys(seed * step % 2**64, 0, size)) for seed in range(number)])
    for statistic in STATISTICS:
        assert abs(statistic(orders)) < 4
    large = [np.argsort(document_keys(seed * step, 0, 1 << 15)) for seed in range(3)]
    size = len(large[0])
    for order in large:
        cells = np.histogram2d(np.arange(size), order, 32)[0]
        assert abs(deviation(cells, size / 32**2, 31**2)) < 4
        steps = np.bincount(np.diff(order) % size >> 9, minlength=64)
        assert abs(deviation(steps, (size - 1) / 64, 63)) < 4
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert abs(np.corrcoef(large[one], large[other])[0, 1]) < 4 / size**0.5


@pytest.mark.parametrize("statistic", STATISTICS)
def test_statistics_find_documents_that_stay_in_order_in_a_bucket(statistic):
    keys = [document_keys(seed, 0, 16) for seed in range(4000)]
    orders = np.array([np.argsort(each >> np.uint64(62), kind="stable") for each in keys])
    assert statistic(orders) > 20


def test_files_have_orders_that_are_equally_likely(tokenizer, tmp_path, monkeypatch):
    """All of it: runs of three documents, buckets of four."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    set_sizes(monkeypatch, run_bytes=24, bucket_bytes=300)
    lines = [json.dumps({"text": f"{number:03}"}) for number in range(12)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    encoded = tokenizer.encode_files(tmp_path / "in.jsonl", tmp_path / "a.npy")
    numbers = {tuple(document): number for number, document in enumerate(documents_of(encoded))}
    orders = []
    for seed in range(by_profile(quick=40, thorough=2000)):
        written = shuffle_documents(encoded.manifest, tmp_path / "b.npy", seed)
        orders.append([numbers[tuple(document)] for document in documents_of(written)])
    for statistic in STATISTICS:
        assert abs(statistic(np.array(orders))) < 4


@settings(max_examples=by_profile(quick=50, thorough=3000))
@given(
    count=st.integers(0, 30),
    numbers=st.integers(0, 2**32 - 1),
    run_bytes=st.sampled_from([1, 60, 300, 5000]),
    bucket_bytes=st.sampled_from([1, 300, 1000, 10_000]),
    long=st.sampled_from([1, 10, 100]),
    parts=st.sampled_from([1, 1, 2, 9]),
    is_resumed=st.booleans(),
    with_values=st.booleans(),
)
def test_runs_hold_documents_in_order(
    tmp_path_factory, count, numbers, run_bytes, bucket_bytes, long, parts, is_resumed, with_values
):
    """Cut any documents into any chunks, runs and buckets, and begin to read anywhere."""
    random = np.random.default_rng(numbers)
    seed, share = int(random.integers(0, 2**63)), Share(int(random.integers(0, parts)), parts)
    lengths = random.integers(1, 40, count).tolist()
    starts = np.cumsum([0, *lengths]).tolist()
    rows = [[*range(start, start + length)] for start, length in zip(starts, lengths, strict=False)]
    cuts = random.integers(0, starts[-1] + 1, random.integers(0, 12)).tolist()
    with pytest.MonkeyPatch.context() as patch:
        set_sizes(patch, run_bytes, bucket_bytes, long)
        ids, ends = np.array([i for row in rows for i in row], np.uint32), np.cumsum([*map(len, rows)], dtype=np.int64)
        bounds = sorted({0, len(ids), *cuts})
        chunks, done = [], 0
        for start, stop in pairwise(bounds):
            high = int(np.searchsorted(ends, stop, "right"))
            values = [(f"v{number}", None) for number in range(done, high + 1)] if with_values else ()
            chunks.append(Chunk(ids[start:stop], ends[done:high] - start, values))
            done = high
        folder = tmp_path_factory.mktemp("runs")
        target = RunTarget(folder, np.uint16, seed, share)
        records = []

        def make(paths):
            first_row = sum(record.rows for record in records)
            return target.format.make(paths, dtype=np.dtype(np.uint16), first_row=first_row)

        ShardWriter(target, folder, make, target.shard_tokens, records, lambda _: None).write(chunks)
        files = [folder / name for record in records for name in record.files]
        shuffled = ShuffledDocuments(files, np.uint16, share)
        keys = [document_key(seed, number) for number in range(len(rows))]
        order = [n for n in shuffled_order(seed, len(rows)) if keys[n] * share.parts >> 64 == share.part]
        assert shuffled.documents == len(order)
        assert shuffled.tokens == sum(len(rows[number]) for number in order)
        first = int(random.integers(0, shuffled.tokens + 1)) if is_resumed else 0
        found = [*shuffled.chunks(first)]
        expected = [i for number in order for i in rows[number]]
        assert [i for chunk in found for i in chunk.ids.tolist()] == expected[first:]
        places = np.cumsum([0, *(len(chunk.ids) for chunk in found)])[:-1] + first
        all_ends = [int(end + place) for chunk, place in zip(found, places, strict=True) for end in chunk.ends]
        expected_ends = np.cumsum([len(rows[number]) for number in order], dtype=np.int64).tolist()
        assert all_ends == [end for end in expected_ends if end > first]
        if with_values:
            rest = iter([number for number, end in zip(order, expected_ends, strict=True) if end > first])
            number = next(rest, None)
            for chunk in found:
                for value in chunk.values[: len(chunk.ends)]:
                    assert value == (f"v{number}", None)
                    number = next(rest, None)
                if len(chunk.ends) == 0 or chunk.ends[-1] < len(chunk.ids):
                    assert chunk.values[len(chunk.ends)] == (f"v{number}", None)


@pytest.mark.parametrize("limit", ["_MAX_DOCUMENTS", "_MAX_VALUES", "RUN_BYTES"])
def test_runs_are_bounded(tmp_path, monkeypatch, limit):
    """Documents, values of columns and, of the documents of a part, ids end a run with the next chunk."""
    monkeypatch.setattr(runs, limit, 50 if limit == "_MAX_DOCUMENTS" else 500)
    share = Share(0, 2) if limit == "RUN_BYTES" else Share(0, 1)
    target = RunTarget(tmp_path, np.uint16, 1, share)
    records, kept = [], []

    def make(paths):
        first_row = sum(record.rows for record in records)
        return target.format.make(paths, dtype=np.dtype(np.uint16), first_row=first_row)

    monkeypatch.setattr(runs.KeyRange, "holds", lambda range_, keys: np.ones(len(keys), bool))  # no luck with the keys
    ends = np.arange(5, 51, 5, dtype=np.int64)
    chunks = [Chunk(np.zeros(50, np.uint16), ends, [("0123456",)] * 10) for _ in range(100)]
    ShardWriter(target, tmp_path, make, target.shard_tokens, records, lambda _: None).write(chunks)
    for record in records:
        size, _ = record.files.values()
        kept.append(size // 10)
    assert sum(kept) == 1000
    assert max(kept) <= 61


def test_parts_of_all_keys_are_cut_as_stated():
    """Part I of N has the keys from ⌊2⁶⁴ I / N⌋ on, and the last key belongs to the last part."""
    for parts in (1, 3, 7, 99_999):
        ranges = [runs.KeyRange.of(Share(part, parts)) for part in range(parts)]
        assert (ranges[0].first, ranges[-1].last) == (0, 2**64 - 1)
        assert all(one.last + 1 == other.first for one, other in pairwise(ranges))


@pytest.mark.parametrize("format", [*LAYOUTS])
def test_every_format_has_the_order_of_the_reference(tokenizer, corpus, tmp_path, small, format):
    options = {"separator": END, "append_separator": True}
    plain = tokenizer.encode_files(corpus, tmp_path / "plain.npy", **options)
    rows = documents_of(plain)
    shuffled = [rows[number] for number in shuffled_order(7, len(rows))]
    assert shuffled != rows
    suffix = ".npy" if format == "npy" else ""
    for number, (pack, across, shard_tokens) in enumerate(
        [(None, True, 1 << 20), (None, True, 300), (16, True, 200), (9, False, 100)]
    ):
        if format in ("nanogpt", "llm.c") and not across:
            continue
        with case((pack, across, shard_tokens)):
            written = tokenizer.encode_files(
                corpus,
                tmp_path / f"{number}" / f"c{suffix}",
                format=format,
                shuffle=7,
                pack=pack,
                pack_across=across,
                shard_tokens=shard_tokens,
                **options,
            )
            shards = shards_of(rows_of(shuffled, pack, across), shard_tokens)
            parts = len(written.files) // len(shards)
            expected = [data for shard in shards for data in LAYOUTS[format](shard, False)[:parts]]
            found = [content(path) for path in written.files if not path.name.endswith("metadata")]
            assert found == expected
            assert (written.num_documents, manifest_of(written)["shuffle"]) == (len(rows), 7)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_copied_columns_go_with_their_documents(tokenizer, corpus, tmp_path, small, format):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    def rows_in(written):
        tables = [
            parquet.read_table(path) if format == "parquet" else arrow.ipc.open_stream(path.read_bytes()).read_all()
            for path in written.files
        ]
        return [row for table in tables for row in table.to_pylist()]

    (corpus / "e.txt").unlink()
    for pack in (None, 9):
        options = {"format": format, "copy_columns": ["url"], "pack": pack, "pack_across": pack is None}
        plain = rows_in(tokenizer.encode_files(corpus, tmp_path / f"plain{pack}", **options))
        documents = list(dict.fromkeys(row["url"] for row in plain))
        expected = [documents[number] for number in shuffled_order(3, len(documents))]
        written = tokenizer.encode_files(corpus, tmp_path / f"c{pack}", shuffle=3, shard_tokens=150, **options)
        found = rows_in(written)
        assert list(dict.fromkeys(row["url"] for row in found)) == expected
        assert sorted(map(str, found)) == sorted(map(str, plain))
        if pack is None:
            again = shuffle_documents(tmp_path / "plainNone", tmp_path / "again", 3, shard_tokens=150)
            assert rows_in(again) == found


@pytest.mark.parametrize("format", ["npy", "megatron", "datatrove", "mds", "parquet", "arrow"])
def test_any_number_of_parts_and_workers_gives_the_same_files(tokenizer, corpus, tmp_path, small, monkeypatch, format):
    monkeypatch.setattr(stream, "_UNIT_BYTES", 1)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    counts = (1, 3, 7) if format in by_profile(quick=("npy",), thorough=("npy", "parquet")) else (3,)
    suffix = ".npy" if format == "npy" else ""
    options = {"shard_tokens": 400}
    whole = tokenizer.encode_files(corpus, tmp_path / "w" / f"c{suffix}", format=format, shuffle=5, **options)
    expected = contents(whole)
    for workers in counts if len(counts) == 1 else (1, 2, 3):
        again = tokenizer.encode_files(
            corpus, tmp_path / f"w{workers}" / f"c{suffix}", format=format, shuffle=5, num_workers=workers, **options
        )
        assert contents(again) == expected
        assert again.manifest.read_bytes() == whole.manifest.read_bytes()
    for parts in counts:
        for part in range(parts):
            tokenizer.encode_files(corpus, tmp_path / f"in{parts}" / f"c{suffix}", format=format, shard=(part, parts))
        merged = merge_manifests(tmp_path / f"in{parts}" / ("c" if format == "mds" else ""))
        again = shuffle_documents(merged.manifest, tmp_path / f"out{parts}" / f"c{suffix}", 5, **options)
        assert contents(again) == expected
        assert again.manifest.read_bytes() == whole.manifest.read_bytes()
    for number in counts:
        output = tmp_path / f"parts{number}" / f"c{suffix}"
        for part in range(number):
            shuffle_documents(merged.manifest, output, 5, shard=(part, number))
        all_parts = merge_manifests(output if format == "mds" else output.parent)
        assert rows_of_files(all_parts.manifest) == rows_of_files(whole.manifest)
        described, stated = manifest_of(all_parts), manifest_of(whole)
        for each in (described, stated):
            del each["shards"], each["shard_tokens"]
        assert described == stated


def test_randomized_ids_of_a_document_do_not_depend_on_the_order(tokenizer, corpus, tmp_path, small):
    options = {"dropout": 0.5, "seed": 9}
    plain = documents_of(tokenizer.encode_files(corpus, tmp_path / "a.npy", **options))
    shuffled = documents_of(tokenizer.encode_files(corpus, tmp_path / "b.npy", shuffle=9, **options))
    assert shuffled == [plain[number] for number in shuffled_order(9, len(plain))]
    again = shuffle_documents(tmp_path / "a.npy", tmp_path / "c.npy", 9)
    assert documents_of(again) == shuffled
    assert manifest_of(again)["seed"] == 9


@pytest.mark.parametrize("number", [by_profile(quick=30_000, thorough=1_000_000)])
def test_many_tiny_documents_and_one_that_is_longer_than_a_bucket(tokenizer, tmp_path, monkeypatch, number):
    set_sizes(monkeypatch, run_bytes=100_000, bucket_bytes=1_000_000, long=5000)
    giant = "low " * 100_000
    lines = [*(f'{{"text": "{n}"}}' for n in range(number)), json.dumps({"text": giant}), '{"text": ""}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    plain = documents_of(tokenizer.encode_files(tmp_path / "in.jsonl", tmp_path / "a.npy"))
    assert len(plain) == number + 1
    order = shuffled_order(2, len(plain))
    for part, parts in ((0, 1), (0, 2), (1, 2)):
        output = tmp_path / f"b{parts}.npy"
        written = shuffle_documents(tmp_path / "a.npy", output, 2, shard=None if parts == 1 else (part, parts))
        expected = [n for n in order if document_key(2, n) * parts >> 64 == part]
        assert documents_of(written) == [plain[n] for n in expected]


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="only Linux says what a process reads")
def test_a_part_reads_its_own_documents_only(tmp_path):
    """Drop a file from the cache of the system, take one of a hundred documents, and count what is read of the disk."""
    ids = np.memmap(tmp_path / "ids", np.uint16, "w+", shape=20_000_000)
    ids[:] = np.arange(len(ids)) % 50_000
    ids.flush()
    del ids
    ends = np.arange(1000, 20_000_001, 1000, dtype=np.int64)
    share = Share(3, 100)
    read = {}
    for is_sparse in (False, True):
        with (tmp_path / "ids").open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        before = disk_bytes()
        mapped = np.memmap(tmp_path / "ids", np.uint16, "r")
        keep = runs.KeyRange.of(share).holds(document_keys(1, 0, len(ends) + 1))
        found = runs._selected(Chunk(mapped, ends), keep, is_sparse=is_sparse)
        read[is_sparse] = disk_bytes() - before
        numbers = np.flatnonzero(keep[:-1])
        assert (found.ids[::1000] == numbers * 1000 % 50_000).all()
        del mapped
    if read[False] == 0:
        pytest.skip("this file system is in memory, or does not count")
    assert read[True] < read[False] / 3


def disk_bytes():
    return int(Path("/proc/self/io").read_text().split("\nread_bytes: ")[1].split()[0])


def test_empty_corpora(tokenizer, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"text": ""}')
    written = tokenizer.encode_files(tmp_path / "in.jsonl", tmp_path / "a.npy", shuffle=0)
    assert (documents_of(written), written.num_documents) == ([], 0)
    tokenizer.encode_files(tmp_path / "in.jsonl", tmp_path / "b.npy")
    assert documents_of(shuffle_documents(tmp_path / "b.npy", tmp_path / "c.npy", 0)) == []
    with pytest.raises(ValueError, match="expected sources with text, got nothing to encode"):
        tokenizer.encode_files(tmp_path / "in.jsonl", tmp_path / "d", format="megatron", shuffle=0)
    (tmp_path / "one.jsonl").write_text('{"text": "low"}')
    tokenizer.encode_files(tmp_path / "one.jsonl", tmp_path / "one.npy")
    for part in range(3):
        written = shuffle_documents(tmp_path / "one.npy", tmp_path / "parts" / "one.npy", 0, shard=(part, 3))
        assert len(written.files) == 2 * written.num_documents
    assert merge_manifests(tmp_path / "parts").num_documents == 1


def test_refused_files_and_options(tokenizer, corpus, tmp_path):
    def encoded(name, **options):
        return tokenizer.encode_files(corpus, tmp_path / name, **options).manifest

    plain = encoded("plain", format="datatrove")
    for manifest, options, problem in [
        (encoded("a", format="nanogpt"), {}, "format 'nanogpt' does not say where documents end"),
        (
            encoded("b", format="datatrove", pack=16),
            {},
            "expected ids without pack, because sequences are made of shuffled documents",
        ),
        (
            encoded("c", format="datatrove", shuffle=0),
            {},
            "expected documents in the order of the sources, got shuffled ones",
        ),
        (
            encoded("d", format="datatrove", shard=(0, 1)),
            {},
            "expected ids without shard, because the order depends on the documents",
        ),
        (plain, {"pack_across": False}, "pack_across: False is only for packed sequences"),
        (plain, {"seed": -1}, "seed: expected at least 0, got -1"),
        (plain, {"seed": 2**64}, "seed: expected at most 18446744073709551615"),
        (plain, {"shard": (3, 3)}, r"shard: expected \(0, 3\) to \(2, 3\)"),
    ]:
        with pytest.raises(ValueError, match=problem):
            shuffle_documents(manifest, tmp_path / "out", **{"seed": 1, **options})
    for seed in (True, 0.5, "1", None):
        with pytest.raises(TypeError, match="seed: expected"):
            shuffle_documents(plain, tmp_path / "out.npy", seed)
    with pytest.raises(ValueError, match="is a source; choose another output"):
        shuffle_documents(plain, tmp_path / "plain", 1)
    with pytest.raises(ValueError, match="shuffle: expected at most 18446744073709551615"):
        tokenizer.encode_files(corpus, tmp_path / "out.npy", shuffle=2**64)
    with pytest.raises(ValueError, match="shuffle: the shuffled documents of a part are not a part of the shuffled"):
        tokenizer.encode_files(corpus, tmp_path / "out.npy", shuffle=1, shard=(0, 2))
    assert not [*tmp_path.glob("*out*")]
    assert not [*tmp_path.glob(".saving*")]


def test_parts_of_different_seeds_or_files_are_not_merged(tokenizer, corpus, tmp_path):
    tokenizer.encode_files(corpus, tmp_path / "a.npy")
    output = tmp_path / "out" / "a.npy"
    shuffle_documents(tmp_path / "a.npy", output, 1, shard=(0, 2))
    with pytest.raises(FileNotFoundError, match="lacks 1 of 2 parts: 1"):
        merge_manifests(tmp_path / "out")
    shuffle_documents(tmp_path / "a.npy", output, 2, shard=(1, 2))
    with pytest.raises(ValueError, match=r"shuffle differ from those of .* \(2, 1\)"):
        merge_manifests(tmp_path / "out")
    tokenizer.encode_files(corpus / "a.jsonl", tmp_path / "a.npy")
    shuffle_documents(tmp_path / "a.npy", output, 1, shard=(1, 2))
    with pytest.raises(ValueError, match="the sources, or the times at which they were written"):
        merge_manifests(tmp_path / "out")


RUNS = ["encode", "shuffle", "part"]


def work(name, tokenizer, corpus, folder, **options):
    """Shuffle in one of the ways that can be resumed."""
    options |= {"work_dir": folder / "work", "shard_tokens": 300}
    if name == "encode":
        return tokenizer.encode_files(corpus, folder / "c", format="megatron", shuffle=4, **options)
    shard = (1, 3) if name == "part" else None
    return shuffle_documents(corpus.parent / "plain" / "c", folder / "c", 4, pack=32, shard=shard, **options)


@pytest.fixture
def killed(tokenizer, corpus, tmp_path, small, monkeypatch):
    """Return what a whole run writes, and a function that begins a run in a folder of its own."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    tokenizer.encode_files(corpus, tmp_path / "plain" / "c", format="megatron")
    return lambda name, folder: work(name, tokenizer, corpus, tmp_path / folder)


@pytest.mark.parametrize("name", RUNS)
def test_runs_that_are_killed_at_any_step_resume(killed, tmp_path, name):
    """Kill at every nth call that moves or deletes a file, and resume until the run ends."""
    whole = killed(name, "whole")
    expected, manifest = contents(whole), whole.manifest.read_bytes()
    for every in by_profile(quick=(5, 23), thorough=range(1, 60, 2)):
        kills, code = 0, -signal.SIGKILL
        while code == -signal.SIGKILL:

            def run_and_be_killed(every=every, kills=kills):
                kill_before_move(every + kills)  # later each time, so that it ends even if nothing was kept
                killed(name, f"killed{every}")

            code = forked(run_and_be_killed)
            kills += 1
        assert code == 0
        assert kills > 1
        written = killed(name, f"killed{every}")
        assert contents(written) == expected
        assert written.manifest.read_bytes() == manifest
        names = {path.name for path in (tmp_path / f"killed{every}").iterdir()}
        assert names == {*expected, whole.manifest.name, "work"}


@thorough
@pytest.mark.parametrize("name", RUNS)
def test_runs_that_are_killed_at_random_times_resume(killed, name):
    whole = killed(name, "whole")
    begin = time.perf_counter()
    killed(name, "again")
    seconds, random = time.perf_counter() - begin, Random(0)
    for number in range(20):
        code = -signal.SIGKILL
        while code == -signal.SIGKILL:

            def run_and_be_killed(number=number):
                signal.setitimer(signal.ITIMER_REAL, random.uniform(0.05, 1.5) * seconds)
                signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
                killed(name, f"killed{number}")

            code = forked(run_and_be_killed)
            random.random()
        assert code == 0
        assert contents(killed(name, f"killed{number}")) == contents(whole)


def test_work_that_has_changed_is_refused(tokenizer, corpus, tmp_path, killed):
    """What is resumed must be the same files, seed and options, and runs that nobody has touched."""
    killed("shuffle", "c")
    options = {"shard_tokens": 300, "work_dir": tmp_path / "c" / "work", "pack": 32}
    source, output = tmp_path / "plain" / "c", tmp_path / "c" / "c"
    with pytest.raises(ValueError, match="expected a run with shuffle 5, got 4"):
        shuffle_documents(source, output, 5, **options)
    with pytest.raises(ValueError, match="expected a run with pack 16, got 32"):
        shuffle_documents(source, output, 4, **{**options, "pack": 16})
    one = sorted((tmp_path / "c" / "work" / "runs").glob("*.ids"))[1]
    data = one.read_bytes()
    one.write_bytes(data[::-1])
    with pytest.raises(ValueError, match=f"{one.name} is missing or has changed since it was written"):
        shuffle_documents(source, output, 4, **options)
    tokenizer.encode_files(corpus / "a.jsonl", tmp_path / "plain" / "c", format="megatron")
    with pytest.raises(ValueError, match="expected a run with sources"):
        shuffle_documents(source, output, 4, **options)


def test_urls_are_written_and_resumed(tokenizer, corpus, tmp_path, small):
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    local = tokenizer.encode_files(corpus, tmp_path / "c", format="megatron", shuffle=4, shard_tokens=300)
    tokenizer.encode_files(corpus, tmp_path / "plain", format="megatron")
    ways = {
        "encoded": lambda url, **more: tokenizer.encode_files(
            corpus, url, format="megatron", shuffle=4, shard_tokens=300, **more
        ),
        "shuffled": lambda url, **more: shuffle_documents(tmp_path / "plain", url, 4, shard_tokens=300, **more),
    }
    for name, write in ways.items():
        for _ in range(2):  # the second time, all is there
            written = write(f"memory://{name}/out/c", work_dir=f"memory://{name}/work")
            found = {path.rpartition("/")[2]: memory.cat(path) for path in map(str, written.files)}
            assert found == contents(local)
            assert memory.cat(str(written.manifest)) == local.manifest.read_bytes()
        with pytest.raises(FileExistsError, match="is of another run"):
            write(f"memory://{name}/out/c", pack=16)
        memory.rm(f"memory://{name}", recursive=True)


def test_progress_of_both_passes_is_shown(tokenizer, corpus, tmp_path, capsys):
    tokenizer.encode_files(corpus, tmp_path / "a.npy", shuffle=1, show_progress=True)
    bars = capsys.readouterr().err
    assert "Encoding: 100%" in bars
    assert "Shuffling: 100%" in bars
    tokenizer.encode_files(corpus, tmp_path / "b.npy")
    shuffle_documents(tmp_path / "b.npy", tmp_path / "c.npy", 1, show_progress=True)
    bars = capsys.readouterr().err
    assert "Sorting: 100%" in bars
    assert "Shuffling: 100%" in bars


def test_projected_files_of_shuffled_ones_are_those_of_the_smaller_tokenizer(tokenizer, corpus, tmp_path):
    smaller, _ = tokenizer.with_model(truncate(tokenizer.model, 262))
    tokenizer.encode_files(corpus, tmp_path / "a.npy", shuffle=1)
    projected = tokenizer.project_files(tmp_path / "a.npy", tmp_path / "b.npy", 262)
    expected = smaller.encode_files(corpus, tmp_path / "c.npy", shuffle=1)
    assert documents_of(projected) == documents_of(expected)
    assert manifest_of(projected)["shuffle"] == 1


def test_commands(tokenizer, corpus, tmp_path):
    tokenizer.save_pretrained(tmp_path / "t")
    folder, source = str(tmp_path / "t"), str(corpus)
    run("encode", folder, source, "-o", str(tmp_path / "a"), "--format", "megatron", "--shuffle", "3", "-q")
    run("encode", folder, source, "-o", str(tmp_path / "b"), "--format", "megatron", "-q")
    run(
        "shuffle",
        str(tmp_path / "b"),
        "-o",
        str(tmp_path / "c"),
        "--seed",
        "3",
        "--work-dir",
        str(tmp_path / "w"),
        "-q",
    )
    assert (tmp_path / "c.bin").read_bytes() == (tmp_path / "a.bin").read_bytes()
    assert (tmp_path / "c.idx").read_bytes() == (tmp_path / "a.idx").read_bytes()
    for part in range(2):
        run(
            "shuffle", str(tmp_path / "b"), "-o", str(tmp_path / "p" / "c"), "--seed", "3", "--shard", f"{part}/2", "-q"
        )
    run("merge-manifests", str(tmp_path / "p"), "-q")
    parts = b"".join(path.read_bytes() for path in sorted((tmp_path / "p").glob("*.bin")))
    assert parts == (tmp_path / "a.bin").read_bytes()
    (tmp_path / "theirs.idx").write_text("of another tool")
    for words, problem in [
        (["shuffle", str(tmp_path / "b"), "-o", str(tmp_path / "c"), "--seed", "3"], "already exists; give --force"),
        (["shuffle", str(tmp_path / "b"), "-o", str(tmp_path / "theirs"), "--seed", "3"], "theirs.idx already exists"),
        (
            ["shuffle", "s3://a/b", "-o", str(tmp_path / "d"), "--seed", "3"],
            "expected local files, got the URL 's3://a",
        ),
        (["shuffle", str(tmp_path / "b"), "-o", str(tmp_path / "d"), "--seed", "-1"], "--seed: expected at least 0"),
        (["shuffle", str(tmp_path / "a"), "-o", str(tmp_path / "d"), "--seed", "1"], "got shuffled ones"),
        (["shuffle", str(tmp_path / "b"), "-o", str(tmp_path / "d.npy"), "--seed", "1"], "--output: expected a name"),
        (
            ["encode", folder, source, "-o", "x.npy", "--shuffle", "1", "--shard", "0/2"],
            "cannot be combined with --shard",
        ),
        (["encode", folder, source, "-o", "x.npy", "--shuffle", str(2**64)], "--shuffle: expected at most"),
        (["encode", folder, "--text", "low", "--shuffle", "1"], "--shuffle: is only for --output"),
    ]:
        assert problem in error(*words, code=None)
