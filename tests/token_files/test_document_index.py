"""The document index says of each row which file and record it is from, whatever divides the work."""

import gzip
import json
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer, Source
from hf_bpe.counting import _file_formats as file_formats
from hf_bpe.token_files import _document_index as document_index
from hf_bpe.token_files import _documents as documents
from hf_bpe.token_files import _pieces as pieces
from hf_bpe.token_files import _stream as stream
from hf_bpe.token_files import merge_manifests
from support.commands import run
from support.killing import forked, kill_before_move
from support.profiles import by_profile
from support.token_files import contents, rows_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

END = "<|endoftext|>"
FORMATS = ["npy", "megatron", "datatrove", "nanogpt", "llm.c", "mds", "parquet", "arrow"]


@pytest.fixture(scope="module")
def tokenizer():
    return BPETokenizer.train(["low lower lowest newest"], num_merges=8, special_tokens=[END])


def index_of(written):
    """Return the rows of the index: from the files next to the ids, or from the tables, with the number of ids."""
    rows = []
    for path in written.files:
        if path.name.endswith(".document-index.parquet"):
            rows += pq.read_table(path).to_pylist()
        elif path.suffix in (".parquet", ".arrow"):
            table = (
                pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_stream(path.read_bytes()).read_all()
            )
            lengths = [len(row) for row in table["input_ids"].to_pylist()]
            others = table.drop_columns("input_ids").to_pylist()
            rows += [{**row, "tokens": length} for row, length in zip(others, lengths, strict=True)]
    return rows


def write(path, texts, blank_lines=True):
    """Write documents to a file, with lines that are no documents."""
    if path.suffix == ".parquet":
        pq.write_table(
            pa.table({"text": pa.array(texts, pa.string()), "id": [f"i{n}" for n in range(len(texts))]}), path
        )
    elif path.suffix == ".txt":
        path.write_text("".join(text + END for text in texts), encoding="utf-8")
    else:
        lines = [json.dumps({"text": text, "id": f"i{number}"}) for number, text in enumerate(texts)]
        data = ("\n\n" if blank_lines else "\n").join(lines).encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def expected_index(tokenizer, files, packed=None):
    """Return the index by its definition."""
    rows = []
    for source, (path, texts) in enumerate(files):
        step = 2 if ".jsonl" in path.name else 1  # every other line is blank
        for record, text in enumerate(texts):
            if path.suffix == ".txt" or text:
                length = len(tokenizer.encode(text, split_special_tokens=True)) + 1
                lengths = [length] if packed is None else [len(row) for row in rows_of([[0] * length], packed, False)]
                rows += [{"source": source, "record": step * record, "tokens": each} for each in lengths]
    return rows


texts = st.lists(st.sampled_from(["", "low", "low\nlow", " newest\n\n", "你"]), min_size=1, max_size=6)


@settings(max_examples=by_profile(quick=15, thorough=300), deadline=None)
@given(
    files=st.lists(
        st.tuples(st.sampled_from([".jsonl", ".jsonl.gz", ".parquet", ".txt"]), texts), min_size=1, max_size=4
    ),
    format=st.sampled_from(FORMATS),
    packed=st.sampled_from([None, 1, 3]),
    shard_tokens=st.sampled_from([None, 5]),
    parts=st.sampled_from([None, 1, 2, 5]),
    sizes=st.tuples(st.integers(1, 30), st.integers(1, 9), st.integers(1, 40), st.integers(1, 9), st.integers(1, 50)),
    is_resumable=st.booleans(),
)
def test_each_row_names_its_record(
    tokenizer, tmp_path_factory, files, format, packed, shard_tokens, parts, sizes, is_resumable
):
    if not any(text for _, texts in files for text in texts):
        return
    folder = tmp_path_factory.mktemp("index")
    (folder / "in").mkdir()
    named = [(folder / "in" / f"{number}{kind}", texts) for number, (kind, texts) in enumerate(files)]
    paths = [write(*each) for each in named]
    packing = {} if packed is None or format in ("nanogpt", "llm.c") else {"pack": packed, "pack_across": False}
    given_options = {"format": format, "append_separator": True, "shard_tokens": shard_tokens, "num_workers": 1}
    output = folder / "out" / ("c.npy" if format == "npy" else "c")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "_MAX_IDS", sizes[0])
        patch.setattr(pieces, "_READ_IDS", sizes[1])
        patch.setattr(pieces, "_MAX_VALUES", sizes[2])
        patch.setattr(documents, "BLOCK_BYTES", sizes[3])
        patch.setattr(stream, "_UNIT_BYTES", sizes[4])

        def encode(share=None):
            work = folder / f"work{share}" if is_resumable else None
            return tokenizer.encode_files(
                paths, output, document_index=True, shard=share, work_dir=work, **given_options, **packing
            )

        if parts is None:
            written = encode()
        else:
            for part in range(parts):
                encode((part, parts))
            written = merge_manifests(output if format == "mds" else output.parent)
    assert index_of(written) == expected_index(tokenizer, named, packing.get("pack"))
    manifest = json.loads(written.manifest.read_text("utf-8"))
    assert manifest["document_index"] is True
    assert [source["name"] for source in manifest["sources"]] == [str(path) for path in paths]


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(6):
        kind = [".jsonl", ".txt", ".jsonl.gz"][number % 3]
        write(tmp_path / "in" / f"{number}{kind}", [f"low {each}\n" * (each % 4) or "newest" for each in range(50)])
    return tmp_path / "in"


