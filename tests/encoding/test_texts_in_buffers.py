"""Texts in one buffer have the ids that they have as bytes, whatever normalization does to them."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hf_bpe import BPETokenizer
from hf_bpe._native_core import require_core
from hf_bpe.encoding._encoder import Options, as_tuples
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._native_paths import as_prepared, encode_utf8
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from hf_bpe.pretokenizers import Metaspace
from hf_bpe.reference._dropout import Dropout, dropout_limits
from support.models import character_files
from support.models.small_tokenizers import pieces, tokenizer_of, tokenizers
from support.profiles import by_profile
from support.strategies import any_bytes

as_bytes = st.one_of(pieces.map(lambda text: text.encode("utf-8", "surrogatepass")), any_bytes)


@st.composite
def buffers(draw, texts):
    """Draw a buffer and where texts begin and end in it, in any order and perhaps twice."""
    parts = draw(st.lists(texts, max_size=12))
    bounds = np.cumsum([3, *map(len, parts)])
    order = draw(st.lists(st.integers(0, len(parts) - 1), max_size=14)) if parts and draw(st.booleans()) else None
    chosen = np.array(range(len(parts)) if order is None else order, np.int64)
    return b"\xe2\x96\x81" + b"".join(parts) + b"\x81", bounds[:-1][chosen], bounds[1:][chosen]


def check(encoder, buffer, options):
    data, begins, ends = buffer
    texts = [data[begin:end] for begin, end in zip(begins, ends, strict=True)]
    expected = encoder.encode_to_numpy(texts, options, 1)
    for mine, its in zip(encode_utf8(encoder, buffer, options, 1), expected, strict=True):
        assert (mine.tolist(), mine.dtype) == (its.tolist(), its.dtype)


@settings(max_examples=by_profile(quick=60, thorough=5000))
@given(tokenizers(), buffers(as_bytes), st.booleans(), st.booleans())
@example(tokenizer_of("gpt2", "NFC"), (b"e\xcc\x81 low", np.array([0, 3, 1]), np.array([3, 7, 3])), False, True)
def test_texts_in_a_buffer_have_the_ids_of_the_texts(tokenizer, buffer, as_text, is_random):
    options = tokenizer.pipeline.options(as_text)
    if is_random:
        options = options._replace(dropout=Dropout(3, dropout_limits(0.5), first_text=7))
    check(tokenizer.pipeline.encoder, buffer, options)


@settings(max_examples=by_profile(quick=60, thorough=5000))
@given(st.data(), st.booleans())
def test_models_with_characters_read_spaces_in_a_buffer(data, as_text):
    texts = st.one_of(character_files.texts.map(str.encode), any_bytes, st.sampled_from([b"\xe2\x96\x81", b"\xe2\x96"]))
    try:
        definition = definition_of_json(data.draw(character_files.files()))
        encoder = make_encoder(definition.model).with_added_tokens(as_tuples(definition.added_tokens.items()))
    except ValueError:
        assume(False)  # other tests say what is refused
    assume(as_prepared(encoder) is not None)
    check(encoder, data.draw(buffers(texts)), Options(split_special_tokens=as_text))


def test_texts_with_a_written_space_may_overlap():
    tokenizer = BPETokenizer.train(["low lower lowest low"], num_merges=4, pattern=Metaspace())
    encoder = tokenizer.pipeline.encoder
    assert encoder.preparation.reads_spaces
    data = "low \u2581x lower".encode()
    for begins, ends in (
        ([0, 0], [7, 7]),
        ([0, 4], [7, 9]),
        ([4, 0, 4], [4, 8, 9]),
        ([0, 7], [7, 12]),
        ([7, 0], [9, 7]),
    ):
        check(encoder, (data, np.array(begins), np.array(ends)), tokenizer.pipeline.options())


def test_only_texts_that_nfc_may_change_are_told():
    native = require_core("the check for NFC")
    texts = [
        "low \u2019",
        "e\u0301",
        "",
        "\u4f60\u597d " * 9 + "\uac00",
        "low" * 9 + "\u0301",
        "\u212b",
        "\u0915\u093c",
    ]
    data = "".join(texts).encode()
    bounds = np.cumsum([0, *(len(text.encode()) for text in texts)])
    assert native.spans_beyond_nfc(data, bounds[:-1], bounds[1:]).tolist() == [1, 4, 5, 6]
    assert native.texts_beyond_nfc(texts).tolist() == [1, 4, 5, 6]
    assert native.texts_beyond_nfc([text.encode() for text in texts]).tolist() == [1, 4, 5, 6]
    assert native.texts_beyond_nfc(["\xe9", "\ud83d\ude00", "\U0001f600", b"\xff\x80", b"\x80"]).tolist() == [1, 3]
    assert native.spans_beyond_nfc(data, bounds[:0], bounds[:0]).tolist() == []
    with pytest.raises(TypeError, match="text 1: expected str or bytes, got int"):
        native.texts_beyond_nfc(["low", 7])
