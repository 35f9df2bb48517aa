"""`dropout`, `seed` and `first_text` of the bulk methods, calls and files."""

import json
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPETokenizer
from support.cases import case
from support.strategies import any_texts

CORPUS = ["low low low lower lower widest widest newest newest newest 你好 你好<|endoftext|>the lowest of the low"]
SPECIALS = ["<|endoftext|>", "<pad>"]
TEXTS = ["lowest of the low<|endoftext|>", "", "newest 你好<pad>", "lower and widest " * 40]


@pytest.fixture(scope="module", params=[None, "NFKC"])
def tokenizer(request):
    options = {"special_tokens": SPECIALS, "pad_token": "<pad>", "eos_token": "<|endoftext|>", "bos_token": "<pad>"}
    trained = BPETokenizer.train(CORPUS, num_merges=25, **options)
    model = replace(trained.model, normalizer=request.param)
    return BPETokenizer(model=model, **{name: value for name, value in options.items() if name != "special_tokens"})


@given(texts=st.lists(any_texts | st.sampled_from(TEXTS), max_size=4), seed=st.integers(0, 2**64 - 1))
def test_bulk_methods_agree_and_batches_continue(tokenizer, texts, seed):
    how = {"dropout": 0.3, "seed": seed}
    rows = tokenizer.encode_to_lists(texts, **how)
    assert tokenizer.decode_to_texts(rows) == tokenizer.decode_to_texts(tokenizer.encode_to_lists(texts))
    ids, offsets = tokenizer.encode_to_numpy(texts, num_workers=2, **how)
    assert [ids[begin:end].tolist() for begin, end in pairwise(offsets)] == rows
    padded, mask = tokenizer.encode_to_padded(texts, **how)
    assert [row[keep == 1].tolist() for row, keep in zip(padded, mask, strict=True)] == rows
    for number, text in enumerate(texts):
        assert tokenizer.encode_to_lists([text], first_text=number, **how) == [rows[number]]
    backwards = [*range(len(texts))][::-1]
    assert tokenizer.encode_to_lists(texts[::-1], first_text=backwards, **how) == rows[::-1]


def test_zero_is_plain_encoding(tokenizer):
    for zero in (0, 0.0):
        assert tokenizer.encode_to_lists(TEXTS, seed=1, dropout=zero) == tokenizer.encode_to_lists(TEXTS)


def test_seeds_and_numbers_of_texts_make_a_difference(tokenizer):
    rows = {str(tokenizer.encode_to_lists(TEXTS[3:], seed=seed, dropout=0.3)) for seed in range(5)}
    rows |= {str(tokenizer.encode_to_lists(TEXTS[3:], seed=0, first_text=number, dropout=0.3)) for number in range(5)}
    assert len(rows) == 9


def test_calls_draw_like_bulk_methods_and_add_the_template(tokenizer):
    twin = pickle.loads(pickle.dumps(tokenizer))
    twin.add_bos_token = twin.add_eos_token = True
    how = {"dropout": 0.4, "seed": 5}
    rows = twin.encode_to_lists(TEXTS, **how)
    called = twin(TEXTS, padding=True, return_offsets_mapping=twin.normalizer is None, **how)
    for row, ids, mask in zip(rows, called["input_ids"], called["attention_mask"], strict=True):
        kept = [token_id for token_id, keep in zip(ids, mask, strict=True) if keep]
        assert kept == [twin.bos_token_id, *row, twin.eos_token_id]
    if twin.normalizer is None:
        spans = [called.token_to_chars(0, at) for at in range(1, 1 + len(rows[0]))]
        assert "".join(TEXTS[0][begin:end] for begin, end in spans) == TEXTS[0]
    assert twin.encode(TEXTS[3], first_text=3, add_special_tokens=False, **how) == rows[3]
    pair = twin(TEXTS[0], TEXTS[3], add_special_tokens=False, **how)["input_ids"]
    assert pair == rows[0] + twin.encode_to_lists(TEXTS[3:], first_text=1, **how)[0]


