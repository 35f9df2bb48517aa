"""Models with any supported normalizer give the ids and offsets of `tokenizers`, in streams, too."""

import dataclasses
import functools
import random
import re
import unicodedata
from itertools import chain

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, normalizers

from hf_bpe import BPEModel, BPETokenizer, train
from hf_bpe.conversion import Definition
from hf_bpe.counting import NormalizedTexts
from hf_bpe.encoding._encoder import Options, as_tuples
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._native_paths import count_tokens, encode_batch
from hf_bpe.encoding._sessions.streams import encode_blocks
from hf_bpe.formats._files.tokenizer_json_writing import render_tokenizer_json
from hf_bpe.normalizers import Normalizer
from support.profiles import by_profile, thorough
from support.strategies import BYTES, FLAGS, decomposed_fragments

LOCAL = ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"]
STRINGS = ["a", "e", "\xe9", " ", "ab", "\u0301", "  ", "\n", "E", "й"]
EXPRESSIONS = [r"\s+", "[aeé]", r" {2,}", r"\p{M}", r"a(?=b)", r"^a", r"b$", r"(?i)a", r"a+|e+", r"\bab", r"a?"]
CONTENTS = ["", "a", "\xe9", " ", "▁", "e\u0301", "\u0301", "xy", "<t>", "A", "  "]
ADDED = ["<t>", "<T>", "<", "б", "и\u0306", "\u0301>", "\u1ea1\u0301", "\u1161", "\u3000б", "A", " ", "É", "ﬁ", " x "]
COMPATIBLE = ["\ufb01", "\xbd", "\uff21", "\uff9e", "\uff76", "\u3133", "\u314f", "\u0e33", "\u1cf2", "\xb4", "\ufdfa"]
CASED = ["\u0130", "\u1e9e", "\u0391\u03a3", "\u01c5", "A", "Ab", "E", "<T>", "É", "Й", "\u1c89"]
UNDEFINED = re.compile("become equal by|becomes empty by|has no defined result|panics")

fragments = st.one_of(
    decomposed_fragments,
    st.sampled_from([*COMPATIBLE, *CASED, "😀", "\x85", "\xa0", "\x00", "▁", "\xad", "\u200b"]),
    st.characters(codec="utf-8"),
)
local_parts = st.sampled_from(LOCAL).map(lambda name: {"type": name})
flags = st.booleans()
parts = st.one_of(
    local_parts,
    st.builds(lambda left, right: {"type": "Strip", "strip_left": left, "strip_right": right}, flags, flags),
    st.sampled_from(CONTENTS[1:]).map(lambda content: {"type": "Prepend", "prepend": content}),
    st.builds(
        lambda pattern, content: {"type": "Replace", "pattern": pattern, "content": content},
        st.sampled_from([{"String": text} for text in STRINGS] + [{"Regex": text} for text in EXPRESSIONS]),
        st.sampled_from(CONTENTS),
    ),
)


def sequences_of(parts):
    sequences = st.lists(parts, min_size=1, max_size=3).map(lambda parts: {"type": "Sequence", "normalizers": parts})
    return st.just("NFC") | sequences  # the most common one every other time


@st.composite
def streams(draw):
    """Draw added tokens with any flags, and text of them and of fragments."""
    flags = st.fixed_dictionaries({flag: st.booleans() for flag in FLAGS})
    token = st.builds(lambda content, flags: AddedToken(content, **flags), st.sampled_from(ADDED), flags)
    tokens = draw(st.lists(token, max_size=4, unique_by=str))
    pieces = [*map(str, tokens), *draw(st.lists(fragments, min_size=1, max_size=5)), " ", "a", "\u0301"]
    return tokens, "".join(draw(st.lists(st.sampled_from(pieces), max_size=40)))


@functools.cache
def joining_model(pattern):
    """Return a model of many merges, so that text which is cut in a wrong place has other ids."""
    rng = random.Random(0)
    pieces = [*"eEaA\xe9\u1ea1<>t 1.\n\u0301\u3099\u0323бй\uac00\u3000▁xyかfi ", "ab", "<t>"]
    texts = ["".join(rng.choices(pieces, k=2000)) for _ in range(4)]
    return dataclasses.replace(train(texts, num_merges=300, pattern=None), pattern=pattern)


