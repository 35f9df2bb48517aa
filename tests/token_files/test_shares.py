"""The parts of a corpus that several jobs encode hold what one job writes, and are checked when they are merged."""

import gzip
import itertools
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, Source
from hf_bpe.token_files import merge_manifests
from support.commands import error, run
from support.profiles import by_profile, scaled
from support.token_files import END, content, read_table, write_jsonl


def write_corpus(folder, records=100):
    """Write files of every kind: of JSON lines, which are cut, and others."""
    folder.mkdir()
    lines = [
        json.dumps({"text": f"widest {number} 你好\n" * (number % 7), "url": f"u{number}"}) for number in range(records)
    ]
    (folder / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines[:20]).encode()))
    (folder / "c.jsonl").write_text("\n\n".join(lines[20:40]) + "\n", encoding="utf-8")
    (folder / "empty.jsonl").write_text("")
    return folder


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "in")


def encode_all(tokenizer, sources, output, number, reverse=False, **options):
    indices = range(number)[:: -1 if reverse else 1]
    parts = [tokenizer.encode_files(sources, output, shard=(index, number), **options) for index in indices]
    return parts[:: -1 if reverse else 1]


def manifest_of(written):
    return json.loads(written.manifest.read_text(encoding="utf-8"))


@scaled
@pytest.mark.parametrize("format", ["megatron", "npy", "nanogpt", "llm.c", "datatrove", "mds", "parquet", "arrow"])
@pytest.mark.parametrize("number", [1, 3, by_profile(quick=7, thorough=40)])
def test_parts_in_their_order_are_the_whole(tokenizer, corpus, tmp_path, format, number):
    """Compare what readers find: the formats with headers have one in each file."""
    (corpus / "d.txt").write_text(f"low lower{END}\nlowest" * 30, encoding="utf-8")
    options = {"format": format, "append_separator": True}
    suffix = ".npy" if format == "npy" else ""
    sources = Source(str(corpus), errors="bytes")
    whole = tokenizer.encode_files(sources, tmp_path / "whole" / f"c{suffix}", **options)
    parts = encode_all(tokenizer, sources, tmp_path / "out" / f"c{suffix}", number, **options)
    assert b"".join(map(ids_in, sorted(p.ids for p in parts if p.files))) == ids_in(whole.ids)
    merged = merge_manifests(tmp_path / "out" / "c" if format == "mds" else tmp_path / "out")
    assert (merged.num_tokens, merged.num_documents, merged.num_rows) == whole[2:4] + whole[6:]
    assert merged.files == [path for part in parts for path in part.files]
    described, expected = manifest_of(merged), manifest_of(whole)
    assert len(described.pop("shards")) == sum(bool(part.files) for part in parts)
    assert [*described.items()] == [each for each in expected.items() if each[0] != "shards"]


def ids_in(path):
    """Return the ids of a file as bytes of uint32."""
    if path.suffix == ".npy":
        return np.load(path).astype("<u4").tobytes()
    if path.suffix in (".parquet", ".arrow"):
        return np.array([token for row in read_table(path)["input_ids"].to_pylist() for token in row], "<u4").tobytes()
    data = path.read_bytes()
    if path.suffix == ".mds":
        number, *offsets = np.frombuffer(data, "<u4", 2 + int(np.frombuffer(data, "<u4", 1)[0]))
        rows = []
        for start, stop in itertools.pairwise(offsets):
            kind = data[start + 4] - 4
            rows.append(data[start + 5 + (1 << kind) : stop])
        assert len(rows) == number
        return b"".join(rows)
    if np.frombuffer(data[:4], "<i4")[0] in (20240520, 20240801):
        data = data[1024:]
    return np.frombuffer(data, "<u2").astype("<u4").tobytes()


@settings(max_examples=by_profile(quick=15, thorough=200))
@given(
    files=st.lists(st.lists(st.text("low 你\n\r\x85\u2028", max_size=20), max_size=8), min_size=1, max_size=4),
    number=st.integers(1, 9),
    is_packed=st.sampled_from([None, 5]),
)
def test_any_number_of_parts_holds_each_record_once(tokenizer, tmp_path_factory, files, number, is_packed):
    folder = tmp_path_factory.mktemp("shares")
    for name, texts in enumerate(files):
        write_jsonl(folder / f"{name}.jsonl", texts)
    parts = encode_all(tokenizer, folder, folder / "out" / "c", number, format="nanogpt", pack=is_packed)
    data = b"".join(part.ids.read_bytes() for part in parts if part.files)
    if is_packed is None:
        expected = [[*tokenizer.encode(text), tokenizer.eos_token_id] for texts in files for text in texts if text]
        assert np.frombuffer(data, "<u2").tolist() == [token for row in expected for token in row]
    else:
        assert len(data) // 2 == 5 * sum(part.num_rows for part in parts)
    merged = manifest_of(merge_manifests(folder / "out"))
    number_of_ids = sum(len(tokenizer.encode(text)) + 1 for texts in files for text in texts if text)
    assert merged["tokens"] + merged["tokens_left_out"] == number_of_ids
    names = [Path(source["name"]).name for source in merged["sources"]]
    assert names == [f"{each}.jsonl" for each in range(len(files))]


def test_randomness_does_not_depend_on_parts(tokenizer, corpus, tmp_path):
    options = {"format": "megatron", "dropout": 0.5, "seed": 3}
    whole = tokenizer.encode_files(corpus, tmp_path / "whole" / "c", **options)
    for number in (2, 5):
        parts = encode_all(tokenizer, corpus, tmp_path / f"{number}" / "c", number, **options)
        assert b"".join(part.ids.read_bytes() for part in parts if part.files) == whole.ids.read_bytes()