def test_wrong_arguments_are_refused_by_name():
    tokenizer = BPETokenizer.train(["low"], 257, pad_token="<pad>")
    methods = (tokenizer, tokenizer.encode_to_lists, tokenizer.encode_to_numpy, tokenizer.encode_to_padded)
    for options, kind, message in (
        ({"dropout": 0.1}, ValueError, "seed: expected an int, got None"),
        ({"seed": 1}, ValueError, "seed: expected dropout with it"),
        ({"first_text": 1}, ValueError, "first_text: expected dropout with it"),
        ({"dropout": 1.1, "seed": 1}, ValueError, "dropout: expected at most 1"),
        ({"dropout": -0.1, "seed": 1}, ValueError, "dropout: expected a finite number of at least 0"),
        ({"dropout": float("nan"), "seed": 1}, ValueError, "dropout"),
        ({"dropout": "0.1", "seed": 1}, TypeError, "dropout: expected a number"),
        ({"dropout": 0.1, "seed": -1}, ValueError, "seed: expected at least 0"),
        ({"dropout": 0.1, "seed": 2**64}, ValueError, "seed: expected at most"),
        ({"dropout": 0.1, "seed": 1.5}, TypeError, "seed: expected an int"),
        ({"dropout": 0.1, "seed": 1, "first_text": [1]}, ValueError, "a number for each of 2 texts, got 1"),
        ({"dropout": 0.1, "seed": 1, "first_text": "01"}, TypeError, "first_text: expected the number of the first"),
        ({"dropout": 0.1, "seed": 1, "first_text": 2**63 - 1}, ValueError, "the number of the last text"),
    ):
        for method in methods:
            with case(options), pytest.raises(kind, match=message):
                method(["low", "lower"], **options)


# Files


@pytest.fixture
def sources(tmp_path):
    # Without the separator, which is ordinary text in a record only.
    texts = [text.replace("<|endoftext|>", "") for text in (*TEXTS, "widest e\u0301 \ufb01n\uff41l " * 50)]
    (tmp_path / "a.txt").write_text("<|endoftext|>".join(texts))
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps({"text": text}) for text in texts))
    return [tmp_path / "a.txt", tmp_path / "b.jsonl"], texts


def rows_of(written):
    ids, offsets = np.load(written.ids), np.load(written.offsets)
    return [ids[begin:end].tolist() for begin, end in pairwise(offsets)]


def test_files_have_the_ids_of_bulk_methods(tokenizer, sources, tmp_path, monkeypatch):
    paths, texts = sources
    how = {"dropout": 0.25, "seed": 11}
    whole = tokenizer.encode_to_lists([paths[0].read_text()], first_text=0, **how)[0]
    records = tokenizer.encode_to_lists(texts, first_text=1 << 40, **how)
    written = tokenizer.encode_files(paths, tmp_path / "x.npy", num_workers=1, append_separator=False, **how)
    rows = rows_of(written)
    text = [token_id for row in rows[: -len([*filter(None, records)])] for token_id in row]
    assert text == whole
    assert rows[-len([*filter(None, records)]) :] == [*filter(None, records)]
    manifest = json.loads(written.manifest.read_text())
    assert {name: manifest[name] for name in ("dropout", "seed")} == how
    # Neither blocks nor workers nor work folders change an id.
    monkeypatch.setattr("hf_bpe.token_files._documents.BLOCK_BYTES", 64)
    for number, more in enumerate([{"num_workers": 1}, {"num_workers": 2}, {"work_dir": tmp_path / "work"}]):
        again = tokenizer.encode_files(paths, tmp_path / f"y{number}.npy", append_separator=False, **how, **more)
        assert rows_of(again) == rows
    with pytest.raises(ValueError, match="expected a run with dropout"):
        tokenizer.encode_files(
            paths, tmp_path / "y2.npy", append_separator=False, dropout=0.5, seed=11, work_dir=tmp_path / "work"
        )
    plain = json.loads(tokenizer.encode_files(paths, tmp_path / "z.npy").manifest.read_text())
    assert "seed" not in plain