def pair_of(model, tokens, *, prefix=False):
    """Return our encoder and the tokenizer of `tokenizers`, if the tokens have a defined result."""
    known = model.printable_vocab()
    added = dict(enumerate((token for token in tokens if token.content not in known), max(model.vocab) + 1))
    try:
        encoder = make_encoder(model, as_tuples(added.items()))
    except ValueError as error:
        assert UNDEFINED.search(str(error))  # noqa: PT017
        assume(False)
    rendered = render_tokenizer_json(Definition(model, added, {"add_prefix_space": prefix or None}))
    return encoder, Tokenizer.from_buffer(rendered)


def ids_if_defined(encoder, text, options):
    try:
        return encoder.encode(text, options)
    except ValueError as error:
        assert UNDEFINED.search(str(error))  # noqa: PT017
        assume(False)


# The same ids and offsets


PATTERNS = ("gpt2", "o200k", None, r"\w+|\s")
RAW, NORMALIZED = {"normalized": False}, {"normalized": True}


@settings(max_examples=by_profile(quick=120, thorough=450))
@given(sequences_of(parts), streams(), st.sampled_from(PATTERNS), st.booleans(), st.booleans())
@example("NFC", ([AddedToken("и\u0306", **RAW)], "и\u0306й"), "gpt2", False, False)
@example("NFC", ([AddedToken("й", **RAW)], "и\u0306й"), "gpt2", False, False)
@example("NFC", ([AddedToken("й", **NORMALIZED)], "и\u0306й"), "gpt2", False, False)
@example("NFC", ([AddedToken("й", **RAW), AddedToken("и\u0306", **NORMALIZED)], "й"), "gpt2", False, False)
@example("NFC", ([AddedToken("<", **RAW)], "<\u0338"), "gpt2", True, False)
def test_ids_offsets_and_words_are_those_of_tokenizers(name, stream, pattern, prefix, split_special):
    tokens, text = stream
    prefix &= pattern in ("gpt2", None)
    model = dataclasses.replace(joining_model(pattern), normalizer=name)
    encoder, theirs = pair_of(model, tokens, prefix=prefix)
    options = Options(split_special, prefix)
    ids = ids_if_defined(encoder, text, options)
    theirs.encode_special_tokens = split_special
    try:
        expected = theirs.encode(text, add_special_tokens=False)
    except BaseException as error:  # by overlapping white space of added tokens, whatever the normalizer
        assert type(error).__name__ == "PanicException"  # noqa: PT017
        assume(False)
    assert ids == expected.ids
    placed, _, places = encoder.encode_with_offsets([text], options)
    assert placed.tolist() == ids
    assert [(begin, end) for begin, end, _ in places.tolist()] == expected.offsets
    assert places[:, 2].tolist() == expected.word_ids
    assert encoder.encode_to_numpy([text, text], options, 2)[0].tolist() == ids + ids
    assert count_tokens(encoder, [text], options, 1) == [len(ids)]
    assert encoder.encode(text.encode(), options) == ids


ALL = [chr(code) for code in [*range(0xD800), *range(0xE000, 0x32000), *range(0xE0000, 0xE0200)]]
CHARACTERS = ALL[:0x3400] + random.Random(0).sample(ALL[0x3400:], 5000)


@thorough
@pytest.mark.parametrize("name", [*LOCAL[1:], "Strip", "Replace"])
@pytest.mark.parametrize("form", ["{}", "A{}\u0334"])
def test_characters_have_the_ids_of_tokenizers(name, form):
    normalizer = {
        "Strip": {"type": "Strip", "strip_left": True, "strip_right": True},
        "Replace": {"type": "Replace", "pattern": {"Regex": r"\s|\w\p{M}"}, "content": "\u0301-"},
    }.get(name, name)
    encoder, theirs = pair_of(BPEModel(BYTES, [], normalizer=normalizer), [AddedToken("\xc5")])
    size = 1 if form in ("{}", " {}") and name == "Strip" else 50
    texts = ["<x>".join(map(form.format, CHARACTERS[at : at + size])) for at in range(0, len(CHARACTERS), size)]
    expected = theirs.encode_batch(texts)
    assert encode_batch(encoder, texts, Options(), 2) == [each.ids for each in expected]
    if form == "A{}\u0334":
        _, _, places = encoder.encode_with_offsets(texts, Options())
        assert [tuple(row) for row in places[:, :2].tolist()] == [span for each in expected for span in each.offsets]


