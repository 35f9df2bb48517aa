"""`ignore_merges`: a pre-token that is a token is that token, as in `tiktoken`; both engines, and every method."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.encoding._encoder import AddedTokenTuple, Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.pretokenizers import pattern_expression
from support import oracle
from support.cases import case
from support.strategies import of_tokens, texts

BYTES = {byte: bytes([byte]) for byte in range(256)}
SPECIAL = AddedTokenTuple("<|x|>", 260, *[True] + [False] * 4)
# No merge makes "abc", nor what begins with a space.
VOCAB = BYTES | {256: b"ab", 257: b"abc", 258: b" abc", 259: b"abcabc", 260: b"<|x|>"}


def encode(text, pattern="gpt2", ignore_merges=True, **options):
    encoder = make_encoder(BPEModel(VOCAB, [(b"a", b"b")], ["<|x|>"], pattern, ignore_merges), (SPECIAL,))
    return encoder.encode(text, Options(**options))


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", r"\s?\w+|[^\w\s]+|\s"])
def test_ignore_merges_applies_to_whole_pre_tokens_only(pattern):
    assert encode("abc abc!", pattern) == [257, 258, 33]
    assert encode("abc abc!", pattern, ignore_merges=False) == [256, 99, 32, 256, 99, 33]
    assert encode("abcd  abc", pattern) == [256, 99, 100, 32, 258]


def test_without_a_pattern_a_segment_is_the_pre_token():
    assert encode("abc", None) == [257]
    assert encode("abc<|x|>abcabc<|x|>abc abc", None) == [257, 260, 259, 260, 256, 99, 32, 256, 99]
    assert encode(b"abcabc", None) == [259]


def test_the_prefix_space_is_part_of_the_pre_token():
    for pattern in ("gpt2", None):
        assert encode("abc<|x|>abc", pattern, add_prefix_space=True) == [258, 260, 258]
        assert encode(" abc", pattern, add_prefix_space=True) == [258]


def test_special_token_taken_for_text_is_not_found_as_a_word():
    assert encode("<|x|>", None, split_special_tokens=True) == [*b"<|x|>"]


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
    expression = r"[\s\S]+" if model.pattern is None else pattern_expression(model.pattern)
    theirs = tiktoken.Encoding("drawn", pat_str=expression, mergeable_ranks=ranks, special_tokens={})
    encoder = make_encoder(model)
    for text in batch:
        assert encoder.encode(text, Options()) == theirs.encode_ordinary(text)


def test_offsets_and_words_of_a_call_are_those_of_whole_words():
    tokenizer = BPETokenizer(model=BPEModel(VOCAB, [(b"a", b"b")], ["<|x|>"], ignore_merges=True))
    called = tokenizer("abc abc!", return_offsets_mapping=True)
    assert called["input_ids"] == [257, 258, 33]
    assert called["offset_mapping"] == [(0, 3), (3, 7), (7, 8)]
    assert called.word_ids() == [0, 1, 2]
    assert tokenizer.tokenize("abc abc") == ["abc", "Ġabc"]


def test_training_from_whole_words_keeps_ignore_merges():
    initial = BPEModel(BYTES | {256: b"abc"}, [], ignore_merges=True)
    model = train(["abc abc"], num_merges=2, initial=initial)
    assert model.merges == train(["abc abc"], num_merges=2).merges
    assert model.ignore_merges
