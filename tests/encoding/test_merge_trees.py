"""The tree of a token: what merges make of its own bytes."""

from hypothesis import given

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
        pair = last_pair(token, lambda first, second: ranks.get((first, second))) if len(token) > 1 else None
        if token in specials or len(token) == 1:
            assert token_id not in lost | parts.keys()
        elif pair in ranks:
            assert parts[token_id] == (ids[pair[0]], ids[pair[1]])
            assert token_id not in lost
        else:
            assert token_id in lost
            assert token_id not in parts


@given(models(all_bytes=True, all_merged=True), any_bytes)
def test_a_text_has_one_token_less_than_bytes_for_each_merge_in_the_trees_of_its_tokens(model, data):
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