# Where text may be cut


@thorough
def test_segments_stay_segments_under_every_local_normalizer():
    segments = Normalizer.parse("NFKC")
    starts = [char for char in map(chr, range(0x110000)) if segments.last_segment("a" + char, 1) == 1]
    assert len(starts) > 1_000_000
    for name in LOCAL:
        normalize = getattr(normalizers, name)().normalize_str
        made = [normalize(char) for char in starts if not "\ud800" <= char <= "\udfff"]
        assert [new for new in made if not new or segments.last_segment("a" + new, 1) == 0] == []


@settings(max_examples=by_profile(quick=100, thorough=200))
@given(
    name=sequences_of(local_parts) | sequences_of(parts),
    pattern=st.sampled_from(PATTERNS),
    stream=streams(),
    options=st.builds(Options, st.booleans(), st.booleans(), st.none(), dropout=st.none()),
    data=st.data(),
)
def test_blocks_of_any_size_give_the_ids_of_the_whole(name, pattern, stream, options, data):
    tokens, text = stream
    encoder, _ = pair_of(dataclasses.replace(joining_model(pattern), normalizer=name), tokens)
    whole = text.encode() if data.draw(st.booleans()) else text.encode().replace(b"a", b"\xcc")
    ids = ids_if_defined(encoder, whole, options)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_bpe.encoding._prepared_encoder._WINDOW", data.draw(st.sampled_from([1, 8, 1 << 16])))
        blocks = [*encode_blocks(encoder, pieces, options, 2, data.draw(st.integers(1, 40)))]
    assert [int(token_id) for block in blocks for token_id in block] == ids


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(sequences_of(local_parts), st.sampled_from(PATTERNS), streams(), st.booleans(), st.booleans())
def test_a_cut_is_right_whatever_follows(name, pattern, stream, prefix, split_special):
    tokens, text = stream
    encoder, _ = pair_of(dataclasses.replace(joining_model(pattern), normalizer=name), tokens)
    options, whole = Options(split_special, prefix), text.encode()
    ids = ids_if_defined(encoder, whole, options)
    for end in range(len(whole) + 1):
        cut = encoder.find_last_cut(whole[:end], options)
        assert encoder.encode(whole[:cut], options) + encoder.encode(whole[cut:], options) == ids


VIETNAMESE = unicodedata.normalize("NFD", "Tiếng Việt có rất nhiều dấu, ﬁ ½ chữ viết rất đẹp. ")


@pytest.mark.parametrize("name", ["NFC", "NFKC", "Lowercase"])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("contents", [[], ["e\u0323"], ["<t>", "ng"]])
def test_blocks_of_a_local_normalizer_are_bounded(name, normalized, contents):
    tokens = [AddedToken(content, normalized=normalized) for content in contents]
    encoder, _ = pair_of(BPEModel(BYTES, [], normalizer=name), tokens)
    text = VIETNAMESE * 200
    blocks = [*encode_blocks(encoder, [text[at : at + 100] for at in range(0, len(text), 100)], Options(), 1, 1000)]
    assert [int(token_id) for block in blocks for token_id in block] == encoder.encode(text, Options())
    assert max(map(len, blocks)) < 1500


@pytest.mark.parametrize("normalizer", ["NFC", {"type": "Prepend", "prepend": "▁"}])
def test_blocks_without_another_cut_end_at_raw_added_tokens(normalizer):
    model = BPEModel(BYTES, [], (), None, normalizer=normalizer)
    encoder, _ = pair_of(model, [AddedToken("<t>", normalized=False)])
    for end, number in (("", 1), ("<t>", 20)):
        pieces = [VIETNAMESE + end] * 20
        blocks = [ids.tolist() for ids in encode_blocks(encoder, pieces, Options(), 1, 10)]
        assert len(blocks) == number
        assert [*chain.from_iterable(blocks)] == encoder.encode("".join(pieces), Options())