def test_any_number_of_workers_writes_the_same_bytes(tokenizer, corpus, tmp_path):
    options = {"format": "megatron", "document_index": True}
    one = tokenizer.encode_files(corpus, tmp_path / "one" / "c", num_workers=1, **options)
    assert [path.name for path in one.files] == ["c.bin", "c.idx", "c.document-index.parquet"]
    for workers in (2, 3):
        several = tokenizer.encode_files(corpus, tmp_path / f"{workers}" / "c", num_workers=workers, **options)
        assert contents(several) == contents(one)
        assert several.manifest.read_bytes() == one.manifest.read_bytes()
    assert index_of(one) == index_of(
        tokenizer.encode_files(corpus, tmp_path / "p", format="parquet", document_index=True)
    )


def test_parts_that_begin_inside_files_count_the_lines_before(tokenizer, corpus, tmp_path):
    options = {"format": "megatron", "document_index": True}
    whole = tokenizer.encode_files(corpus, tmp_path / "whole", **options)
    for part in range(9):
        tokenizer.encode_files(corpus, tmp_path / "out" / "c", shard=(part, 9), **options)
    assert index_of(merge_manifests(tmp_path / "out")) == index_of(whole)


def test_a_run_that_is_killed_resumes_with_the_same_index(tokenizer, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(pieces, "_MAX_IDS", 100)
    monkeypatch.setattr(documents, "BLOCK_BYTES", 50)  # so that it resumes inside files of text
    options = {"format": "datatrove", "document_index": True, "shard_tokens": 400, "num_workers": 1}
    whole = tokenizer.encode_files(corpus, tmp_path / "whole" / "c", **options)

    def encode(move=None):
        if move is not None:
            kill_before_move(move)
        return tokenizer.encode_files(corpus, tmp_path / "out" / "c", work_dir=tmp_path / "work", **options)

    for move in (3, 9, 9, 20):
        assert forked(lambda move=move: encode(move)) == -signal.SIGKILL
    assert contents(encode()) == contents(whole)


@pytest.mark.parametrize("format", ["megatron", "parquet"])
def test_sequences_of_a_document_that_no_piece_holds_whole_name_it(tokenizer, tmp_path, monkeypatch, format):
    monkeypatch.setattr(pieces, "_MAX_IDS", 7)
    monkeypatch.setattr(pieces, "_READ_IDS", 4)
    monkeypatch.setattr(documents, "BLOCK_BYTES", 9)
    texts = ["low newest " * 5, "low", "newest newest low " * 4, "x"]
    (tmp_path / "a.txt").write_text(END.join(texts))
    options = {"format": format, "document_index": True, "pack": 3, "pack_across": False, "num_workers": 1}
    written = tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "c", work_dir=tmp_path / "work", **options)
    sequences = [-(-(len(tokenizer.encode(text)) + 1) // 3) for text in texts]
    expected = [number for number, count in enumerate(sequences) for _ in range(count)]
    assert [row["record"] for row in index_of(written)] == expected


def test_the_index_of_another_run_does_not_stay(tokenizer, corpus, tmp_path):
    for options in ({}, {"shard_tokens": 500}):
        output = tmp_path / f"out{len(options)}" / "c"
        first = tokenizer.encode_files(corpus, output, format="megatron", document_index=True, **options)
        assert any("document-index" in path.name for path in first.files)
        second = tokenizer.encode_files(corpus, output, format="megatron", overwrite=True, **options)
        assert {*output.parent.iterdir()} == {*second.files, second.manifest}


def test_lines_that_are_skipped_count(tokenizer, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "low"}\nno json\n{"text": ""}\n{"text": "lower"}\n')
    pq.write_table(pa.table({"text": ["low", None, "", "lower"]}), tmp_path / "b.parquet")
    sources = [Source(str(tmp_path / name), on_error="skip") for name in ("a.jsonl", "b.parquet")]
    written = tokenizer.encode_files(sources, tmp_path / "out", format="megatron", document_index=True)
    assert [(row["source"], row["record"]) for row in index_of(written)] == [(0, 0), (0, 3), (1, 0), (1, 3)]


def test_ids_of_documents_are_copied_to_the_index(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", ["low", "", "newest"])
    options = {"document_index": True, "copy_columns": ["id"]}
    for format in ("nanogpt", "parquet"):
        written = tokenizer.encode_files(path, tmp_path / "out", format=format, **options)
        assert [(row["record"], row["id"]) for row in index_of(written)] == [(0, "i0"), (4, "i2")]


def test_tokens_say_where_documents_are_in_a_file_of_ids(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", ["low", "newest low", "你"])
    written = tokenizer.encode_files(path, tmp_path / "out", format="nanogpt", document_index=True)
    ends = np.cumsum([row["tokens"] for row in index_of(written)])
    ids = np.fromfile(written.ids, "<u2")
    assert [tokenizer.decode(part) for part in np.split(ids, ends)[:-1]] == [
        f"low{END}",
        f"newest low{END}",
        f"你{END}",
    ]


def test_long_indices_are_written_in_groups(tokenizer, tmp_path, monkeypatch):
    monkeypatch.setattr(document_index, "_GROUP_ROWS", 4)
    path = write(tmp_path / "in.jsonl", ["low", "newest"] * 10)
    written = tokenizer.encode_files(path, tmp_path / "large", format="nanogpt", document_index=True)
    assert pq.read_metadata(written.files[-1]).num_row_groups == 5
    assert index_of(written) == expected_index(tokenizer, [(path, ["low", "newest"] * 10)])


def test_lines_before_a_part_are_counted_once(tokenizer, tmp_path, monkeypatch):
    path = write(tmp_path / "in.jsonl", ["low"] * 400)
    file_formats.lines_before.cache_clear()
    tokenizer.encode_files(path, tmp_path / "out", format="megatron", document_index=True, shard=(1, 2))
    assert file_formats.lines_before.cache_info().misses == 1


def test_what_has_no_place_is_refused(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", ["low"])

    def encode(**options):
        return tokenizer.encode_files(path, tmp_path / "out", document_index=True, **{"format": "megatron", **options})

    with pytest.raises(ValueError, match="document_index: a packed sequence may hold several documents; give pack_ac"):
        encode(pack=4)
    for name, options in (("tokens", {}), ("source", {}), ("record", {}), ("input_ids", {"format": "parquet"})):
        with pytest.raises(ValueError, match=f"copy_columns: expected different names other than .*'{name}'"):
            encode(copy_columns=[name], **options)
    with pytest.raises(TypeError, match="document_index: expected True or False"):
        tokenizer.encode_files(path, tmp_path / "out", format="megatron", document_index="yes")
    assert not [*tmp_path.glob("out*")]


def test_the_command_writes_an_index(tokenizer, tmp_path):
    path = write(tmp_path / "in.jsonl", ["low", "newest"])
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    arguments = ["encode", tmp_path / "tokenizer", path, "-o", tmp_path / "out", "--format", "megatron"]
    run(*arguments, "--document-index", "--copy-column", "id")
    assert pq.read_table(tmp_path / "out.document-index.parquet").to_pylist() == [
        {"source": 0, "record": 0, "id": "i0", "tokens": 3},
        {"source": 0, "record": 2, "id": "i1", "tokens": 2},
    ]
    refused = run("encode", tmp_path / "tokenizer", path, "--document-index", code=2)
    assert "--document-index: is only for --output" in refused.stderr
