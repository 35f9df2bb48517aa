"""Ids of smaller vocabularies from those of a larger one equal those of the text, or are refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.conversion import read_gpt2, recover_merges
from hf_bpe.editing import project_ids, renumber, truncate
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._projection import ProjectionTable, projected_tokens
from hf_bpe.reference import Encoder
from hf_bpe.token_files._formats import FORMATS
from support.commands import error, run
from support.profiles import by_profile
from support.token_files import contents

END = "<|endoftext|>"


def thorough_only(name):
    return pytest.param(name, marks=pytest.mark.thorough)


WORDS = ["low", " lower", " lowest", " newest", " widest", "你好", "123", "  ", "aaaa", "\n"]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map("".join)


def ids_of(model, text):
    """Return the ids by the reference."""
    return Encoder(model).encode(text.encode())


@settings(max_examples=by_profile(quick=20, thorough=1000))
@given(corpus=st.lists(TEXTS, min_size=1, max_size=5), texts=st.lists(TEXTS, max_size=4), data=st.data())
def test_ids_of_a_trained_model_tell_those_of_any_smaller_one(corpus, texts, data):
    model = train([*corpus, "".join(WORDS)], num_merges=data.draw(st.integers(0, 15)), special_tokens=[END])
    end = model.special_ids()[END]
    sizes = data.draw(st.lists(st.integers(257, model.vocab_size), min_size=1, max_size=3, unique=True))
    ids = [token for text in [*corpus, *texts] for token in [*ids_of(model, text), end]]
    for size, projected in zip(sizes, project_ids(model, ids, sizes), strict=True):
        smaller = truncate(model, size).model
        expected = [token for text in [*corpus, *texts] for token in [*ids_of(smaller, text), end]]
        assert projected.tolist() == expected
        dense = renumber(smaller).remap.new_ids
        assert project_ids(model, ids, size, renumber=True).tolist() == [dense[token] for token in expected]


@settings(max_examples=by_profile(quick=100, thorough=5000))
@given(data=st.data())
def test_any_model_is_projected_exactly_or_refused(data):
    """Draw merges in any order, several for a token and such that come before their parts, as files may have them."""
    tokens = [*map(bytes, ([97], [98], [99]))]
    merges = []
    for _ in range(data.draw(st.integers(1, 8))):
        pair = data.draw(st.sampled_from(tokens)), data.draw(st.sampled_from(tokens))
        if pair not in merges and len(b"".join(pair)) < 12:
            merges.append(pair)
            tokens.append(b"".join(pair))
    merges = data.draw(st.permutations(merges))
    vocab = dict(enumerate(dict.fromkeys(tokens)))
    model = BPEModel(vocab, merges, pattern=None, ignore_merges=data.draw(st.booleans()))
    size = data.draw(st.integers(3, model.vocab_size))
    smaller = model.truncate(size)
    refused, lists = None, {}
    try:
        lists = projected_tokens(model, smaller)
    except ValueError as error_:
        refused = error_
    if refused is not None:
        assert str(refused).endswith("encode the text again")
        return
    for text in data.draw(st.lists(st.text("abc", max_size=20), min_size=1, max_size=20)):
        assert [part for token in ids_of(model, text) for part in lists[token]] == ids_of(smaller, text)


def test_models_whose_ids_tell_too_little_are_refused():
    vocab = dict(enumerate([b"a", b"b", b"ab", b"aba"]))
    early = BPEModel(vocab, [(b"ab", b"a"), (b"a", b"b")])
    with pytest.raises(ValueError, match="merges of the model use tokens that only later merges make"):
        project_ids(early, [0], 3)
    whole = BPEModel({**vocab, 4: b"bb"}, [(b"a", b"b"), (b"ab", b"a")], ignore_merges=True)
    with pytest.raises(ValueError, match=r"takes whole pre-tokens as tokens that merges do not make \(ignore_merges\)"):
        project_ids(whole, [0], 4)
    idle = BPEModel(vocab, [(b"a", b"b"), (b"ab", b"a")], ignore_merges=True)
    assert project_ids(idle, [3], 3).tolist() == [2, 0]
    for wrong in ([4], [2**32], [-1], [2**31]):
        with pytest.raises(ValueError, match="ids: "):
            project_ids(idle, wrong, 3)
    with pytest.raises(ValueError, match="ids: no token has the id 4294967295"):
        project_ids(idle, np.array([-1], np.int32), 3)
    with pytest.raises(TypeError, match="ids: expected integers, got an array of float64"):
        project_ids(idle, [0.5], 3)
    with pytest.raises(ValueError, match="ids: expected one dimension, got 2"):
        project_ids(idle, [[0]], 3)
    with pytest.raises(ValueError, match="vocab_size: expected 2 to 4, got 5"):
        project_ids(idle, [0], 5)


@pytest.mark.parametrize("dtype", [np.uint16, np.uint32, np.int32, np.int64])
@given(ids=st.lists(st.integers(0, 5), max_size=60), cuts=st.lists(st.integers(0, 60), max_size=8))
def test_tables_keep_rows(dtype, ids, cuts):
    lists = {0: [7], 1: [1, 2], 2: [3] * 5, 3: [*range(100)], 4: [65_535], 5: [0, 0, 0, 0]}
    ends = sorted(min(cut, len(ids)) for cut in cuts)
    projected, new_ends = ProjectionTable(lists).apply(np.array(ids, dtype), np.array(ends, np.int64))
    assert projected.dtype == (dtype if dtype in (np.uint16, np.uint32) else np.uint32)
    assert projected.tolist() == [new for each in ids for new in lists[each]]
    assert new_ends.tolist() == [sum(len(lists[each]) for each in ids[:end]) for end in ends]


@pytest.mark.parametrize("sizes", [1 << 14, (1 << 14) + 1, 100_000])
def test_tables_cross_blocks(sizes):
    lists = {number: [number] * (1 + number % 7) for number in range(50)}
    ids = np.random.default_rng(0).integers(0, 50, sizes).astype(np.uint16)
    ends = np.arange(0, sizes + 1, 4096, dtype=np.int64)
    projected, new_ends = ProjectionTable(lists).apply(ids, ends)
    lengths = ids % 7 + 1
    assert (projected == np.repeat(ids, lengths)).all()
    assert (new_ends == np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])[ends]).all()


@pytest.mark.parametrize("name", ["gpt2", *map(thorough_only, ("cl100k", "qwen3", "olmo"))])
def test_real_vocabularies(name, test_data):
    model = load_real(name, test_data)
    texts = [
        (test_data / "text" / f"{each}.txt").read_bytes()[100_000:120_000] for each in ("english", "code", "nonlatin")
    ]
    ids, _ = make_encoder(model).encode_to_numpy(texts, Options(), 1)
    sizes = [model.vocab_size - 7, 20_000]
    for size, projected in zip(sizes, project_ids(model, ids, sizes), strict=True):
        expected, _ = make_encoder(model.truncate(size)).encode_to_numpy(texts, Options(), 1)
        assert projected.tolist() == expected.tolist()


@pytest.mark.thorough
def test_real_vocabulary_with_whole_words_is_refused(test_data):
    model = load_real("llama3_1", test_data)
    with pytest.raises(ValueError, match=r"takes whole pre-tokens as tokens that merges do not make \(ignore_merges\)"):
        project_ids(model, [0], 20_000)


def load_real(name, test_data):
    if name == "gpt2":
        return read_gpt2(test_data / "gpt2" / "vocab.json", test_data / "gpt2" / "merges.txt")
    if name == "cl100k":
        path = test_data / "tiktoken" / "cl100k_base.tiktoken"
        return BPETokenizer.convert_from(path, pattern="cl100k", special_tokens={END: 100257}).model
    return BPETokenizer.convert_from(test_data / "tokenizers" / name).model


@pytest.fixture(scope="module")
def tokenizer():
    text = "low low lower lower widest newest 你好 42"
    tokenizer = BPETokenizer.train([text] * 2, num_merges=20, special_tokens=[END])
    tokenizer.add_tokens(["<|x|>"])
    return tokenizer


def write_corpus(folder):
    folder.mkdir()
    (folder / "a.txt").write_text(f"low lower{END}widest <|x|>{END}{END}newest 42" * 20, encoding="utf-8")
    lines = [json.dumps({"text": f"lowest {number} 你好" * (number % 5), "url": f"u{number}"}) for number in range(60)]
    (folder / "b.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.mark.parametrize("format", [*FORMATS])
@pytest.mark.parametrize("is_renumbered", [False, True], ids=["same", "renumbered"])
def test_files_are_those_of_the_smaller_tokenizer(tokenizer, tmp_path, format, is_renumbered):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    corpus = write_corpus(tmp_path / "in")
    suffix = ".npy" if format == "npy" else ""
    options = {"format": format}
    if format not in ("nanogpt", "llm.c"):
        options["shard_tokens"] = 200
    if format == "parquet":
        (corpus / "a.txt").unlink()
        options["copy_columns"] = ["url"]
    large = tokenizer.encode_files(corpus, tmp_path / "large" / f"c{suffix}", **options)
    tokens = {"mds": large.manifest.parent, "npy": large.manifest}.get(format, tmp_path / "large" / "c")
    written = tokenizer.project_files(tokens, tmp_path / "sizes", [263, 270], renumber=is_renumbered)
    for size, projected in zip([263, 270], written, strict=True):
        edited = truncate(tokenizer.model, size)
        if is_renumbered:
            dense = renumber(edited.model)
            edited = type(edited)(dense.model, edited.remap.then(dense.remap))
        smaller, _ = tokenizer.with_model(edited)
        expected = smaller.encode_files(corpus, tmp_path / f"{size}" / f"c{suffix}", **options)
        assert contents(projected) == contents(expected)
        assert projected[2:4] == expected[2:4]
        assert projected.num_rows == expected.num_rows
        assert projected.manifest.read_text(encoding="utf-8") == expected.manifest.read_text(encoding="utf-8")
        assert not [*projected.manifest.parent.glob(".*")]


def test_parts_are_projected_before_or_after_they_are_merged(tokenizer, tmp_path):
    from hf_bpe.token_files import merge_manifests

    corpus = write_corpus(tmp_path / "in")
    for index in range(3):
        tokenizer.encode_files(corpus, tmp_path / "large" / "c", format="megatron", shard=(index, 3))
    for index in range(3):
        part = tmp_path / "large" / f"c-0000{index}-of-00003"
        tokenizer.project_files(part, tmp_path / "parts" / "c", 265)
    before = merge_manifests(tmp_path / "parts")
    merge_manifests(tmp_path / "large")
    after = tokenizer.project_files(tmp_path / "large" / "c", tmp_path / "after", 265)
    smaller, _ = tokenizer.with_model(truncate(tokenizer.model, 265))
    whole = smaller.encode_files(corpus, tmp_path / "whole" / "after", format="megatron")
    assert contents(after) == contents(whole)
    assert b"".join(path.read_bytes() for path in before.files if path.suffix == ".bin") == whole.ids.read_bytes()


def test_files_that_cannot_be_projected_are_refused(tokenizer, tmp_path):
    corpus = write_corpus(tmp_path / "in")

    def fails(message, kind=ValueError, by=tokenizer, tokens="c", size=265, output="small", **options):
        with pytest.raises(kind, match=message):
            by.project_files(tmp_path / tokens, tmp_path / output, size, **options)
        assert not (tmp_path / f"{output}.bin").exists() or output == "c"

    fails("c.manifest.json", FileNotFoundError)
    written = tokenizer.encode_files(corpus, tmp_path / "c", format="megatron")
    fails("is of another tokenizer; give the tokenizer that encoded it", by=BPETokenizer.train(["low"], 258))
    fails("or its files are those to read; choose another output", output="c")
    fails("vocab_size: expected 2.. to 2.., got 9999", size=9999)
    fails("size: expected one or more different numbers", size=[265, 265])
    ids = written.ids.read_bytes()
    written.ids.write_bytes(ids[:-2])
    fails(rf"c\.bin has {len(ids) - 2} bytes, expected {len(ids)} by c\.manifest\.json")
    written.ids.write_bytes(ids[:-2] + b"\xff\xff")
    fails("ids: no token has the id 65535")
    written.ids.write_bytes(ids)
    index = written.files[1].read_bytes()
    written.files[1].write_bytes(index[:40] + b"\xff" + index[41:])
    fails(r"c\.idx is damaged: its rows do not end within")
    written.files[1].write_bytes(b"x" + index[1:])
    fails(r"c\.idx is damaged: expected an index of Megatron", size=[265, 264])
    assert not [*tmp_path.glob("**/.*")]
    for name, options in {
        "pack": {"pack": 8},
        "dropout": {"dropout": 0.5, "seed": 1},
    }.items():
        tokenizer.encode_files(corpus, tmp_path / name, format="megatron", **options)
        fails(f"expected ids without {name}, because .*; encode the text again", tokens=name)
    tokenizer.encode_files(corpus, tmp_path / "flat", format="nanogpt", shard_tokens=100)
    fails("format 'nanogpt' does not say where rows end, so its shards cannot be cut again", tokens="flat")
    (tmp_path / "flat.manifest.json").write_text("{}")
    fails(r"flat\.manifest\.json is not a manifest of token files, or is damaged", tokens="flat")


def test_added_token_that_merges_make_is_refused(tmp_path):
    tokenizer = BPETokenizer.train(["low lower lowest"] * 2, vocab_size=264, special_tokens=[END])
    tokenizer.add_tokens(["low"])
    (tmp_path / "a.txt").write_text("low lowest", encoding="utf-8")
    tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "c", format="megatron")
    with pytest.raises(ValueError, match="'low' is an added token and one that merges make"):
        tokenizer.project_files(tmp_path / "c", tmp_path / "small", 257)


def test_command_projects_several_sizes(tokenizer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tokenizer.save_pretrained("tok")
    write_corpus(Path("in"))
    run("encode", "tok", "in", "-o", "c.npy")
    printed = json.loads(run("project", "tok", "c", "-o", "one.npy", "--size", 265, "--json").stdout)
    assert printed["sizes"]["265"]["files"] == ["one.npy", "one.offsets.npy"]
    run("project", "tok", "c.manifest.json", "-o", "sizes", "--size", 265, "--size", "0.27k")
    assert Path("sizes/265/c.npy").read_bytes() == Path("one.npy").read_bytes()
    message = error("project", "tok", "c", "-o", "one.npy", "--size", 265)
    assert message == "one.manifest.json already exists; give --force to replace it"
    run("project", "tok", "c", "-o", "one.npy", "--size", 265, "--force")
    Path("two.offsets.npy").write_text("of another tool")
    message = error("project", "tok", "c", "-o", "two.npy", "--size", 265)
    assert message == "two.offsets.npy already exists; give --force to replace it"


def test_recovered_merges_are_in_order():
    ranks = {b"a": 0, b"b": 1, b"ab": 2, b"bb": 3, b"abb": 4, b"aab": 5}
    model = BPEModel({rank: token for token, rank in ranks.items()}, recover_merges(ranks))
    assert project_ids(model, [5], 4).tolist() == [0, 2]
