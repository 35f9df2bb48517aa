"""Signatures: equal ones mean equal merges, and what they tell of training is true."""

import dataclasses
import json
import pickle
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPEModel, BPETokenizer, WordCounts, conversion, count, train
from support.cases import case
from support.edited_folders import edit_json
from support.strategies import corpora, models

TEXTS = ["low lower lowest newest widest " * 3, "the quick brown fox"]
SPECIALS = ["<|endoftext|>"]


def fields_of(signature):
    first, *rest = signature.split("|")
    return {"hf_bpe": first.removeprefix("hf_bpe "), **dict(part.split("=") for part in rest)}


def test_signature_identifies_the_model_and_its_training():
    counts = count(TEXTS, special_tokens=SPECIALS)
    model = train(counts, 265)
    merges = fields_of(model.signature)["merges"]
    assert model.signature == (
        "hf_bpe 0.1|unicode=16.0|pattern=gpt2|vocab=265|ties=lexicographic|specials=1|"
        f"counts=sha256:{counts.fingerprint[:16]}|merges={merges}"
    )


OPTIONS = {
    "ties": {"tie_break": "huggingface"},
    "min_frequency": {"min_frequency": 2},
    "max_token_bytes": {"max_token_bytes": 3},
    "length_penalty": {"length_penalty": 0.5},
    "alphabet": {"initial_alphabet": "observed"},
    "pattern": {"pattern": r"\w+|\|"},
    "initial": {"initial": train(TEXTS, num_merges=2)},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_signature_has_every_option_that_decides_merges(name):
    plain, other = (fields_of(train(TEXTS, num_merges=4, **options).signature) for options in ({}, OPTIONS[name]))
    assert plain.get(name) != other[name]


def test_signature_does_not_depend_on_counting_and_learning(native, tmp_path):
    expected = train(TEXTS, 265, SPECIALS).signature
    path = tmp_path / "texts.txt"
    path.write_text("<|endoftext|>".join(TEXTS), encoding="utf-8")
    counts = count(TEXTS, special_tokens=SPECIALS)
    counts.save(tmp_path / "texts.counts")
    for model in (
        train(path, 265, SPECIALS),
        train(TEXTS, 265, SPECIALS, num_workers=2),
        train(TEXTS, 265, SPECIALS, work_dir=tmp_path / "work"),
        train(TEXTS, 265, SPECIALS, max_memory="1TB"),
        train(WordCounts.load(tmp_path / "texts.counts"), 265),
        train(TEXTS, [258, 265], SPECIALS)[1],
    ):
        assert model.signature == expected


@given(models(), models())
def test_equal_signatures_mean_equal_merges(first, second):
    assert (first.signature == second.signature) <= (first.merges == second.merges)
    swapped = dataclasses.replace(first, merges=[*reversed(first.merges)])
    assert (first.signature == swapped.signature) == (first.merges == swapped.merges)


@given(corpora, st.sampled_from(["lexicographic", "huggingface"]), st.data())
def test_truncated_model_has_the_signature_of_less_training(words, ties, data):
    counts = WordCounts(words)
    merges = len(train_quietly(counts, 20, ties).merges)
    size = data.draw(st.integers(0, merges))
    assert (
        train_quietly(counts, merges, ties).truncate(256 + size).signature
        == train_quietly(counts, size, ties).signature
    )


def train_quietly(counts, num_merges, ties):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about fewer merges than requested
        return train(counts, num_merges=num_merges, tie_break=ties)


def test_other_merges_are_not_said_to_be_learned():
    model = train(TEXTS, 265, SPECIALS)
    assert "counts" in fields_of(dataclasses.replace(model, normalizer="NFC").signature)
    for other in (
        dataclasses.replace(model, merges=model.merges[:-1]),
        train(TEXTS, 265, initial=train(TEXTS, 260)).truncate(258),
        BPEModel(model.vocab, model.merges, model.special_tokens),
    ):
        assert {"ties", "counts"}.isdisjoint(fields_of(other.signature))
        assert fields_of(other.signature)["hf_bpe"] == "0.1"


def test_models_that_differ_in_nothing_else_are_equal():
    model = train(TEXTS, 265, SPECIALS)
    other = BPEModel(model.vocab, model.merges, model.special_tokens)
    assert model == other
    assert hash(model) == hash(other)
    assert model.signature != other.signature


NAMES = {"tiktoken": "x.tiktoken", "gguf": "x.gguf", "tokenizer.json": "tokenizer.json"}


@pytest.mark.parametrize("name", conversion.FORMATS)
def test_formats_that_have_a_place_for_it_keep_it(tmp_path, name):
    tokenizer = BPETokenizer.train(TEXTS, 265)
    tokenizer.convert_to(tmp_path / NAMES.get(name, name), format=name)
    loaded = BPETokenizer.convert_from(tmp_path / NAMES.get(name, name), format=name)
    signature = loaded.model.signature
    assert fields_of(signature)["merges"] == fields_of(tokenizer.model.signature)["merges"]
    assert (signature == tokenizer.model.signature) == (name in ("hf", "text", "tiktoken", "gguf"))
    assert pickle.loads(pickle.dumps(loaded)).model.signature == signature


def test_folder_keeps_the_signature_when_saved_again(tmp_path):
    tokenizer = BPETokenizer.train(TEXTS, 265, SPECIALS)
    for portable in (False, True):
        tokenizer.save_pretrained(tmp_path, portable=portable)
        config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
        assert config["signature"] == tokenizer.model.signature
        tokenizer = BPETokenizer.from_pretrained(tmp_path)
        assert tokenizer.model.signature == config["signature"]


def test_files_that_were_changed_are_not_said_to_be_learned(tmp_path):
    BPETokenizer.train(TEXTS, 265, SPECIALS).save_pretrained(tmp_path)
    merges = tmp_path / "merges.txt"
    *kept, _ = merges.read_text("utf-8").splitlines()
    merges.write_text("\n".join(kept), encoding="utf-8")
    edit_json(tmp_path / "tokenizer_config.json", file_digests=None)  # by which the change would be refused
    assert "counts" not in fields_of(BPETokenizer.from_pretrained(tmp_path).model.signature)


def test_other_text_gives_no_origin():
    model = train(TEXTS, 258)
    plain = BPEModel(model.vocab, model.merges)
    for line in ["", "x", "hf_bpe 0.1", "hf_bpe 0.1|merges", "a|merges=b", "|", "hf_bpe 0.1|merges=x|y=1", "é"]:
        with case(line):
            assert plain.with_signature(line).signature == plain.signature


def test_unprintable_signatures_are_ignored():
    for sign in ["\x1b[2J", "\n", "\u202e", "\ud800"]:
        with case(sign):
            model = train(TEXTS, 258)
            plain = BPEModel(model.vocab, model.merges)
            assert plain.with_signature(model.signature).signature == model.signature
            forged = model.signature.replace("ties=", f"ties={sign}")
            assert plain.with_signature(forged).signature == plain.signature


def test_a_signature_that_is_no_text_is_refused(tmp_path):
    BPETokenizer.train(TEXTS, 258).save_pretrained(tmp_path)
    edit_json(tmp_path / "tokenizer_config.json", signature=1)
    with pytest.raises(ValueError, match="signature: expected a string, got 1"):
        BPETokenizer.from_pretrained(tmp_path)
