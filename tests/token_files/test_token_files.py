"""Token files hold the rows of a plain definition, in the layout of each format."""

import gzip
import json
import os
import shutil
import subprocess
import sys
import weakref
from itertools import pairwise
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, Source
from hf_bpe.token_files import _documents as documents
from hf_bpe.token_files import merge_manifests
from hf_bpe.token_files._formats import FORMATS
from hf_bpe.token_files._packing import Chunk, whole_rows
from support.cases import case
from support.fuzz.killing import forked, kill_before_move
from support.profiles import by_profile, scaled
from support.token_files import BEGIN, END, LAYOUTS, content, contents, rows_of, set_limits, shards_of, write_jsonl

texts = st.lists(st.text("low erst你\n", max_size=30), min_size=1, max_size=12).filter(any)


def documents_of(tokenizer, texts, begin=()):
    end = tokenizer.eos_token_id
    return [[*begin, *tokenizer.encode(text, add_special_tokens=False), end] for text in texts if text]


@settings(max_examples=by_profile(quick=20, thorough=150))
@given(
    format=st.sampled_from([*LAYOUTS]),
    texts=texts,
    pack=st.sampled_from([None, 1, 3, 8]),
    across=st.booleans(),
    shard_tokens=st.sampled_from([None, 20]),
    begin=st.booleans(),
)
def test_shards_hold_the_rows(tokenizer, tmp_path_factory, format, texts, pack, across, shard_tokens, begin):
    across = across or pack is None or format in ("nanogpt", "llm.c")
    folder = tmp_path_factory.mktemp("files")
    begin_id = [tokenizer.convert_tokens_to_ids(BEGIN)] if begin else []
    rows = rows_of(documents_of(tokenizer, texts, begin_id), pack, across)
    options = {"pack": pack, "pack_across": across, "shard_tokens": shard_tokens, "append_separator": True}
    if begin:
        options["begin_token"] = BEGIN
    path = write_jsonl(folder / "in.jsonl", texts)
    output = folder / ("out.npy" if format == "npy" else "out")
    if not rows:
        with pytest.raises(ValueError, match="pack: expected sources with at least"):
            tokenizer.encode_files(path, output, format=format, **options)
        return
    written = tokenizer.encode_files(path, output, format=format, **options)
    expected = [LAYOUTS[format](shard, False) for shard in shards_of(rows, shard_tokens)]
    found = [content(each) for each in written.files if each.suffix != ".metadata"]
    assert found == [data for shard in expected for data in shard]
    assert (written.num_rows, written.num_tokens) == (len(rows), sum(map(len, rows)))
    assert written.num_documents == sum(map(bool, texts))


@given(
    format=st.sampled_from([*LAYOUTS]),
    is_wide=st.booleans(),
    rows=st.lists(st.lists(st.integers(0, 65_535), min_size=1, max_size=400), min_size=1),
    cuts=st.lists(st.integers(0, 2000)),
)
@example("mds", False, [[0] * 2**16], [])
def test_writers_take_rows_in_any_parts(tmp_path_factory, format, is_wide, rows, cuts):
    folder = tmp_path_factory.mktemp("files")
    is_wide = is_wide and format != "nanogpt"
    made = FORMATS[format]
    paths = [folder / f"x{suffix}" for suffix in made.suffixes]
    stream, ends = np.concatenate(rows), np.cumsum([*map(len, rows)])
    bounds = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chunks, begin = [], 0  # an end at a cut comes with the ids before it
    for start, stop in pairwise(bounds):
        end = int(np.searchsorted(ends, stop, "right"))
        chunks.append(Chunk(stream[start:stop], ends[begin:end] - start))
        begin = end
    made.write(paths, chunks, made.dtype(70_000 if is_wide else 300))
    assert [content(path) for path in paths if path.suffix != ".metadata"] == LAYOUTS[format](rows, is_wide)


def test_parts_of_a_row_are_freed_when_it_is_whole():
    parts = [np.ones(3, np.uint32) for _ in range(3)]
    references = [*map(weakref.ref, parts)]
    chunks = (Chunk(parts.pop(0), np.array(ends, np.int64)) for ends in ([], [], [2]))
    for _ in whole_rows(chunks, np.uint32):
        assert [part() is None for part in references] == [True, True, False]  # the next row begins in the last one


