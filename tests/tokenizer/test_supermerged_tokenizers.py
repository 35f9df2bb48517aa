"""Tokenizers of models with supermerges: what is right, and what is refused by name."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoTokenizer

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.editing import add_special_tokens, extend, prune, truncate
from hf_bpe.engine import parts_of_tokens, unreachable
from hf_bpe.tokenizer._files.boundless_file import read_boundless, render_boundless

TEXTS = ["one of the best, one of the rest\n", "by the way: one of 12 the best. One <|x|> of the"]


@pytest.fixture(scope="module")
def model():
    base = train(TEXTS * 3, num_merges=22, special_tokens=["<|x|>"])
    pairs = [(b" of", b" the"), (b"one", b" of the"), (b" the", b" best")]
    vocab = {**base.vocab, **{1000 + i: first + second for i, (first, second) in enumerate(pairs)}}
    return BPEModel(vocab, base.merges, base.special_tokens, "gpt2", supermerges=pairs)


@pytest.fixture
def tokenizer(model):
    return BPETokenizer(model=model, pad_token="<|x|>")


def test_tokens_offsets_and_decoding_agree(tokenizer):
    text = "one of the best, one of the rest"
    call = tokenizer(text, return_offsets_mapping=True)
    tokens = ["oneĠofĠthe", "Ġbest", ",", "Ġone", "ĠofĠthe", "Ġrest"]
    assert tokenizer.tokenize(text) == tokens
    assert [text[a:b] for a, b in call["offset_mapping"]] == [token.replace("Ġ", " ") for token in tokens]
    assert call.word_ids() == [0, 3, 4, 5, 6, 8]  # a token of several pre-tokens is in the first
    assert tokenizer.decode(call["input_ids"]) == text
    ids, offsets = tokenizer.encode_to_numpy([text, "", "of the"])
    assert ids.tolist() == [*call["input_ids"], *tokenizer.encode("of the")]
    assert np.diff(offsets).tolist() == [6, 0, 3]


def test_session_and_streams_give_the_ids_of_the_whole(tokenizer):
    text = "".join(TEXTS) * 50
    session = tokenizer.session()
    for start in range(0, len(text), 37):
        session.append(text[start : start + 37])
    assert session.ids == tokenizer.encode(text)
    assert tokenizer.canonical_ids().is_canonical(session.ids)


def test_stochastok_splits_supertokens(tokenizer):
    ids = tokenizer.encode_to_lists(["one of the best"] * 50, stochastok=0.9, seed=1)
    assert {tokenizer.decode(row) for row in ids} == {"one of the best"}
    assert {*map(len, ids)} == {3}  # of two


@pytest.mark.parametrize(
    "call",
    [
        lambda tokenizer: tokenizer.encode_to_lists(["of the"], dropout=0.1, seed=1),
        lambda tokenizer: tokenizer(["of the"], dropout=0.1, seed=1),
        lambda tokenizer: tokenizer.backend_tokenizer,
        lambda tokenizer: tokenizer.bpe_ranks,
        lambda tokenizer: tokenizer.canonical_ids().allowed_next([]),
        lambda tokenizer: tokenizer.convert_to("x.tiktoken"),
        lambda tokenizer: tokenizer.convert_to("x.gguf"),
        lambda tokenizer: tokenizer.convert_to("tokenizer.json"),
        lambda tokenizer: prune(tokenizer.model, keep=[]),
        lambda tokenizer: extend(tokenizer.model, TEXTS, 1),
        lambda tokenizer: train(TEXTS, num_merges=30, initial=tokenizer.model),
    ],
)
def test_what_cannot_have_supermerges_says_so(tokenizer, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="supermerges"):
        call(tokenizer)
    assert not [*tmp_path.iterdir()]


def test_truncation_removes_supermerges_first(model):
    smaller, remap = truncate(model, model.vocab_size - 2)
    assert smaller.supermerges == model.supermerges[:1]
    assert remap.removed == (1001, 1002)
    assert truncate(model, model.vocab_size - 4).model.merges == model.merges[:-1]


def test_special_tokens_can_be_added(model):
    longer = add_special_tokens(model, ["<|y|>"]).model
    assert longer.supermerges == model.supermerges
    assert longer.fingerprint != model.fingerprint


def test_merge_trees_have_supermerges(model):
    ids = {token: token_id for token_id, token in model.vocab.items()}
    assert parts_of_tokens(model)[1001] == (ids[b"one"], ids[b" of the"])
    assert not {1000, 1001, 1002}.intersection(unreachable(model))


@pytest.mark.parametrize("load", [BPETokenizer.from_pretrained, AutoTokenizer.from_pretrained])
def test_saved_folder_gives_the_same_tokenizer(tokenizer, load, tmp_path):
    names = {Path(path).name for path in tokenizer.save_pretrained(tmp_path / "saved")}
    assert {"boundless.json", "tokenizer_config.json"} <= names
    assert not names & {"tokenizer.json", "vocab.json", "merges.txt"}
    loaded = load(tmp_path / "saved")
    assert type(loaded) is BPETokenizer
    assert loaded.model == tokenizer.model
    assert loaded.model.signature == tokenizer.model.signature
    assert loaded("one of the rest <|x|>") == tokenizer("one of the rest <|x|>")
    assert loaded.pad_token == "<|x|>"
    loaded.save_pretrained(tmp_path / "saved")
    assert pickle.loads(pickle.dumps(loaded)).encode("one of the") == tokenizer.encode("one of the")


def test_folder_of_another_tokenizer_is_refused(tokenizer, tmp_path):
    plain = BPETokenizer.train(TEXTS, vocab_size=270)
    plain.save_pretrained(tmp_path / "plain")
    with pytest.raises(ValueError, match="is of another tokenizer"):
        tokenizer.save_pretrained(tmp_path / "plain")
    with pytest.raises(ValueError, match="portable=True: expected a model without supermerges"):
        tokenizer.save_pretrained(tmp_path / "other", portable=True)
    tokenizer.save_pretrained(tmp_path / "saved")
    plain.save_pretrained(tmp_path / "saved")  # boundless.json stays, and is not read
    assert BPETokenizer.from_pretrained(tmp_path / "saved").model == plain.model


def test_changed_or_damaged_file_is_refused(tokenizer, tmp_path):
    tokenizer.save_pretrained(tmp_path)
    path = tmp_path / "boundless.json"
    content = path.read_text()
    path.write_text(content.replace('["Ġof", "Ġthe"]', '["Ġthe", "Ġof"]'))
    with pytest.raises(ValueError, match=r"not a token of the vocabulary|is not the file that was saved"):
        BPETokenizer.from_pretrained(tmp_path)
    path.write_text(content[:-20])
    with pytest.raises(ValueError, match=r"boundless\.json"):
        BPETokenizer.from_pretrained(tmp_path)


names = ["format", "pattern", "special_tokens", "vocab", "merges", "supermerges", "ignore_merges"]


@pytest.mark.parametrize("name", names)
@pytest.mark.parametrize("value", [None, 3, "x", [3], [["a", "nothing"]], [[1, 2, 3]], {"a": 1}, [[0, "日"]]])
def test_malformed_file_is_refused_with_its_name(model, name, value, tmp_path):
    path = tmp_path / "boundless.json"
    content = {**json.loads(render_boundless(model)), name: value}
    if (name, value) == ("pattern", "x"):
        return
    path.write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"boundless\.json"):
        read_boundless(path)
    path.write_text(json.dumps({key: other for key, other in content.items() if key != name}))
    with pytest.raises(ValueError, match=r"boundless\.json"):
        read_boundless(path)
