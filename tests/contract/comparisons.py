"""Views of a tokenizer as values that can be compared: a function each, named for what a user sees.

A function takes a tokenizer and a `Case` and returns a dictionary, of which each entry is compared on its own. It is
called for the loaded tokenizer and for the authority, with the same arguments.
"""

import dataclasses
import pickle
import tempfile
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest


class Case(NamedTuple):
    """The arguments of a comparison: a text, another one for pairs, and the ids of the text, for decoding."""

    text: str
    other: str
    ids: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Something that a user sees.

    Attributes:
        see: returns what is seen of a tokenizer of transformers.
        see_ours: the same of a BPETokenizer, if that has another method for it.
        is_of_texts: whether it is compared for every text, or once for a tokenizer.
        decides_ids: whether it is part of what every format carries, or refuses.
    """

    name: str
    see: Callable
    see_ours: Callable
    is_of_texts: bool
    decides_ids: bool


OF_TRANSFORMERS = {}


def compared(*, is_of_texts=True, decides_ids=False):
    def add(function):
        name = function.__name__
        OF_TRANSFORMERS[name] = Comparison(name, function, function, is_of_texts, decides_ids)
        return function

    return add


def compared_with(registry, see, *, is_of_texts=True):
    """Add what is seen of a BPETokenizer to a registry; `see` is what is seen of the authority."""

    def add(function):
        name = function.__name__
        registry[name] = Comparison(name, see, function, is_of_texts, decides_ids=True)
        return function

    return add


def fields(encoded):
    """Return the entries of what a call returns, as lists."""
    return {name: np.asarray(value).tolist() if hasattr(value, "shape") else value for name, value in encoded.items()}


ALL = {"return_offsets_mapping": True, "return_special_tokens_mask": True, "return_attention_mask": True}


@compared(decides_ids=True)
def ids(tokenizer, case):
    return {
        "call": tokenizer(case.text)["input_ids"],
        "encode": tokenizer.encode(case.text),
        "without special tokens": tokenizer.encode(case.text, add_special_tokens=False),
        "a batch": tokenizer([case.text, case.other])["input_ids"],
        "special tokens as text": tokenizer(case.text, split_special_tokens=True)["input_ids"],
    }


@compared()
def offsets(tokenizer, case):
    added = tokenizer(case.text, return_offsets_mapping=True)
    plain = tokenizer(case.text, return_offsets_mapping=True, add_special_tokens=False)
    return {"with special tokens": added["offset_mapping"], "without": plain["offset_mapping"]}


@compared()
def places(tokenizer, case):
    encoded = tokenizer(case.text)
    tokens, characters = range(len(encoded["input_ids"])), range(len(case.text))
    words = sorted({word for word in encoded.word_ids() if word is not None})
    return {
        "tokens": encoded.tokens(),
        "word_ids": encoded.word_ids(),
        "sequence_ids": encoded.sequence_ids(),
        "char_to_token": [encoded.char_to_token(each) for each in characters],
        "token_to_chars": [encoded.token_to_chars(each) for each in tokens],
        "char_to_word": [encoded.char_to_word(each) for each in characters],
        "token_to_word": [encoded.token_to_word(each) for each in tokens],
        "token_to_sequence": [encoded.token_to_sequence(each) for each in tokens],
        "word_to_tokens": [encoded.word_to_tokens(each) for each in words],
        "word_to_chars": [encoded.word_to_chars(each) for each in words],
    }


@compared()
def masks(tokenizer, case):
    return fields(tokenizer(case.text)) | {
        f"asked for {name}": value
        for name, value in fields(tokenizer(case.text, return_token_type_ids=True, **ALL)).items()
    }


@compared()
def pair(tokenizer, case):
    encoded = tokenizer(case.text, case.other, return_token_type_ids=True, **ALL)
    return fields(encoded) | {
        "sequence_ids": encoded.sequence_ids(),
        "word_ids": encoded.word_ids(),
        "char_to_token": [encoded.char_to_token(0, each, 1) for each in range(len(case.other))],
        "without special tokens": tokenizer(case.text, case.other, add_special_tokens=False)["input_ids"],
    }


@compared()
def split_words(tokenizer, case):
    words = case.text.split(" ")[:20] or [""]
    encoded = tokenizer(words, is_split_into_words=True, **ALL)
    return {**fields(encoded), "word_ids": encoded.word_ids(), "tokens": encoded.tokens()}


@compared()
def truncated(tokenizer, case):
    found = {}
    for side in ("right", "left"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokenizer, "truncation_side", side)
            one = tokenizer(case.text, truncation=True, max_length=7, **ALL)
            found |= {f"{side}: {name}": value for name, value in fields(one).items()}
            for strategy in ("longest_first", "only_first"):
                two = tokenizer(case.text, "low", truncation=strategy, max_length=12)
                found[f"{side}, {strategy}: a pair"] = two["input_ids"]
    return found


@compared()
def windows(tokenizer, case):
    encoded = tokenizer(
        [case.text, "the lowest"], truncation=True, max_length=8, stride=2, return_overflowing_tokens=True, **ALL
    )
    return {**fields(encoded), "word_ids": [encoded.word_ids(row) for row in range(len(encoded["input_ids"]))]}


@compared()
def padded(tokenizer, case):
    found = {}
    for side in ("right", "left"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(tokenizer, "padding_side", side)
            rows = tokenizer([case.text, "low", ""], padding=True, pad_to_multiple_of=4, return_tensors="np", **ALL)
            found |= {f"{side}: {name}": value for name, value in fields(rows).items()}
            fixed = tokenizer(case.text, padding="max_length", truncation=True, max_length=9, padding_side=side)
            found[f"{side}: to max_length"] = fixed["input_ids"]
    return found


@compared()
def tokens(tokenizer, case):
    return {
        "tokenize": tokenizer.tokenize(case.text),
        "with special tokens": tokenizer.tokenize(case.text, add_special_tokens=True),
        "truncated": tokenizer.tokenize(case.text, truncation=True, max_length=7, add_special_tokens=True),
        "as text": tokenizer.tokenize(case.text, split_special_tokens=True),
        "of a pair": tokenizer.tokenize(case.text, pair="low er"),
        "of a pair with special tokens": tokenizer.tokenize(case.text, pair="low er", add_special_tokens=True),
        "of ids": tokenizer.convert_ids_to_tokens(case.ids),
        "of ids, skipping": tokenizer.convert_ids_to_tokens(case.ids, skip_special_tokens=True),
        "to ids": tokenizer.convert_tokens_to_ids(tokenizer.convert_ids_to_tokens(case.ids)),
    }


@compared(decides_ids=True)
def text_of_ids(tokenizer, case):
    ids = [*case.ids]
    return {
        "decode": tokenizer.decode(ids),
        "decode, skipping": tokenizer.decode(ids, skip_special_tokens=True),
        "decode, without cleaning": tokenizer.decode(ids, clean_up_tokenization_spaces=False),
        "decode of an array": tokenizer.decode(np.array(ids, np.int64)),
        "batch_decode": tokenizer.batch_decode([ids, ids[:3], []]),
        "batch_decode, skipping": tokenizer.batch_decode([ids, ids[:3], []], skip_special_tokens=True),
        "of tokens": tokenizer.convert_tokens_to_string(tokenizer.convert_ids_to_tokens(ids)),
    }


@compared(is_of_texts=False, decides_ids=True)
def vocabulary(tokenizer, case):
    return {"get_vocab": tokenizer.get_vocab(), "len": len(tokenizer), "vocab_size": tokenizer.vocab_size}


NAMES = ("bos", "eos", "unk", "sep", "pad", "cls", "mask")


@compared(is_of_texts=False)
def special_tokens(tokenizer, case):
    found = {f"{name}_token": getattr(tokenizer, f"{name}_token") for name in NAMES}
    found |= {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in NAMES}
    return found | {
        "all_special_tokens": {*tokenizer.all_special_tokens},
        "all_special_ids": {*tokenizer.all_special_ids},
        "extra_special_tokens": {*map(str, tokenizer.extra_special_tokens)},
        "get_special_tokens_mask": tokenizer.get_special_tokens_mask([*case.ids], already_has_special_tokens=True),
        "num_special_tokens_to_add": tokenizer.num_special_tokens_to_add(),
        "num_special_tokens_to_add(pair)": tokenizer.num_special_tokens_to_add(True),
    }


@compared(is_of_texts=False)
def added_tokens(tokenizer, case):
    return {
        "added_tokens_decoder": {token_id: repr(token) for token_id, token in tokenizer.added_tokens_decoder.items()},
        "get_added_vocab": tokenizer.get_added_vocab(),
    }


@compared(is_of_texts=False)
def settings(tokenizer, case):
    names = ("padding_side", "truncation_side", "model_max_length", "split_special_tokens", "chat_template", "is_fast")
    names += ("model_input_names", "max_len_single_sentence", "max_len_sentences_pair")
    return {name: getattr(tokenizer, name) for name in names}


@compared(is_of_texts=False)
def batches(tokenizer, case):
    found = {}
    for kind in tensor_kinds():
        rows = tokenizer(["low", "the lowest", ""], padding=True, return_tensors=kind)
        found |= {f"{kind}: {name}": value for name, value in fields(rows).items()}
        found[f"{kind}: decoded"] = tokenizer.batch_decode(rows["input_ids"])
        found[f"{kind}: a row decoded"] = tokenizer.decode(rows["input_ids"][0])
    return found


@compared(is_of_texts=False)
def empty_batch(tokenizer, case):
    return fields(tokenizer([]))


@compared(is_of_texts=False)
def empty_batch_decoded(tokenizer, case):
    return {"text": tokenizer.batch_decode([])}


@compared(is_of_texts=False)
def pad(tokenizer, case):
    rows = [tokenizer.encode("low"), tokenizer.encode("the lowest of the low")]
    kinds = {"lists": list, "numpy": np.array, **({"torch": torch().tensor} if torch() else {})}
    found = {}
    for name, kind in kinds.items():
        features = [{"input_ids": kind(row), "attention_mask": kind([1] * len(row))} for row in rows]
        for wanted in (None, *tensor_kinds()):
            padded = tokenizer.pad(features, return_tensors=wanted, pad_to_multiple_of=8)
            found |= {f"{name} to {wanted}: {key}": value for key, value in fields(padded).items()}
        left = tokenizer.pad({"input_ids": [kind(row) for row in rows]}, padding_side="left")
        found[f"{name}: a dictionary"] = fields(left)
    return found


@compared(is_of_texts=False)
def after_naming_a_token(tokenizer, case):
    changed = copied(tokenizer)
    changed.bos_token = "<b2>"
    known = changed.bos_token_id
    changed.add_special_tokens({"eos_token": "<e2>"})
    text = "low<b2> <e2>er"
    return {
        "bos_token": changed.bos_token,
        "bos_token_id": known,
        "eos_token": changed.eos_token,
        "eos_token_id": changed.eos_token_id,
        "ids": changed.encode(text),
        "text": changed.decode(changed.encode(text), skip_special_tokens=True),
    }


@compared(is_of_texts=False)
def after_saving_a_new_name(tokenizer, case):
    if len(tokenizer) > 1000:  # saving is verified, which takes seconds with a real vocabulary
        return {}
    changed = copied(tokenizer)
    changed.bos_token = "<b2>"
    with tempfile.TemporaryDirectory() as folder:
        changed.save_pretrained(folder)
        loaded = type(changed).from_pretrained(folder)
    text = "low<b2> er"
    return {
        "bos_token_id": loaded.bos_token_id,
        "len": len(loaded),
        "ids": loaded.encode(text, add_special_tokens=False),
        "text": loaded.decode(loaded.encode(text), skip_special_tokens=True),
    }


@compared(is_of_texts=False)
def after_adding_tokens(tokenizer, case):
    from tokenizers import AddedToken

    changed = copied(tokenizer)
    numbers = changed.add_tokens(["owes", AddedToken("<new>", lstrip=True)]), changed.add_tokens(["<s1>"], True)
    text = "the lowest  <new><s1> owes"
    return {
        "numbers": numbers,
        "len": len(changed),
        "ids": changed.encode(text),
        "as text": changed.encode(text, split_special_tokens=True),
        "offsets": changed(text, return_offsets_mapping=True)["offset_mapping"],
        "text": changed.decode(changed.encode(text), skip_special_tokens=True),
    }


def copied(tokenizer):
    """Return an independent copy; `copy.copy` of a fast tokenizer shares the added tokens."""
    return pickle.loads(pickle.dumps(tokenizer))


def torch():
    try:
        import torch
    except ImportError:
        return None
    return torch


def tensor_kinds():
    return ("np", "pt") if torch() else ("np",)
