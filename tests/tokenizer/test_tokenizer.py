"""BPETokenizer as users of transformers meet it."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AddedToken
from transformers.convert_slow_tokenizer import GPT2Converter

from hf_bpe import BPEModel, BPETokenizer, train
from support.samples import CORPUS, reload
from support.strategies import BYTES

TEXTS = [
    "lowest of the low<|endoftext|>",
    "",
    " ",
    "<|user|>newest 你好<pad><pad>",
    "a\u0301 \U0001f44b\r\n\t x  y",
    "<|user|",
]


# Round trips


@given(st.text())
def test_text_and_its_repaired_utf8_have_the_same_ids(tokenizer, text):
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert tokenizer.encode_bytes(repaired.encode()) == tokenizer.encode(text)


# Options


def test_spaces_are_cleaned_only_when_a_call_asks():
    tokenizer = BPETokenizer.train(CORPUS, vocab_size=256, clean_up_tokenization_spaces=True)
    ids = tokenizer.encode("low , lower .")
    assert tokenizer.decode(ids) == "low , lower ."
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=True) == "low, lower."


# Bytes and ids that are not there


def test_a_missing_byte_is_an_error_or_the_unknown_token():
    model = train(["low"], num_merges=2, special_tokens=["<unk>"], initial_alphabet="observed")
    with pytest.raises(ValueError, match="no token for the byte 0x78"):
        BPETokenizer(model=model).encode("lowx")
    tokenizer = BPETokenizer(model=model, unk_token="<unk>")
    unknown = tokenizer.unk_token_id
    assert tokenizer.encode("low x") == [*tokenizer.encode("low"), unknown, unknown]
    assert tokenizer.convert_tokens_to_ids("no such token") == unknown


def test_gaps_in_the_ids_collide_with_no_new_token():
    model = BPEModel({5: b"a", 2: b"b", 9: b"ab", 4: b"<s>"}, [(b"a", b"b")], ("<s>",))
    tokenizer = BPETokenizer(model=model)
    assert (tokenizer.vocab_size, len(tokenizer)) == (10, 10)
    tokenizer.backend_tokenizer.add_tokens(["other"])  # which is a copy
    tokenizer.add_tokens(["new"])
    assert tokenizer.encode("abnew<s>b") == [9, 10, 4, 2]


# Special and added tokens


def test_endoftext_is_bos_and_eos_unless_something_else_is_said():
    model = train(CORPUS, vocab_size=300, special_tokens=["<|endoftext|>", "</s>"])
    assert BPETokenizer(model=model).special_tokens_map == {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>"}
    assert BPETokenizer(model=model, eos_token="</s>").eos_token == "</s>"
    assert BPETokenizer(model=model, eos_token=None).eos_token is None


def test_named_tokens_of_training_are_special_in_the_model():
    tokenizer = BPETokenizer.train(CORPUS, 262, ["<a>"], eos_token="</s>", extra_special_tokens=["<b>", "<a>"])
    assert tokenizer.model.special_tokens == ("<a>", "</s>", "<b>")
    assert tokenizer.eos_token_id == 257
    assert len(tokenizer) == 262
    assert set(tokenizer.all_special_tokens) == {"</s>", "<a>", "<b>"}


@pytest.mark.parametrize("name", ["extra_special_tokens", "additional_special_tokens"])
def test_tokens_under_any_name_are_special_tokens_of_the_model(name, tmp_path):
    extra = {"frame_token": "<b>"} if name == "extra_special_tokens" else ["<b>"]
    flagged = [AddedToken("<x>", rstrip=True, special=True)]
    tokenizer = BPETokenizer.train(CORPUS, 262, flagged, image_token=AddedToken("<img>", lstrip=True), **{name: extra})
    assert tokenizer.model.special_tokens == ("<x>", "<img>", "<b>")
    assert len(tokenizer) == 262
    tokenizer.save_pretrained(tmp_path / "portable", portable=True)
    portable = BPETokenizer.from_pretrained(tmp_path / "portable")
    for each in (tokenizer, reload(tokenizer, tmp_path), portable, tokenizer.train_new_from_iterator(["low"], 259)):
        assert each.image_token_id == 257
        assert each.encode("a <img><x> a") == [97, 257, 256, 97]


# Training a new one


def test_train_new_from_iterator_keeps_special_tokens(tokenizer):
    new = tokenizer.train_new_from_iterator(
        iter([["newer and newer"], ["older and older"]]),
        vocab_size=270,
        length=2,
        new_special_tokens=["<|new|>"],
        special_tokens_map={"<|user|>": "<|human|>"},
    )
    assert type(new) is BPETokenizer
    assert len(new) == 270
    assert new.model.special_tokens == ("<|endoftext|>", "<pad>", "<|human|>", "<|new|>")
    assert (new.pad_token, new.eos_token, new.pattern) == ("<pad>", "<|endoftext|>", "gpt2")
    assert set(new.extra_special_tokens) == {"<|human|>", "<|new|>"}
    expected = BPETokenizer.train(["newer and newer", "older and older"], 270, [*new.model.special_tokens])
    assert new.model == expected.model


def test_train_new_from_iterator_makes_a_model_of_its_own_merges():
    model = BPEModel(BYTES | {256: b"abc", 257: b"<r>"}, [], ["<r>"], "qwen2", True)
    new = BPETokenizer(model=model).train_new_from_iterator(["xyz xyz"], 258, new_special_tokens=["<s>"])
    assert (new.ignore_merges, new.model_special_tokens, new.pattern) == (False, ["<r>", "<s>"], "qwen2")
    assert b"abc" not in new.model.vocab.values()


def test_train_new_from_iterator_renames_named_tokens():
    tokenizer = BPETokenizer.train(CORPUS, 262, mask_token=AddedToken("<m>", lstrip=True), model_max_length=9)
    new = tokenizer.train_new_from_iterator(["abc abc"], 260, special_tokens_map={"<m>": "[M]"}, pattern="qwen2")
    assert (new.mask_token, new.pattern, new.model_max_length) == ("[M]", "qwen2", 9)
    assert new.added_tokens_decoder[256].lstrip


def test_train_new_from_iterator_keeps_what_was_set_later():
    tokenizer = BPETokenizer.train(CORPUS, 262, ["<|endoftext|>"])
    tokenizer.add_bos_token, tokenizer.padding_side, tokenizer.errors = True, "left", "ignore"
    new = tokenizer.train_new_from_iterator(["abc abc"], 260)
    assert (new.add_bos_token, new.add_eos_token, new.padding_side, new.errors) == (True, False, "left", "ignore")
    tokenizer.add_bos_token = False
    assert not tokenizer.train_new_from_iterator(["abc abc"], 260).add_bos_token


# Python's own ways


def test_gpt2_attributes_serve_the_converter_of_transformers(tokenizer):
    converted = GPT2Converter(tokenizer).converted()
    for text in TEXTS:
        part = text.split("<")[0]  # the converter leaves added tokens to its caller
        assert converted.encode(part).ids == tokenizer.encode(part)


def test_a_model_or_files_are_needed_and_not_both(tokenizer):
    others = {"pattern": "qwen2", "vocab_file": "vocab.json", "ignore_merges": True, "model_special_tokens": []}
    for name, value in others.items():
        with pytest.raises(ValueError, match=f"takes either a model, or files and their settings.*{name}"):
            BPETokenizer(model=tokenizer.model, **{name: value})
    model = dataclasses.replace(tokenizer.model, ignore_merges=True)
    for same in (True, False):  # which is what it is where nothing is given
        assert BPETokenizer(model=model, ignore_merges=same, model_special_tokens=model.special_tokens).ignore_merges
