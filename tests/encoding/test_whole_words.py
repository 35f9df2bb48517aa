"""`ignore_merges`: a pre-token that is a token is that token, as in `tiktoken`; both engines, and every method."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPEModel, train
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.pretokenizers import Pattern
from support.cases import case
from support.oracles import oracle
from support.strategies import BYTES, of_tokens, texts


def test_a_word_may_have_the_highest_id():
    for highest in (2**16 - 1, 2**16, 2**20):
        encoder = make_encoder(BPEModel(BYTES | {highest: b"xyz"}, [], ignore_merges=True))
        for _ in range(2):  # from the cache, too
            assert encoder.encode("xyz", Options()) == [highest]


def test_a_token_of_an_unknown_byte_is_known_as_a_word():
    encoder = make_encoder(BPEModel({0: b"a", 70_000: b"ab"}, [], ignore_merges=True))
    assert encoder.encode("ab", Options()) == [70_000]
    assert encoder.encode("ab abb", Options(unknown_id=5)) == [70_000, 5, 0, 5, 5]
    with pytest.raises(ValueError, match="no token for the byte 0x62"):
        encoder.encode("b", Options())


def test_word_at_each_limit_of_length_is_found():
    for length in (1, 2, 14, 15, 16, 17, 31, 62, 63, 64, 255, 256, 257, 5000, 100_000):
        word = b"ab" * length
        model = BPEModel(BYTES | {256: b"ab", 257: word + b"a", 258: b"a" + word}, [(b"a", b"b")], (), None, True)
        encoder = make_encoder(model)
        with case(length):
            for _ in range(2):  # from the cache, too
                assert encoder.encode(word + b"a", Options()) == [257]
                assert encoder.encode(b"a" + word, Options()) == [258]
                assert encoder.encode(word + b"b", Options()) == [256] * length + [98]
                assert encoder.encode(word, Options()) == [256] * length


@st.composite
def rank_tables(draw):
    """Draw a model, and what tiktoken knows of it: tokens that merges make, then some that they do not."""
    letters = draw(st.sampled_from([b"a", b"ab", b" ab", b"a\xc3\xa9"]))
    tokens, merges, unmerged = [bytes([letter]) for letter in letters], [], []
    for _ in range(draw(st.integers(0, 12))):
        parts = oracle.encode_word(draw(st.sampled_from(tokens)) + draw(st.sampled_from(tokens)), merges)
        if len(parts) == 2 and len(b"".join(parts)) <= 12:
            merges.append(tuple(parts))
            tokens.append(b"".join(parts))
    for _ in range(draw(st.integers(0, 8))):
        word = b"".join(draw(st.lists(st.sampled_from(tokens), min_size=3, max_size=5)))
        if len(oracle.encode_word(word, merges)) > 2 and word not in unmerged:
            unmerged.append(word)
    vocab = BYTES | dict(enumerate([*tokens[len(letters) :], *unmerged], start=256))
    pattern = draw(st.sampled_from(["gpt2", "cl100k", "o200k", None]))
    return BPEModel(vocab, merges, (), pattern, ignore_merges=True)


@given(rank_tables(), st.data())
def test_ids_of_unmerged_tokens_are_those_of_tiktoken(model, data):
    made = of_tokens(model).map(lambda data: data.decode(errors="ignore"))
    batch = data.draw(st.lists(made | st.text("ab é", max_size=12) | texts, max_size=5))
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is compared with")
    ranks = {token: rank for rank, token in model.vocab.items()}
    expression = r"[\s\S]+" if model.pattern is None else Pattern.read(model.pattern).expression
    theirs = tiktoken.Encoding("drawn", pat_str=expression, mergeable_ranks=ranks, special_tokens={})
    encoder = make_encoder(model)
    for text in batch:
        assert encoder.encode(text, Options()) == theirs.encode_ordinary(text)


def test_training_from_whole_words_keeps_ignore_merges():
    initial = BPEModel(BYTES | {256: b"abc"}, [], ignore_merges=True)
    model = train(["abc abc"], num_merges=2, initial=initial)
    assert model.merges == train(["abc abc"], num_merges=2).merges
    assert model.ignore_merges