# Text that no `tokenizers` can take


def test_text_around_invalid_bytes_is_normalized_by_itself():
    prepend = make_encoder(BPEModel(BYTES, [], normalizer={"type": "Prepend", "prepend": "x"}))
    assert bytes(prepend.encode(b"a\xff\xfeb", Options())) == b"xa\xff\xfexb"
    places = prepend.encode_with_offsets([b"a\xffb"], Options())[2]
    assert places[:, :2].tolist() == [[0, 1], [0, 1], [1, 2], [2, 3], [2, 3]]
    lower = make_encoder(BPEModel(BYTES, [], normalizer="Lowercase"))
    assert bytes(lower.encode(b"A\xff\xc3\x89", Options())) == b"a\xff\xc3\xa9"


def test_lone_surrogates_are_replaced_first():
    lower = make_encoder(BPEModel(BYTES, [], normalizer="Lowercase"))
    assert bytes(lower.encode("A\ud800É\ud83d\ude00", Options())).decode() == "a\ufffdé😀"
    places = lower.encode_with_offsets(["\ud83d\ude00A"], Options())[2]
    assert places[:, :2].tolist() == [[0, 2]] * 4 + [[2, 3]]


# What has no defined result


def test_tokens_that_become_equal_are_refused_by_name():
    tokens = [AddedToken("<S>"), AddedToken("<s>")]
    with pytest.raises(ValueError, match=r"'<S>' and '<s>' become equal by the normalizer Lowercase.*normalized=False"):
        make_encoder(BPEModel(BYTES, [], normalizer="Lowercase"), as_tuples(enumerate(tokens, 300)))
    tokens[0] = AddedToken("<S>", normalized=False)
    encoder = make_encoder(BPEModel(BYTES, [], normalizer="Lowercase"), as_tuples(enumerate(tokens, 300)))
    assert encoder.encode("<S><s>", Options()) == [300, 301]


def test_token_that_becomes_empty_is_refused_by_name():
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    with pytest.raises(ValueError, match=r"added token ' ' becomes empty by the normalizer Strip"):
        make_encoder(BPEModel(BYTES, [], normalizer=strip), as_tuples([(300, AddedToken(" "))]))


@pytest.mark.parametrize("expression", ["^", "a?", r"\b"])
def test_expression_with_an_empty_match_at_the_start_is_refused(expression):
    replace = {"type": "Replace", "pattern": {"Regex": expression}, "content": "-"}
    encoder = make_encoder(BPEModel(BYTES, [], normalizer=replace))
    for encode in (encoder.encode, lambda text, options: encoder.encode_with_offsets([text], options)):
        with pytest.raises(ValueError, match=r"Replace matches nothing at the beginning of the text 'bab'"):
            encode("bab", Options())


def test_expression_that_backtracks_too_long_is_an_error():
    replace = {"type": "Replace", "pattern": {"Regex": "(?:a|aa)+b"}, "content": "-"}
    with pytest.raises(ValueError, match="tokenizers panics: Onig: Regex search error"):
        make_encoder(BPEModel(BYTES, [], normalizer=replace)).encode("a" * 50, Options())


# The rest


def test_texts_are_normalized_except_for_special_tokens():
    texts = NormalizedTexts(["ÀB<X>C", ["É"], b"A"], ["<X>"], normalizer="Lowercase")
    assert [*texts] == ["àb<X>c", ["é"], b"A"]
    assert texts.normalizer == '{"type":"Lowercase"}'
    assert [*NormalizedTexts(["É"], normalizer=None)] == ["É"]


def test_lowest_id_is_found_among_tokens_with_equal_normal_forms():
    tokenizer = BPETokenizer(model=BPEModel(BYTES, [], normalizer="NFC"))
    tokenizer.add_tokens([AddedToken("и\u0306"), AddedToken("й")])
    assert tokenizer.encode("й и\u0306") == [256, 32, 256]
    assert tokenizer.decode([256, 257]) == "и\u0306й"
