"""The core encodes with an alphabet of characters as the reference does, however the work is distributed."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from hf_bpe import train
from hf_bpe._native_core import native_core
from hf_bpe.encoding import Session
from hf_bpe.encoding._character_encoder import make_character_encoder, reads_spaces_natively
from hf_bpe.encoding._encoder import Options, as_tuples
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._native_paths import count_tokens, encode_batch
from hf_bpe.encoding._sessions.streams import encode_blocks
from hf_bpe.formats._files.tokenizer_json import definition_of_json
from hf_bpe.reference._dropout import Dropout, dropout_limits
from support.engines import reference_encoder
from support.models.character_files import FRAGMENTS, files, texts
from support.strategies import SURROGATES

PLAIN = Options()
any_texts = st.lists(st.sampled_from([*FRAGMENTS, *SURROGATES]), max_size=30).map("".join)
any_bytes = st.lists(st.one_of(st.sampled_from(FRAGMENTS).map(str.encode), st.binary(max_size=3)), max_size=20).map(
    b"".join
)


@st.composite
def encoders(draw):
    """Draw the core's encoder of a random file, in small chunks, and the reference; and the added tokens."""
    try:
        definition = definition_of_json(draw(files()))
        assume(reads_spaces_natively(definition.model))
        core = make_character_encoder(
            native_core(),
            definition.model,
            make_encoder,
            simd=draw(st.sampled_from([None, "scalar"])),
            chunk_bytes=draw(st.sampled_from([1, 16, 1 << 18])),
        )
    except ValueError:
        assume(False)  # other tests say what is refused
    tokens = as_tuples(definition.added_tokens.items())
    return core.with_added_tokens(tokens), reference_encoder(definition.model, tokens), tokens


@given(encoders(), st.lists(any_texts | any_bytes, min_size=1, max_size=5), st.booleans())
def test_core_gives_what_the_reference_gives(encoders, samples, as_text):
    core, reference, _ = encoders
    if core.model.normalizer is not None:  # which for bytes that are not UTF-8 has no definition
        samples = [sample if isinstance(sample, str) else sample.decode("utf-8", "replace") for sample in samples]
    options = Options(split_special_tokens=as_text)
    expected = reference.encode_with_offsets(samples, options)
    ids, offsets, places = core.encode_with_offsets(samples, options)
    assert (ids.tolist(), offsets.tolist()) == (expected[0].tolist(), expected[1].tolist())
    for number, sample in enumerate(samples):
        if isinstance(sample, str):  # of bytes the reference gives whole characters
            begin, end = offsets[number : number + 2]
            assert places[begin:end].tolist() == expected[2][begin:end].tolist()
    rows = [row.tolist() for row in np.split(expected[0], expected[1][1:-1])]
    assert encode_batch(core, samples, options, 2) == rows
    assert [core.encode(sample, options) for sample in samples] == rows
    assert count_tokens(core, samples, options, 1) == [*map(len, rows)]
    again = pickle.loads(pickle.dumps(core))
    assert encode_batch(again, samples, options, 1) == rows


@given(encoders(), st.lists(any_texts, max_size=8))
def test_sessions_and_blocks_give_the_ids_of_the_whole(encoders, pieces):
    core, reference, tokens = encoders
    session = Session(core, tokens, PLAIN)
    for piece in pieces:
        session.append(piece)
    assert session.ids == reference.encode("".join(pieces), PLAIN)
    session.truncate(session.num_characters // 2)
    assert session.ids == reference.encode(session.text, PLAIN)
    blocks = encode_blocks(core, pieces, PLAIN, 1, block_bytes=8)
    assert [i for block in blocks for i in block.tolist()] == reference.encode("".join(pieces), PLAIN)


@given(files(), texts)
def test_parts_of_a_long_text_give_its_ids(content, text):
    try:
        definition = definition_of_json(content)
        assume(reads_spaces_natively(definition.model))
        core = make_character_encoder(native_core(), definition.model, make_encoder, chunk_bytes=64)
    except ValueError:
        assume(False)
    core = core.with_added_tokens(as_tuples(definition.added_tokens.items()))
    text = text * 40
    expected = Tokenizer.from_str(json.dumps(content)).encode(text, add_special_tokens=False).ids
    assert core.encode_to_numpy([text], PLAIN, 2)[0].tolist() == expected


def test_dropout_is_refused_by_name():
    encoder = make_encoder(train(["low"], num_merges=1, byte_fallback=True))
    with pytest.raises(ValueError, match="dropout: is not available"):
        encoder.encode("a", Options(dropout=Dropout(0, dropout_limits(0.1))))
