"""Models with the normalizer NFC give what `tokenizers` gives, through every method."""

import dataclasses
import itertools
import pickle
import random
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import PreTokenizedString, Regex, normalizers, pre_tokenizers
from transformers import AddedToken

import hf_bpe.encoding._normalizing_encoder
from hf_bpe import BPEModel, BPETokenizer, count, train
from hf_bpe.counting import NormalizedTexts
from hf_bpe.encoding._encoder import Options, as_tuples
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._streaming import encode_blocks
from hf_bpe.normalizers import to_nfc
from hf_bpe.normalizers._apply import get_normalizer
from hf_bpe.tokenizer._saving.verify_folder import verify_folder
from support.profiles import by_profile, scaled
from support.samples import CORPUS, SPECIALS, reload
from support.strategies import any_bytes, any_texts, decomposed_fragments, models

BYTES = {byte: bytes([byte]) for byte in range(256)}
FLAGS = ("lstrip", "rstrip", "single_word", "normalized", "special")
# None but ASCII can be read as the printable form of bytes, for which `tokenizers` takes them when it decodes.
CONTENTS = [
    "<t>",
    "<",
    "б",
    "и\u0306",
    "е\u0301",
    "\u0301",
    " \u0301",
    "\u0301>",
    "\u1ea1\u0301",
    "\u1161",
    "\u3000б",
    "е",
]


def texts_of(*contents):
    """Return a strategy of texts that are not normalized, with added tokens next to marks."""
    pieces = [decomposed_fragments, st.sampled_from([*contents, " ", "\u0301"]), st.characters(codec="utf-8")]
    return st.lists(st.one_of(pieces), max_size=16).map("".join)


def nfc_models(**kwargs):
    return models(**kwargs).map(lambda model: dataclasses.replace(model, normalizer="NFC"))


@st.composite
def added_tokens(draw):
    """Draw added tokens with any flags, no two of which become equal: of those `tokenizers` finds either, by chance."""
    flags = st.fixed_dictionaries({flag: st.booleans() for flag in FLAGS})
    token = st.builds(lambda content, flags: AddedToken(content, **flags), st.sampled_from(CONTENTS), flags)
    return draw(st.lists(token, max_size=4, unique_by=lambda token: to_nfc(token.content)))


# The same ids


@settings(max_examples=by_profile(quick=40, thorough=150))
@given(
    model=nfc_models(all_bytes=True),
    later=added_tokens(),
    batch=st.lists(texts_of(*CONTENTS, "<|x|>"), min_size=1, max_size=4),
    prefix=st.booleans(),
    split_special=st.booleans(),
)
@example(BPEModel(BYTES, [], normalizer="NFC"), [AddedToken("и\u0306", normalized=False)], ["и\u0306й"], False, False)
@example(BPEModel(BYTES, [], normalizer="NFC"), [AddedToken("й", normalized=False)], ["и\u0306й"], False, False)
@example(BPEModel(BYTES, [], normalizer="NFC"), [AddedToken("й", normalized=True)], ["и\u0306й"], False, False)
@example(BPEModel(BYTES, [], normalizer="NFC"), [AddedToken("<", normalized=False)], ["<\u0338"], True, False)
def test_ids_are_those_of_tokenizers(model, later, batch, prefix, split_special):
    prefix &= model.pattern in ("gpt2", None)
    split_special &= not model.ignore_merges  # by which `tokenizers` finds special tokens again, as whole words
    tokenizer = BPETokenizer(model=model, add_prefix_space=prefix, split_special_tokens=split_special)
    tokenizer.add_tokens(later)
    theirs = tokenizer.backend_tokenizer
    theirs.encode_special_tokens = split_special
    assert theirs.get_vocab() == tokenizer.get_vocab()
    for text in batch:
        ids = tokenizer.encode(text)
        assert ids == theirs.encode(text).ids
        # Added tokens are decoded as they are written here, as they are looked for there.
        assert to_nfc(tokenizer.decode(ids)) == to_nfc(theirs.decode(ids, skip_special_tokens=False))


