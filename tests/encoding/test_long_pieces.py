"""Long pre-tokens of superword models, which are encoded by words, have the ids of the definition."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPEModel
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.reference import Encoder, count_pre_tokens, learn_merges
from support.oracles.oracle import encode_word
from support.profiles import by_profile

pytestmark = pytest.mark.usefixtures("native")

WORDS = [b"a", b"ab", b"ba", b" a", b" ab", b" b", b"\n", b"  ", b"!", b" abab", b"\xc3\xa9", b"ab,"]
sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(b"".join)


def model_of(corpus, words, superwords, swapped=None):
    """Learn a superword model: words first, then merges of whole texts; two merges may change places."""
    merges = learn_merges(count_pre_tokens(corpus, "gpt2"), max_merges=words)
    merges += learn_merges(count_pre_tokens(corpus, None), max_merges=superwords, initial=merges)
    if swapped and len(merges) > max(swapped):
        first, second = swapped
        merges[first], merges[second] = merges[second], merges[first]
    tokens = [bytes([byte]) for byte in range(256)] + [*dict.fromkeys(first + second for first, second in merges)]
    return BPEModel(dict(enumerate(dict.fromkeys(tokens))), merges, pattern=None)


@settings(max_examples=by_profile(quick=60, thorough=150))
@given(
    st.lists(sentences, min_size=1, max_size=5),
    st.integers(0, 25),
    st.integers(0, 25),
    st.lists(sentences, min_size=1, max_size=4),
    st.sampled_from([None, (0, 1), (3, 9), (2, 30)]),
)
def test_long_pieces_have_the_ids_of_the_definition(corpus, words, superwords, parts, swapped):
    model = model_of(corpus, words, superwords, swapped)
    encoder = make_encoder(model)
    ids = {token: token_id for token_id, token in model.vocab.items()}
    texts = [part * 4 for part in [*parts, *corpus]] * 3
    for _ in range(3):  # long pieces are encoded by words when enough of them have been met
        assert encoder.encode_to_numpy(texts, Options(), 1)[0].size
    for text in texts[: len(parts)]:
        expected = [ids[token] for token in encode_word(text, model.merges)]
        assert encoder.encode(text, Options()) == expected
        assert encoder.encode_batch([text] * 3, Options(), 2) == [expected] * 3


@pytest.mark.parametrize("unit", [b"ab ", b"a", b" a", b"ab ab,", b"abab abab\n"])
def test_long_runs_of_tokens_have_the_ids_of_the_reference(unit):
    corpus = [b"ab " * 40, b"a" * 64, b"ab ab, " * 9, b"abab abab\n" * 9]
    model = model_of(corpus, 12, 30)
    encoder, reference = make_encoder(model), Encoder(model)
    rng = random.Random(1)
    text = b"".join(unit * rng.randrange(1, 300) + rng.choice(WORDS) for _ in range(20))
    for _ in range(2):
        assert encoder.encode(text, Options()) == reference.encode(text)