def many_sources(folder):
    """Return sources of every kind, with documents of text that end at a token or with the file."""
    parts = ["low lower", END, "lowest of the low\n", END, END, "the rest"]
    (folder / "a.txt").write_text("".join(parts * 40), encoding="utf-8")
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"new\xff low" + END.encode()))
    (folder / "empty.txt").write_bytes(b"")
    write_jsonl(folder / "c.jsonl", [f"widest {number} 你好" for number in range(60)] + ["", "low" + END])
    for number in range(6):
        (folder / f"d{number}.txt").write_text(f"newest {number} " * 50, encoding="utf-8")
    return [Source(str(folder), errors="bytes")]


@pytest.mark.parametrize(
    "options",
    [{}, {"pack": 16}, pytest.param({"pack": 16, "pack_across": False}, marks=pytest.mark.thorough)],
    ids=["documents", "packed", "cut"],
)
def test_files_do_not_depend_on_workers_or_pieces(tokenizer, tmp_path, monkeypatch, options):
    """Encode in units of one file, several pieces each, in processes where the system has them."""
    (tmp_path / "in").mkdir()
    sources = many_sources(tmp_path / "in")
    options = {"format": "megatron", "shard_tokens": 1000, "begin_token": BEGIN, **options}
    expected = contents(tokenizer.encode_files(sources, tmp_path / "one" / "out", num_workers=1, **options))
    set_limits(monkeypatch, unit_bytes=1, piece_ids=50, read_ids=7, block_bytes=100)
    for workers in (1, 2):
        running = {"num_workers": workers, "work_dir": tmp_path / f"work{workers}"}
        written = tokenizer.encode_files(sources, tmp_path / f"{workers}" / "out", **running, **options)
        assert contents(written) == expected
        assert not [*(tmp_path / f"{workers}").glob(".*")]
    with monkeypatch.context() as patch:  # one file has most of the text
        patch.setattr("hf_bpe.token_files._workers.map_in_processes", None)
        tokenizer.encode_files([tmp_path / "in/a.txt", tmp_path / "in/d0.txt"], tmp_path / "one/x.npy", num_workers=2)
    monkeypatch.setattr("hf_bpe.token_files._run_job.number_of_processes", lambda units, workers: workers)
    if sys.platform.startswith("linux"):
        assert contents(tokenizer.encode_files(sources, tmp_path / "2p" / "out", num_workers=2, **options)) == expected


@scaled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.parametrize(
    ("format", "shard_tokens", "parts"),
    [
        ("megatron", 500, [None]),
        ("megatron", None, [(0, 3), (1, 3), (2, 3)]),
        ("megatron", 200, [(0, 3), (1, 3), (2, 3)]),
        *(
            pytest.param(format, size, [None], marks=pytest.mark.thorough)
            for format, size in (("mds", 500), ("megatron", None), ("mds", None))
        ),
    ],
    ids=str,
)
def test_killed_runs_resume_to_the_same_files(tokenizer, tmp_path, monkeypatch, format, shard_tokens, parts):
    """Kill each run again and again, each time some steps after it has resumed, until it survives."""
    (tmp_path / "in").mkdir()
    sources = many_sources(tmp_path / "in")
    options = {"format": format, "shard_tokens": shard_tokens, "pack": 32, "num_workers": 1}
    random, kills = Random(0), 0
    for part in parts:
        whole = tokenizer.encode_files(sources, tmp_path / "whole" / "out", shard=part, **options)
        with monkeypatch.context() as patch:
            set_limits(patch, unit_bytes=1, piece_ids=500 if part is None else 100, block_bytes=200)

            def encode(part=part):
                work = tmp_path / f"work{part}"
                return tokenizer.encode_files(sources, tmp_path / "out" / "out", work_dir=work, shard=part, **options)

            def encode_and_be_killed(encode=encode, steps=60 if part is None else 20):
                kill_before_move(random.randrange(by_profile(quick=steps, thorough=12)))
                encode()

            while forked(encode_and_be_killed) != 0:
                kills += 1
                random.random()  # the child draws from its own copy
            assert contents(encode()) == contents(whole)
    assert kills > 0
    if parts != [None]:
        merge_manifests(tmp_path / "out")
        merge_manifests(tmp_path / "whole")
    assert snapshot_of_ids(tmp_path / "out") == snapshot_of_ids(tmp_path / "whole")