@pytest.mark.parametrize("special", [False, True])
def test_normalized_and_raw_tokens_may_have_equal_normal_forms(special):
    tokenizer = BPETokenizer(model=BPEModel(BYTES, [], normalizer="NFC"))
    tokenizer.add_tokens([AddedToken("й", single_word=True, normalized=False, special=special), AddedToken("и\u0306")])
    theirs = tokenizer.backend_tokenizer
    for text in ("й", "и\u0306", "xй", "xи\u0306 й \u0438\u0306\u0306"):
        assert tokenizer.encode(text) == theirs.encode(text).ids
    assert tokenizer.encode("й и\u0306 xй") == [256, 32, 257, 32, 120, 257]


def test_lowest_id_is_found_among_tokens_with_equal_normal_forms():
    tokenizer = BPETokenizer(model=BPEModel(BYTES, [], normalizer="NFC"))
    tokenizer.add_tokens([AddedToken("и\u0306"), AddedToken("й")])
    assert tokenizer.encode("й и\u0306") == [256, 32, 256]
    assert tokenizer.decode([256, 257]) == "и\u0306й"


@given(nfc_models(all_bytes=True), st.one_of(any_texts, texts_of("\ud800", "\ud834", "\udd65", "\ud83d\ude00")))
@example(BPEModel(BYTES, [], normalizer="NFC"), "a\u0301\ud834\udd65")  # a mark, as a pair of surrogates
def test_surrogates_are_repaired_before_text_is_normalized(model, text):
    encoder = make_encoder(model)
    repaired = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert encoder.encode(text, Options()) == make_encoder(model).encode(to_nfc(repaired), Options())


@given(nfc_models(all_bytes=True), any_bytes | texts_of().map(str.encode), st.binary(max_size=3))
def test_bytes_that_are_not_utf8_are_left_as_they_are(model, data, other):
    data += other + b"e\xcc\x81"
    ids = make_encoder(model).encode(data, Options())
    normalized = to_nfc(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    raw = make_encoder(dataclasses.replace(model, normalizer=None))
    assert ids == raw.with_added_tokens(()).encode(normalized, Options())


# Every method


@settings(max_examples=by_profile(quick=25, thorough=80))
@given(
    model=nfc_models(),
    tokens=added_tokens(),
    texts=st.lists(texts_of(*CONTENTS) | texts_of(*CONTENTS).map(str.encode) | any_texts | any_bytes, max_size=5),
    options=st.builds(Options, st.booleans(), st.booleans(), st.just(5000), dropout=st.none()),
    threads=st.integers(1, 3),
)
def test_methods_of_an_encoder_give_the_same_ids(model, tokens, texts, options, threads):
    encoder = encoder_of(model, tokens)
    expected = [encoder.encode(text, options) for text in texts]
    assert encoder.encode_batch(texts, options, threads) == expected
    assert encoder.count_tokens(texts, options, threads) == [*map(len, expected)]
    ids, offsets = encoder.encode_to_numpy(texts, options, threads)
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.int64)
    assert offsets[0] == 0
    assert [row.tolist() for row in np.split(ids, offsets[1:-1])] == (expected or [[]])
    placed, starts, places = encoder.encode_with_offsets(texts, options)
    np.testing.assert_array_equal(placed, ids)
    np.testing.assert_array_equal(starts, offsets)
    assert (placed.dtype, starts.dtype, places.dtype) == (np.uint32, np.int64, np.int64)
    assert places.shape == (len(ids), 3)
    for text, start, end in zip(texts, offsets[:-1], offsets[1:], strict=True):
        row = places[start:end]
        assert (row[:, 0] < row[:, 1]).all()
        assert (row[:, :2] >= 0).all()
        assert (row[:, :2] <= len(text)).all()
        assert (np.diff(row[:, 2], prepend=0) <= 1).all()


def encoder_of(model, tokens):
    return make_encoder(model, as_tuples(enumerate(tokens, 2000)))


def joining_model(pattern):
    """Return a model of many merges, so that text which is cut in a wrong place has other ids."""
    rng = random.Random(0)
    pieces = [
        "e",
        "a",
        "\xe9",
        "\u1ea1",
        "<",
        "<t>",
        "ab",
        " ",
        " ",
        "\u0301",
        "б",
        "й",
        "\uac00",
        "\u3000",
        "1",
        ".",
        "\n",
    ]
    texts = ["".join(rng.choices(pieces, k=2000)) for _ in range(4)]
    model = train(texts, num_merges=400, pattern=None)
    return dataclasses.replace(model, pattern=pattern, normalizer="NFC")


