"""Tokenizers with few merges, and any pattern, normalizer and added tokens, and texts for them."""

from hypothesis import strategies as st
from tokenizers import AddedToken

from hf_bpe import BPEModel, BPETokenizer, train
from support import strategies

TEXTS = [
    "the lowest, newest 2024 isn't HTMLParser the LOWEST\n\n  it'll you're  12345 caf\xe9 \u4f60\u597d \u4f60\u597d"
]
MERGES = train(TEXTS * 3, 320, pattern=None).merges
CONTENTS = ["<|x|>", "<|x|>y", " the", "st", "\u597d", "e\u0301", "\n", " ", "'", "\u4f60"]
NORMALIZERS = [None, "NFC", '{"type":"Lowercase"}', '{"type":"NFKD"}', '{"type":"Prepend","prepend":"_"}']

pieces = st.one_of(
    strategies.any_texts,
    st.lists(strategies.decomposed_fragments, max_size=8).map("".join),
    st.lists(st.sampled_from([*CONTENTS, "<|", "x|>", "|>y", " t", "he", "'l", "l", "  ", "a", "1"]), max_size=8).map(
        "".join
    ),
)


def tokenizer_of(pattern, normalizer=None, tokens=(), **settings):
    """Return a tokenizer with merges of the texts, whatever the pattern."""
    vocab = {**{i: bytes([i]) for i in range(256)}, **{256 + i: a + b for i, (a, b) in enumerate(MERGES)}}
    model = BPEModel(vocab, MERGES, pattern=pattern, normalizer=normalizer)
    ids = model.printable_vocab()  # an added token with the printable form of a token must have its id
    added = {ids.get(token.content, 1000 + number): token for number, token in enumerate(tokens)}
    return BPETokenizer(model=model, added_tokens_decoder=added, bos_token=None, eos_token=None, **settings)


def bare_tokenizer(model, added=()):
    """Return a tokenizer of a model, with added tokens from id 1000 on and no named ones."""
    tokens = {1000 + number: token for number, token in enumerate(added)}
    return BPETokenizer(model=model, added_tokens_decoder=tokens, bos_token=None, eos_token=None, unk_token=None)


@st.composite
def tokenizers(draw):
    """Draw a tokenizer with any pattern, normalizer and added tokens."""
    flags = st.fixed_dictionaries(
        {name: st.booleans() for name in ("lstrip", "rstrip", "single_word", "normalized", "special")}
    )
    tokens = [
        AddedToken(each, **draw(flags)) for each in draw(st.lists(st.sampled_from(CONTENTS), max_size=3, unique=True))
    ]
    pattern = draw(strategies.patterns)
    prefixed = pattern in ("gpt2", None) and draw(st.booleans())
    return tokenizer_of(pattern, draw(st.sampled_from(NORMALIZERS)), tokens, add_prefix_space=prefixed)


LONG = (
    "\u6211\u4eec\u3002\u300a\u4f60\u597d\u300b,ABCdef\u4f60A\u597dB\uff0c'll \u30fb\u3042"
    "\u30fb\u3044!\n!\n\n x  \n y1234\u4f60567 \u30ab\u3099"
    "\u3002e\u0301 it's \t don't//\n/\u7b2c\u4e00\u7ae0\uff1a\u4ed6"
    "\u8bf4\uff0c\u201c\u597d\u3002\u201d"
)
