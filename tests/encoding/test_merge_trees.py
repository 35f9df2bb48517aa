"""The tree of a token: what merges make of its own bytes."""

import dataclasses
from random import Random

import numpy as np
from hypothesis import given

from hf_bpe import train
from hf_bpe.conversion import read_gpt2
from hf_bpe.encoding import parts_of_tokens, unreachable
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._merge_trees import last_pair
from hf_bpe.reference import Encoder, pre_tokenize
from support.strategies import any_bytes, models


def merges_of(token_id, parts):
    """Return the ids of the tokens that merges make in a tree."""
    if token_id not in parts:
        return []
    first, second = parts[token_id]
    return [*merges_of(first, parts), *merges_of(second, parts), token_id]


@given(models())
def test_token_has_the_parts_of_its_last_merge_or_is_unreachable(model):
    ranks = {merge: rank for rank, merge in enumerate(model.merges)}
    specials = {special.encode() for special in model.special_tokens}
    ids = {token: token_id for token_id, token in model.vocab.items()}
    parts, lost = parts_of_tokens(model), {*unreachable(model)}
    for token_id, token in model.vocab.items():
        pair = (
            last_pair(model.alphabet.symbols(token), lambda first, second: ranks.get((first, second)))
            if len(token) > 1
            else None
        )
        if token in specials or len(token) == 1:
            assert token_id not in lost | parts.keys()
        elif pair in ranks:
            assert parts[token_id] == (ids[pair[0]], ids[pair[1]])
            assert token_id not in lost
        else:
            assert token_id in lost
            assert token_id not in parts


@given(models(all_bytes=True, all_merged=True), any_bytes)
def test_each_merge_in_the_trees_of_a_text_saves_one_token(model, data):
    parts = parts_of_tokens(model)
    for word in pre_tokenize(data, model.pattern):
        ids = Encoder(model).encode_word(word)
        assert len(ids) == len(word) - sum(len(merges_of(token_id, parts)) for token_id in ids)


def test_gpt2_has_a_tree_for_every_token(test_data):
    gpt2_model = read_gpt2(test_data / "gpt2" / "vocab.json", test_data / "gpt2" / "merges.txt")
    parts = parts_of_tokens(gpt2_model)
    assert len(parts) == len(gpt2_model.merges) == 50_000
    assert unreachable(gpt2_model) == []
    the = next(token_id for token_id, token in gpt2_model.vocab.items() if token == b" the")
    assert [gpt2_model.vocab[part] for part in parts[the]] == [b" t", b"he"]
    assert make_encoder(gpt2_model).encode(" the", Options()) == [the]


def test_words_of_any_length_are_merged_as_by_the_definition():
    """The core merges short words in batches, with room for short ones only."""
    random = Random(0)
    model = train(["low lower lowest newest widest", "elowelowelow"], num_merges=12)
    model = dataclasses.replace(model, vocab={i: token for i, token in model.vocab.items() if token != b"z"})
    lengths = [*[0, 1, 2, 61, 62, 63, 64, 65, 300] * 30, *[200] * 300]
    words = [bytes(random.choices(b"elowr nstidz", k=length)) for length in lengths]
    unknown = 7
    encoder = Encoder(model)
    expected = [[each if each >= 0 else unknown for each in encoder.encode_word(word)] for word in words]
    ids, offsets = make_encoder(model).merge_words(words, unknown)
    assert [row.tolist() for row in np.split(np.asarray(ids), offsets[1:-1])] == expected