JOINING_MODELS = {pattern: joining_model(pattern) for pattern in ("gpt2", "o200k", None, r"\w+|\s")}
plain_options = st.builds(Options, st.booleans(), st.booleans(), st.none(), dropout=st.none())


@st.composite
def streams(draw):
    """Draw added tokens, and text of a few of them and of other pieces that meet often."""
    tokens = draw(added_tokens())
    pieces = [token.content for token in tokens] + draw(st.lists(decomposed_fragments, min_size=1, max_size=4))
    pieces += [" ", "a", "\u0301"]
    text = "".join(draw(st.lists(st.sampled_from(pieces), max_size=80)))
    return tokens, text.encode() if draw(st.booleans()) else text.encode().replace(b"a", b"\xcc")


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(
    pattern=st.sampled_from([*JOINING_MODELS]),
    stream=streams(),
    options=plain_options,
    data=st.data(),
)
def test_blocks_of_any_size_give_the_ids_of_the_whole(pattern, stream, options, data):
    tokens, whole = stream
    encoder = encoder_of(JOINING_MODELS[pattern], tokens)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hf_bpe.encoding._normalizing_encoder, "_WINDOW", data.draw(st.sampled_from([1, 8, 1 << 16])))
        blocks = [*encode_blocks(encoder, pieces, options, 2, data.draw(st.integers(1, 40)))]
    assert [int(token_id) for ids in blocks for token_id in ids] == encoder.encode(whole, options)


@settings(max_examples=by_profile(quick=60, thorough=200))
@given(st.sampled_from([*JOINING_MODELS]), streams(), plain_options)
def test_a_cut_is_right_whatever_follows(pattern, stream, options):
    tokens, whole = stream
    encoder = encoder_of(JOINING_MODELS[pattern], tokens)
    ids = encoder.encode(whole, options)
    for end in range(len(whole) + 1):
        cut = encoder.find_last_cut(whole[:end], options)
        assert encoder.encode(whole[:cut], options) + encoder.encode(whole[cut:], options) == ids


@pytest.mark.parametrize(
    ("tokens", "text", "following"),
    [
        # What follows goes before the marks that are there, and the token is none any more.
        ([AddedToken("\u1ecd", normalized=True)], "xo" + "\u0323" * 9, "\u031b"),
        ([AddedToken("\u1ecd", normalized=True)], ("xo" + "\u0323" * 9).encode() + b"\xcc", b"\x9b"),
        # What follows completes a token.
        ([AddedToken("x" + " o" * 20, normalized=False)], "x" + " o" * 19, " o"),
        # What follows eats the white space that belongs to the token so far.
        (
            [AddedToken("o ", normalized=True), AddedToken("<t>", normalized=False, lstrip=True)],
            "xo" + " " * 20,
            "<t>",
        ),
    ],
)
def test_last_cut_is_safe_whatever_text_follows(tokens, text, following):
    text, following = (part if isinstance(part, bytes) else part.encode() for part in (text, following))
    for pattern, before in itertools.product(("gpt2", None), ("", "\xe9 ", "e\u0301 ")):
        # A token of x and the first byte of \u1ecd and \u1ee3, which is \u1ecd with a horn.
        vocab, merges = BYTES | {256: b"xo", 257: b"x\xe1"}, [(b"x", b"o"), (b"x", b"\xe1")]
        encoder = encoder_of(BPEModel(vocab, merges, (), pattern, normalizer="NFC"), tokens)
        head = before.encode() + text
        cut = encoder.find_last_cut(head, Options())
        ids = encoder.encode(head[:cut], Options()) + encoder.encode(head[cut:] + following, Options())
        assert ids == encoder.encode(head + following, Options())


VIETNAMESE = unicodedata.normalize("NFD", "Tiếng Việt có rất nhiều dấu, và chữ viết rất đẹp. ")


@pytest.mark.parametrize("contents", [[], ["<t>"], ["e\u0323"], ["<t>", "ng"]])
@pytest.mark.parametrize("normalized", [False, True])
def test_blocks_of_decomposed_text_are_bounded(contents, normalized):
    tokens = [AddedToken(content, normalized=normalized) for content in contents]
    encoder = encoder_of(BPEModel(BYTES, [], normalizer="NFC"), tokens)
    text = VIETNAMESE * 200
    pieces = [text[start : start + 100] for start in range(0, len(text), 100)]
    blocks = [ids.tolist() for ids in encode_blocks(encoder, pieces, Options(), 1, 1000)]
    assert [token_id for block in blocks for token_id in block] == encoder.encode(text, Options())
    assert max(map(len, blocks)) < 1300