def test_copied_columns_and_shards_of_parts(tokenizer, corpus, tmp_path):
    pytest.importorskip("pyarrow")
    options = {"format": "parquet", "copy_columns": ["url"], "shard_tokens": 200}
    whole = tokenizer.encode_files(corpus, tmp_path / "whole" / "c", **options)
    parts = encode_all(tokenizer, corpus, tmp_path / "out" / "c", 3, reverse=True, **options)
    assert parts[1].files[0].name == "c-00001-of-00003-00000.parquet"
    merged = merge_manifests(tmp_path / "out" / "c")
    rows, expected = (
        [row for path in files for row in read_table(path).to_pylist()] for files in (merged.files, whole.files)
    )
    assert rows == expected


def test_part_that_runs_twice_writes_the_same_bytes(tokenizer, corpus, tmp_path):
    options = {"format": "megatron", "shard": (1, 3)}
    first = tokenizer.encode_files(corpus, tmp_path / "a" / "c", **options)
    before = [path.read_bytes() for path in (*first.files, first.manifest)]
    children = [os.fork() for _ in range(2)] if hasattr(os, "fork") else []
    if 0 in children:
        try:
            tokenizer.encode_files(corpus, tmp_path / "a" / "c", **options, num_workers=1)
            os._exit(0)
        finally:
            os._exit(1)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children)
    again = tokenizer.encode_files(corpus, tmp_path / "a" / "c", **options, work_dir=tmp_path / "work", num_workers=2)
    assert [path.read_bytes() for path in (*again.files, again.manifest)] == before
    assert tokenizer.encode_files(corpus, tmp_path / "a" / "c", **options, work_dir=tmp_path / "work") == again


def test_merging_tells_what_is_wrong(tokenizer, corpus, tmp_path):
    out = tmp_path / "out"

    def fails(message, kind=ValueError, **options):
        with pytest.raises(kind, match=message):
            merge_manifests(out, **options)

    fails("no manifest of a part, such as corpus-00000-of-00002", FileNotFoundError)
    parts = encode_all(tokenizer, corpus, out / "c", 4, format="megatron")
    kept = tmp_path / "kept"
    shutil.copytree(out, kept)

    def restore():
        shutil.rmtree(out)
        shutil.copytree(kept, out)

    for number in (1, 3):
        parts[number].manifest.unlink()
    fails("out lacks 2 of 4 parts: 1, 3; encode them, then merge again", FileNotFoundError)
    restore()
    parts[2].ids.write_bytes(b"")
    fails(r"c-00002-of-00004\.bin has 0 bytes, expected \d+ bytes by its manifest; encode that part again")
    parts[2].ids.unlink()
    fails(r"c-00002-of-00004\.bin is missing, expected")
    restore()
    parts[1].manifest.write_text("{}")
    fails(r"c-00001-of-00004\.manifest\.json is not the manifest of a part, or is damaged")
    shutil.copy(parts[0].manifest, parts[1].manifest)
    fails(r"c-00001-of-00004\.manifest\.json .* it is of part \[0, 4\]")
    restore()
    other = BPETokenizer.train(["low"], num_merges=1, special_tokens=[END])
    other.encode_files(corpus, out / "c", format="megatron", shard=(3, 4))
    fails(r"c-00003-of-00004\.manifest\.json: tokenizer differ from those of .*c-00000-of-00004")
    tokenizer.encode_files(corpus, out / "c", format="megatron", shard=(3, 4), append_separator=False)
    fails("append_separator differ from those of .*\\(False, True\\); encode all parts with one tokenizer")
    restore()
    with (corpus / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write('\n{"text": "more"}')
    tokenizer.encode_files(corpus, out / "c", format="megatron", shard=(3, 4))
    fails("the sources, or the times at which they were written, differ from those of")
    restore()
    tokenizer.encode_files(corpus, out / "c", format="megatron", shard=(0, 5))
    fails("parts of 4 and of 5, which do not belong together; delete those of one number")
    restore()
    tokenizer.encode_files(corpus, out / "x", format="megatron", shard=(0, 5))
    fails("parts of several outputs, expected one; give .*/c or .*/x")
    merged = merge_manifests(out / "c")
    assert merge_manifests(out / "c") == merged
    merged.manifest.write_text("precious")
    with pytest.raises(FileExistsError, match=r"c\.manifest\.json is of another run"):
        merge_manifests(out / "c")
    assert merge_manifests(out / "c", overwrite=True) == merged


def test_commands_encode_and_merge_parts(tokenizer, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokenizer.save_pretrained("tok")
    arguments = ["encode-files", "tok", "in", "--format", "megatron", "-o"]
    run(*arguments, "whole")
    for index in range(3):
        run(*arguments, "out/c", "--shard", f"{index}/3")
    assert "already exists; give --force" in error(*arguments, "out/c", "--shard", "0/3")
    printed = json.loads(run("encode-files", "--merge", "out", "--json").stdout)
    ids = b"".join(content(Path(path)) for path in printed["files"] if path.endswith(".bin"))
    assert ids == content(Path("whole.bin"))
    assert printed["manifest"] == "out/c.manifest.json"
    assert run("encode-files", "--merge", "out/c").stderr.startswith("hf-bpe: ")
