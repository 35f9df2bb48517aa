"""AddedTokenSplitter finds added tokens exactly where `tokenizers` finds them."""

import copy
import pickle
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.encoding._added_tokens.rules import AddedTokenSplitter
from hf_bpe.encoding._encoder import Options, as_tuples
from hf_bpe.encoding._sessions.streams import encode_blocks
from hf_bpe.pretokenizers._byte_level import BYTE_TO_CHAR
from hf_bpe.pretokenizers._pattern import WHITE_SPACE
from support.cases import case
from support.engines import native_encoder, reference_encoder
from support.profiles import by_profile, thorough
from support.strategies import BYTES, overlapping_contents

FLAGS = ("lstrip", "rstrip", "single_word", "normalized")
# Letters, a digit, a mark, a joiner and a connector, all of which are of words; two that are not; white space. None is
# the printable form of a byte, so added tokens never take the id of one.
ALPHABET = ["б", "в", "٣", "\u0301", "\u200d", "‿", "①", "—", " ", "\n", "\u3000"]


def byte_tokenizer(added_tokens):
    """Return a tokenizer of `tokenizers` with one id a byte, and added tokens."""
    tokenizer = Tokenizer(models.BPE(vocab={char: byte for byte, char in enumerate(BYTE_TO_CHAR)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    for token in added_tokens:  # one at a time, as ids follow the order; adding decides what is special
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    return tokenizer


def ids_of(splitter, text, **kwargs):
    """Return the ids of a text, one id a byte between the added tokens."""
    parts = splitter.split(text, **kwargs)
    assert "" not in parts
    return [each for part in parts for each in ([part] if isinstance(part, int) else part.encode())]


def no_token_is_eaten_whole(tokens):
    """Tell whether no token can eat to its right all of another one that eats to its left.

    Of the other, which is only white space, `tokenizers` then makes a piece that is empty and is dropped, or one that
    ends before it begins and is a panic. Where it does not eat to the left, or is eaten in part, all goes well.
    """
    return not any(token.rstrip for token in tokens) or all(
        token.content.strip(WHITE_SPACE) or not token.lstrip for token in tokens
    )


@st.composite
def cases(draw):
    """Draw added tokens with any flags, and texts over the same few characters."""
    characters = st.sampled_from(draw(st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=5, unique=True)))
    content = st.text(characters, min_size=1, max_size=3)
    flags = st.fixed_dictionaries({flag: st.booleans() for flag in (*FLAGS, "special")})
    tokens = st.builds(lambda content, flags: AddedToken(content, **flags), content, flags)
    drawn = draw(
        st.lists(tokens, min_size=1, max_size=4, unique_by=lambda token: token.content).filter(no_token_is_eaten_whole)
    )
    pieces = st.one_of(characters, st.sampled_from([token.content for token in drawn]))
    return drawn, draw(st.lists(st.lists(pieces, max_size=10).map("".join), min_size=1, max_size=4))


@settings(max_examples=by_profile(quick=80, thorough=200))
@given(cases())
def test_added_tokens_are_found_where_tokenizers_finds_them(drawn):
    tokens, texts = drawn
    theirs = byte_tokenizer(tokens)
    added = theirs.get_added_tokens_decoder()
    assert len(added) == len(tokens)
    for encode_special_tokens, text in product([False, True], texts):
        theirs.encode_special_tokens = encode_special_tokens
        ours = ids_of(AddedTokenSplitter(added), text, split_special_tokens=encode_special_tokens)
        assert ours == theirs.encode(text).ids


@st.composite
def overlapping_cases(draw):
    """Draw added tokens with any flags that are nested, begin or end alike or are long, and a text full of them."""
    contents = [content for content in draw(overlapping_contents()) if content and content not in BYTE_TO_CHAR]
    flags = st.fixed_dictionaries({flag: st.booleans() for flag in (*FLAGS, "special")})
    tokens = [AddedToken(content, **draw(flags)) for content in contents]
    parts = st.sampled_from([*contents, "b", " "])
    text = "".join(draw(st.lists(parts | parts.map(lambda part: part[: len(part) // 2] * 2), max_size=10)))
    return tokens, text


@settings(max_examples=by_profile(quick=50, thorough=160))
@given(overlapping_cases().filter(lambda drawn: no_token_is_eaten_whole(drawn[0])), st.integers(1, 60), st.booleans())
def test_overlapping_tokens_are_found_as_by_tokenizers(native, drawn, chunk_bytes, split_special_tokens):
    tokens, text = drawn
    theirs = byte_tokenizer(tokens)
    added = theirs.get_added_tokens_decoder()
    theirs.encode_special_tokens = split_special_tokens
    expected = theirs.encode(text).ids
    assert ids_of(AddedTokenSplitter(added), text, split_special_tokens=split_special_tokens) == expected

    model = BPEModel(BYTES, [], pattern=None)
    encoder = native_encoder(model, as_tuples(added.items()), chunk_bytes=chunk_bytes)
    options = Options(split_special_tokens)
    assert encoder.encode(text, options) == encoder.encode_batch([text], options, 2)[0] == expected
    for each in (encoder, reference_encoder(model, as_tuples(added.items()))):
        blocks = encode_blocks(each, [text, text], options, 1, block_bytes=chunk_bytes)
        assert [i for block in blocks for i in block.tolist()] == theirs.encode(text + text).ids


def test_contents_are_text_not_regular_expressions():
    contents = [".", "[a-z]", "a|b", "(", "\\", "^", "$", "#", "\n", " ", "(?i)x", "{2}", "&&", "--", "~~"]
    splitter = AddedTokenSplitter({number: AddedToken(content) for number, content in enumerate(contents)})
    assert splitter.split("".join(contents) + "ab") == [*range(len(contents)), "ab"]


def test_white_space_is_looked_at_once_for_many_tokens(monkeypatch):
    looks = []

    class Watched(str):
        def __contains__(self, char):
            looks.append(char)
            return super().__contains__(char)

    monkeypatch.setattr("hf_bpe.encoding._added_tokens.rules.WHITE_SPACE", Watched(WHITE_SPACE))
    for flags in ({"rstrip": True}, {"lstrip": True}, {"lstrip": True, "rstrip": True}):
        looks.clear()
        splitter = AddedTokenSplitter({1: AddedToken(" ", **flags)})
        assert splitter.spans(" " * 2000)
        assert len(looks) <= 3 * 2000


def test_copies_and_pickles_split_alike():
    splitter = AddedTokenSplitter({3: AddedToken("<x>", lstrip=True, single_word=True, special=True)})
    for twin in (copy.deepcopy(splitter), pickle.loads(pickle.dumps(splitter))):
        assert twin.split("a <x> <x>b") == splitter.split("a <x> <x>b") == ["a", 3, " <x>b"]


# Characters: all of them but those of planes where every character is like its neighbors

CHARACTERS = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]]


def differences(**flags):
    """Return the characters for which the ids of "<x>" followed by the character are not those of `tokenizers`."""
    theirs = byte_tokenizer([AddedToken("<x>", **flags)])
    splitter = AddedTokenSplitter(theirs.get_added_tokens_decoder())
    texts = [f"<x>{character}" for character in CHARACTERS]
    encodings = theirs.encode_batch(texts)
    return [
        char
        for char, text, theirs in zip(CHARACTERS, texts, encodings, strict=True)
        if ids_of(splitter, text) != theirs.ids
    ]


@thorough
def test_white_space_of_added_tokens_is_that_of_tokenizers():
    assert differences(rstrip=True) == []


@thorough
def test_word_characters_of_added_tokens_are_those_of_tokenizers():
    assert differences(single_word=True) == []


# Odd tokens


EATEN = [
    ([AddedToken("\n", lstrip=True, rstrip=True)], "a\n\nb"),
    ([AddedToken(" ", lstrip=True, rstrip=True)], "a  b"),
    ([AddedToken("  ", rstrip=True), AddedToken(" ", lstrip=True)], "a   "),
    ([AddedToken("<a>", rstrip=True), AddedToken(" ", lstrip=True)], "<a> b <a>"),
]


def test_a_token_that_is_eaten_whole_is_not_found():
    for tokens, text in EATEN:
        with case(text):
            assert not no_token_is_eaten_whole(tokens)
            theirs = byte_tokenizer(tokens)
            tokenizer = BPETokenizer(model=BPEModel(BYTES, [], pattern=None))
            tokenizer.add_tokens(tokens)
            ours = ids_of(AddedTokenSplitter(theirs.get_added_tokens_decoder()), text)
            assert ours == tokenizer.encode(text) == theirs.encode(text).ids


def test_an_empty_token_is_never_found():
    assert AddedTokenSplitter({1: AddedToken(""), 2: AddedToken("<x>")}).split("a<x>b") == ["a", 2, "b"]