def test_blocks_end_at_added_tokens_if_the_pattern_has_no_cut():
    encoder = encoder_of(BPEModel(BYTES, [], (), None, normalizer="NFC"), [AddedToken("<t>", normalized=False)])
    text = (VIETNAMESE + "<t>") * 100
    pieces = [text[start : start + 100] for start in range(0, len(text), 100)]
    blocks = [ids.tolist() for ids in encode_blocks(encoder, pieces, Options(), 1, 1000)]
    assert [token_id for block in blocks for token_id in block] == encoder.encode(text, Options())
    assert max(map(len, blocks)) < 1300


@scaled
def test_a_cut_far_from_the_end_is_found():
    encoder = encoder_of(BPEModel(BYTES, [], normalizer="NFC"), [])
    data = ("low " + "e\u0301" * by_profile(quick=20_000, thorough=100_000)).encode()
    assert encoder.find_last_cut(data, Options()) == 3
    assert encoder.find_last_cut(data[4:], Options()) == 0


@given(nfc_models(), added_tokens(), texts_of(*CONTENTS))
def test_pickles_hold_the_definition_only(model, tokens, text):
    encoder = encoder_of(model, tokens)
    pickled = pickle.dumps(encoder)
    ids = encoder.encode(text, Options(unknown_id=5000))
    assert pickle.dumps(encoder) == pickled
    twin = pickle.loads(pickled)
    assert twin.model == encoder.model == model
    assert twin.encode(text, Options(unknown_id=5000)) == ids


# Places in the original


def places_of(text, *tokens, **options):
    encoder = encoder_of(BPEModel(BYTES, [], normalizer="NFC"), tokens)
    ids, _, places = encoder.encode_with_offsets([text], Options(**options))
    return [(int(token_id), *place) for token_id, place in zip(ids, places.tolist(), strict=True)]


def test_places_are_those_of_the_original_characters():
    """A character that is composed of several has the place of the first, as in `tokenizers`."""
    assert places_of("xe\u0301 y") == [(120, 0, 1, 0), (195, 1, 2, 0), (169, 1, 2, 0), (32, 3, 4, 1), (121, 4, 5, 1)]
    assert places_of("\u037ex") == [(59, 0, 1, 0), (120, 1, 2, 1)]
    assert places_of("xe\u0301".encode()) == [(120, 0, 1, 0), (195, 1, 2, 0), (169, 1, 2, 0)]
    assert places_of("e\u0301x\ud83d\ude00")[2:] == [(120, 2, 3, 0)] + [(byte, 3, 5, 1) for byte in "😀".encode()]
    assert places_of("e\u0301", add_prefix_space=True) == [(32, 0, 1, 0), (195, 0, 1, 0), (169, 0, 1, 0)]
    raw, normalized = AddedToken("<t>", normalized=False, lstrip=True), AddedToken("\xe9", normalized=True)
    assert places_of("e\u0301 <t>\u0301e\u0301", raw, normalized) == [
        *[(2001, 0, 1, 0), (2000, 2, 6, 1)],
        *[(204, 6, 7, 2), (129, 6, 7, 2), (2001, 7, 8, 3)],
    ]


@settings(max_examples=by_profile(quick=25, thorough=80))
@given(nfc_models(all_bytes=True), added_tokens(), texts_of(*CONTENTS))
def test_offsets_are_those_of_tokenizers(model, later, text):
    tokenizer = BPETokenizer(model=model)
    tokenizer.add_tokens(later)
    ours = tokenizer(text, return_offsets_mapping=True)
    theirs = tokenizer.backend_tokenizer.encode(text)
    assert (ours["input_ids"], ours["offset_mapping"]) == (theirs.ids, theirs.offsets)