def snapshot_of_ids(folder):
    """Return the files in a folder, but for manifests, which name when sources were written."""
    return {path.relative_to(folder) for path in folder.rglob("*") if not path.name.endswith("manifest.json")}


def test_documents_of_text_end_at_the_separator_or_the_end(tokenizer, tmp_path):
    path, other = tmp_path / "in.txt", tmp_path / "open.txt"
    path.write_text(f"low{END}lower{END}{END}", encoding="utf-8")
    other.write_text("low", encoding="utf-8")
    record = f"low{END}lower"
    paths = [path, other, write_jsonl(tmp_path / "a.jsonl", [record])]
    written = tokenizer.encode_files(paths, tmp_path / "out", format="megatron")
    plain = tokenizer.encode_files([path, other], tmp_path / "plain.npy", begin_token=BEGIN, append_separator=False)
    low, lower = (tokenizer.encode(text, add_special_tokens=False) for text in ("low", "lower"))
    end, begin = tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids(BEGIN)
    record = tokenizer.encode(record, add_special_tokens=False, disallowed_special=())
    assert np.fromfile(written.ids, np.uint16).tolist() == [*low, end, *lower, end, end, *low, end, *record, end]
    ids, offsets = np.load(plain.ids).tolist(), np.load(plain.offsets)
    expected = [[begin, *low, end], [begin, *lower, end], [begin, end], [begin, *low]]
    assert [ids[start:stop] for start, stop in pairwise(offsets)] == expected
    bare = BPETokenizer(model=tokenizer.model, eos_token=None)
    with pytest.raises(ValueError, match="separator: expected a token to end documents for format 'megatron'"):
        bare.encode_files(path, tmp_path / "bare", format="megatron")


def test_separator_in_a_record_is_ordinary_text(tokenizer, tmp_path, caplog):
    """Let records hold the separator as an attacker would, who wants what follows to be a document of its own."""
    texts = [f"low{END}lower", END, f"{END}{END}", f"lowest{END}", "newest<|begin|>low", f"<|begin|>{END}", "", "你"]
    path = write_jsonl(tmp_path / "in.jsonl", texts)
    end, begin = tokenizer.convert_tokens_to_ids([END, BEGIN])
    documents._log_separators.cache_clear()
    written = tokenizer.encode_files(path, tmp_path / "out", format="megatron")
    assert written.num_documents == written.num_rows == 7
    assert [record.getMessage() for record in caplog.records] == [
        f"a record holds the separator '{END}': there it is ordinary text, because each record is one document"
    ]
    plain = [tokenizer.encode(text, allowed_special={BEGIN}, disallowed_special=()) for text in texts if text]
    assert np.fromfile(written.ids, np.uint16).tolist() == [i for row in plain for i in [*row, end]]
    flat = tokenizer.encode_files(path, tmp_path / "flat", format="megatron", append_separator=False)
    ids = np.fromfile(flat.ids, np.uint16).tolist()
    assert ids == [token_id for row in plain for token_id in row]
    assert (end in ids, ids.count(begin), tokenizer.decode(ids)) == (False, 2, "".join(texts))
    as_text = tokenizer.encode_files(path, tmp_path / "text", format="megatron", split_special_tokens=True)
    assert as_text.num_documents == 7