@settings(max_examples=by_profile(quick=300, thorough=2000))
@given(st.lists(st.one_of(decomposed_fragments, st.characters(codec="utf-8")), max_size=10).map("".join))
def test_places_are_those_of_tokenizers_for_any_text(text):
    """Align all text at once with `tokenizers`, and segment by segment here."""
    string = PreTokenizedString(text)
    string.normalize(normalizers.NFC().normalize)
    pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated").pre_tokenize(string)
    parts = string.get_splits("original", "byte")
    data, begins, ends = get_normalizer("NFC").align(text)
    assert data == "".join(char for char, _, _ in parts).encode()
    expected = [place for char, place, _ in parts for _ in char.encode()]
    assert [*zip(begins.tolist(), ends.tolist(), strict=True)] == expected


# Saving, loading, training


@pytest.fixture
def tokenizer():
    return BPETokenizer.train(NormalizedTexts(CORPUS), num_merges=40, special_tokens=SPECIALS, normalizer="NFC")


def test_verification_finds_a_normalizer_that_is_lost(tokenizer, tmp_path):
    BPETokenizer(model=dataclasses.replace(tokenizer.model, normalizer=None)).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="different model: normalizer is None, expected 'NFC'"):
        verify_folder(tmp_path, tokenizer)


def test_a_model_says_itself_how_it_normalizes(tokenizer):
    plain = dataclasses.replace(tokenizer.model, normalizer=None)
    assert BPETokenizer(model=tokenizer.model, normalizer="NFC").normalizer == "NFC"
    assert BPETokenizer(model=plain).normalizer is None
    with pytest.raises(ValueError, match=r"takes either a model, or files .*normalizer='NFC'"):
        BPETokenizer(model=plain, normalizer="NFC")


def test_files_are_read_with_the_normalizer_that_is_given(tokenizer, tmp_path):
    files = tokenizer.save_vocabulary(tmp_path)
    assert BPETokenizer(*files, normalizer="NFC").model.merges == tokenizer.model.merges
    assert BPETokenizer(*files, normalizer="NFC").normalizer == "NFC"
    assert BPETokenizer(*files).normalizer is None
    with pytest.raises(ValueError, match="normalizer: expected one of"):
        BPETokenizer(*files, normalizer="BERT")


def test_a_new_tokenizer_learns_from_normalized_text(tokenizer, tmp_path):
    decomposed = ["u\u0308ber u\u0308ber<|user|>\u0308", ["u\u0308ber"]]
    new = tokenizer.train_new_from_iterator(decomposed, 263)
    assert new.normalizer == "NFC"
    plain = BPETokenizer(model=dataclasses.replace(tokenizer.model, normalizer=None))
    composed = ["\xfcber \xfcber<|user|>\u0308", ["\xfcber"]]
    assert new.model.merges == plain.train_new_from_iterator(composed, 263).model.merges
    assert new.model.merges != plain.train_new_from_iterator(decomposed, 263).model.merges
    assert reload(new, tmp_path).encode("u\u0308ber") == new.encode("\xfcber")


def test_counts_are_refused_for_a_tokenizer_that_normalizes(tokenizer):
    with pytest.raises(ValueError, match=r"normalizer='NFC': expected text, got counts"):
        BPETokenizer.train(count(["low"]), 260, normalizer="NFC")
    with pytest.raises(ValueError, match=r"initial: its normalizer is 'NFC'.*replace\(initial, normalizer=None\)"):
        train(["low"], 400, initial=tokenizer.model)
    first = dataclasses.replace(tokenizer.model, normalizer=None)
    more = tokenizer.train_new_from_iterator([*CORPUS, "u\u0308ber"], 310, initial=first)
    assert more.normalizer == "NFC"
    assert more.model.merges[:40] == tokenizer.model.merges


def test_real_text_has_equal_ids_decomposed_and_composed(test_data, tokenizer, tmp_path):
    folder = test_data / "text"
    texts = [path.read_bytes()[:300_000].decode("utf-8", "ignore") for path in sorted(folder.iterdir())]
    composed = [unicodedata.normalize("NFC", text) for text in texts]
    decomposed = [unicodedata.normalize("NFD", text) for text in texts]
    ids = tokenizer.encode_to_lists(decomposed)
    assert ids == tokenizer.encode_to_lists(composed)
    path = tmp_path / "text.txt"
    path.write_bytes(decomposed[0].encode())
    written = tokenizer.encode_files(path, tmp_path / "ids.npy")
    assert np.load(written.ids).tolist()[: len(ids[0])] == ids[0]