def test_manifest_names_files_sources_and_options(tokenizer, tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", ["low", "lower low"])
    written = tokenizer.encode_files(path, tmp_path / "out", format="llm.c", pack=3, shard_tokens=3)
    manifest = json.loads(written.manifest.read_text(encoding="utf-8"))
    (source,) = manifest["sources"]
    assert source == {"name": str(path), "bytes": path.stat().st_size, "format": "jsonl", "column": "text"}
    number_of_ids = sum(map(len, documents_of(tokenizer, ["low", "lower low"])))
    assert manifest["tokens"] + manifest["tokens_left_out"] == number_of_ids
    assert manifest["documents"] == written.num_documents == 2
    other = BPETokenizer.train(["low low"], num_merges=2, special_tokens=[END])
    again = json.loads(other.encode_files(path, tmp_path / "o", format="llm.c").manifest.read_text(encoding="utf-8"))
    assert again["tokenizer"] != manifest["tokenizer"]


def sizes_in(manifest):
    return {name: size for shard in manifest["shards"] for name, size in shard["files"].items()}


def test_a_thread_encodes_after_the_main_thread_has_ended(tmp_path):
    write_jsonl(tmp_path / "x.jsonl", [{"text": "low " * 1000}] * 3000)
    code = """
import threading
from hf_bpe import BPETokenizer
tokenizer = BPETokenizer.train(["low"], 257, special_tokens=["<e>"], eos_token="<e>")
main = threading.main_thread()
threading.Thread(target=lambda: main.join() or tokenizer.encode_files("x.jsonl", "x.npy", num_workers=2)).start()
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (tmp_path / "x.npy").exists(), ran.stderr


@pytest.mark.parametrize("format", [*FORMATS])
def test_finished_run_of_any_format_is_in_place(tokenizer, tmp_path, format):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    path = write_jsonl(tmp_path / "in.jsonl", ["low", "lower low"])
    output, options = tmp_path / ("out.npy" if format == "npy" else "out"), {"work_dir": tmp_path / "work"}
    written = tokenizer.encode_files(path, output, format=format, **options)
    manifest = json.loads(written.manifest.read_text(encoding="utf-8"))
    assert sizes_in(manifest) == {each.name: each.stat().st_size for each in written.files}
    assert tokenizer.encode_files(path, output, format=format, **options) == written


NO_PLACE = "expected a format with a place for loss masks: 'datatrove', 'pa"
COPIED = {"format": "parquet", "copy_columns": ["id"]}
MASKED = {"format": "parquet", "loss_mask": "no_loss"}
REFUSED = [
    ({"format": "llm.c", "pack": 2, "pack_across": False}, r"pack_across=False: format 'llm\.c' does not say"),
    ({"format": "parquet", "pack_across": False}, "pack_across: False is only for packed sequences"),
    ({"format": "megatron", "output": "out.npy"}, r"output: .* ends in \.bin for format 'megatron', got .*out\.npy"),
    ({"format": "safetensors"}, "format: expected one of 'npy', 'megatron'"),
    ({"format": "megatron", "begin_token": "low"}, "begin_token: 'low' is not a special or added token"),
    ({"format": "megatron", "source": "empty.jsonl"}, "paths: expected sources with text, got nothing to encode"),
    ({**COPIED, "format": "megatron"}, "copy_columns: expected a format with columns of text, 'parquet' or 'arrow'"),
    ({**COPIED, "pack": 4}, "copy_columns: a packed sequence may hold several documents; give pack_across"),
    ({**COPIED, "copy_columns": ["input_ids"]}, "copy_columns: expected different names other than 'input_ids'"),
    ({**COPIED, "copy_columns": ["id", "id"]}, "copy_columns: expected different names other than 'input_ids'"),
    ({**COPIED, "source": "a.txt"}, r"copy_columns: expected sources of records .*, got the text file .*a\.txt"),
    *(({**MASKED, "format": each}, NO_PLACE) for each in ("npy", "megatron", "nanogpt", "llm.c", "mds")),
    ({**MASKED, "dropout": 0.1, "seed": 1}, "loss_mask: expected no dropout"),
    ({**MASKED, "source": "a.txt"}, "loss_mask: expected sources of records"),
    ({**MASKED, "copy_columns": ["loss_mask"]}, "copy_columns: .* names other than 'input_ids', 'loss_mask'"),
    ({**MASKED, "loss_mask": "other"}, "the columns to copy, 'other' among them"),
    ({"shard": (2, 2)}, r"shard: expected \(0, 2\) to \(1, 2\), got \(2, 2\)"),
    ({"shard": (0, 0)}, "shard: N: expected at least 1, got 0"),
    ({"shard": (-1, 2)}, "shard: I: expected at least 0, got -1"),
]
WRONG_TYPES = [
    ({**COPIED, "copy_columns": "id"}, "copy_columns: expected a list of str, got 'id'"),
    ({"shard": "0/2"}, r"shard: expected two numbers \(I, N\), such as \(0, 8\), got '0/2'"),
    ({"shard": (0.0, 2)}, "shard: I: "),
]


def test_what_a_format_cannot_hold_is_refused(tokenizer, tmp_path):
    write_jsonl(tmp_path / "in.jsonl", [{"text": "low", "id": "x", "no_loss": None}])
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "a.txt").write_text("low")
    rows = [(row, ValueError) for row in REFUSED] + [(row, TypeError) for row in WRONG_TYPES]
    for (options, message), error in rows:
        options = {"format": "npy", "source": "in.jsonl", **options}
        output = options.pop("output", "out.npy" if options["format"] == "npy" else "out")
        with case(options), pytest.raises(error, match=message):
            tokenizer.encode_files(tmp_path / options.pop("source"), tmp_path / output, **options)
    with pytest.raises(ValueError, match="nanogpt files hold ids below 65536, got a tokenizer with the id 70000"):
        FORMATS["nanogpt"].dtype(70_000)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.txt", "empty.jsonl", "in.jsonl"]


def test_shards_of_another_run_are_refused(tokenizer, tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", ["low", "lower", "lowest"])
    options = {"format": "megatron", "shard_tokens": 3}
    tokenizer.encode_files(path, tmp_path / "out", **options)
    for work in (None, tmp_path / "work", tmp_path / "work"):
        with pytest.raises(FileExistsError, match=r"out-0000[01]\.bin is a shard of another run"):
            tokenizer.encode_files(path, tmp_path / "out", work_dir=work, **options)
    with pytest.raises(FileExistsError, match=r"out-00000\.bin is a shard of another run"):
        tokenizer.encode_files(path, tmp_path / "out", work_dir=tmp_path / "other", **options)


def test_overwriting_deletes_only_what_the_manifest_lists(tokenizer, tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", ["low", "lower", "lowest"])
    options = {"format": "npy", "overwrite": True}
    tokenizer.encode_files(path, tmp_path / "out.npy", shard_tokens=3, **options)
    (tmp_path / "out-20240101.npy").write_text("precious")
    files = {each.name for each in tmp_path.iterdir()}
    written = tokenizer.encode_files(path, tmp_path / "out.npy", shard_tokens=100, **options)
    assert len(written.files) == 2
    replaced = {f"out-0000{number}{suffix}" for number in (1, 2) for suffix in (".npy", ".offsets.npy")}
    assert {each.name for each in tmp_path.iterdir()} == files - replaced
    (tmp_path / "out-00007.npy").write_text("precious")  # of no manifest
    with pytest.raises(FileExistsError, match=r"out-00007\.npy is a shard of another run"):
        tokenizer.encode_files(path, tmp_path / "out.npy", shard_tokens=3, **options)
    (tmp_path / "out-00007.npy").unlink()
    with pytest.raises(ValueError, match="separator: '<x>' is not"):
        tokenizer.encode_files(path, tmp_path / "out.npy", separator="<x>", **options)
    assert all(each.exists() for each in written.files)


def test_source_is_not_replaced(tokenizer, tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", ["low"])
    (tmp_path / "text.bin").write_text("low")
    for source in (tmp_path / "text.bin", [path, tmp_path / "text.bin"]):
        with pytest.raises(ValueError, match=r"output: .*text\.bin is a source; choose another output"):
            tokenizer.encode_files(source, tmp_path / "text", format="nanogpt", overwrite=True)
    assert (tmp_path / "text.bin").read_text() == "low"


def test_rows_that_end_a_shard_leave_no_empty_one(tokenizer, tmp_path):
    (tmp_path / "in.txt").write_bytes(bytes(range(97, 105)))
    options = {"format": "parquet", "append_separator": False, "pack": 4, "pack_across": False, "shard_tokens": 4}
    plain = BPETokenizer.train(["a"], vocab_size=257, special_tokens=[END])
    one = plain.encode_files(tmp_path / "in.txt", tmp_path / "a", **options)
    other = plain.encode_files(tmp_path / "in.txt", tmp_path / "b", work_dir=tmp_path / "work", **options)
    assert len(one.files) == len(other.files) == 2


def test_a_work_folder_belongs_to_one_run(tokenizer, tmp_path):
    path = write_jsonl(tmp_path / "in.jsonl", ["low", "lower", "lowest"])
    work = tmp_path / "work"

    def encode(**options):
        options = {"format": "megatron", "shard_tokens": 3, "work_dir": work, **options}
        return tokenizer.encode_files(path, tmp_path / "out", **options)

    def fails(message, **options):
        with pytest.raises(ValueError, match=message):
            encode(**options)

    written = encode()
    assert encode() == written
    fails("expected a run with pack 3, got None; resume with the same", pack=3)
    (piece,) = (work / "pieces").iterdir()
    data = piece.read_bytes()
    piece.write_bytes(data[:-1])
    fails("is damaged")
    piece.unlink()
    fails("lacks the piece to resume from")
    piece.write_bytes(data)
    os.utime(written.ids, (0, 0))  # as of a copy
    fails(r"was copied without its time; copy it with its time \(cp -p, rsync -t\)")
    written.ids.write_bytes(b"")
    fails(r"out-00000\.bin is missing or has changed since it was written")
    path.write_text("")
    fails("expected a run with sources")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("format", [each for each in FORMATS if each != "parquet"])  # which pyarrow opens
@pytest.mark.parametrize("work", [None, "work"])
def test_a_full_disk_is_an_error_that_names_the_folder(tokenizer, tmp_path, monkeypatch, format, work):
    """Let one file of a shard, or a piece, be written to a device that is full."""
    written = Path.open
    output = tmp_path / "out" / ("corpus.npy" if format == "npy" else "corpus")
    for words in (1, 10_000):  # a short file is written when it is closed
        options = {"format": format, "shard_tokens": 100_000, "work_dir": work and tmp_path / f"{work}{words}"}
        path = write_jsonl(tmp_path / "in.jsonl", ["low " * words])
        for suffix in [*([".pieces"] if work else []), *FORMATS[format].suffixes]:

            def on_full_disk(self, mode="r", *args, **kwargs):
                is_full = mode == "xb" if suffix == ".pieces" else self.name.endswith(suffix)  # noqa: B023
                if is_full and mode[0] in "wx":
                    return written(Path("/dev/full"), mode.replace("x", "w"), *args, **kwargs)
                return written(self, mode, *args, **kwargs)

            with case(words, suffix), monkeypatch.context() as patch:
                patch.setattr(Path, "open", on_full_disk)
                with pytest.raises(OSError, match="No space left on device") as error:
                    tokenizer.encode_files(path, output, **options)
                assert error.value.filename == str(output if format == "mds" else output.parent)
                assert not [*(tmp_path / "out").iterdir()]
        assert tokenizer.encode_files(path, output, **options).num_documents == 1
        shutil.rmtree(tmp_path / "out")


def test_malformed_input_leaves_no_file_that_looks_whole(tokenizer, tmp_path):
    (tmp_path / "good.txt").write_text("low " * 1000, encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text('{"text": "low"}\n{"text": 1}\n', encoding="utf-8")
    sources = [tmp_path / "good.txt", tmp_path / "bad.jsonl"]
    with pytest.raises(ValueError, match=r"bad\.jsonl: line 2: expected a JSON object with a string as 'text'"):
        tokenizer.encode_files(sources, tmp_path / "out", format="megatron")
    with pytest.raises(ValueError, match=r"bad\.jsonl: line 2"):
        tokenizer.encode_files(sources, tmp_path / "out", format="mds", shard_tokens=10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "good.txt"]
    with pytest.raises(ValueError, match=r"bad\.jsonl: line 2"):
        tokenizer.encode_files(sources, tmp_path / "out", format="megatron", shard_tokens=10)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.jsonl", "good.txt"]
