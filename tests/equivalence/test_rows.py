"""Rows of texts that the core encodes, cuts and pads at once are those of the reference."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import train
from hf_bpe._native_core import native_core
from hf_bpe.encoding._encoder import Options, Padding
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._reference_encoder import ReferenceEncoder
from support.profiles import by_profile

MODEL = train(["low lower lowest newest"], vocab_size=262)
CORE, REFERENCE = make_encoder(MODEL), ReferenceEncoder(MODEL, make_encoder)
SPECIAL = st.lists(st.integers(0, 300), max_size=2)


@settings(max_examples=by_profile(quick=150, thorough=2000), deadline=None)
@given(
    texts=st.lists(st.text("low erst é", max_size=12), max_size=4),
    special=st.tuples(SPECIAL, SPECIAL),
    limit=st.one_of(st.none(), st.tuples(st.integers(0, 8), st.booleans())),
    padding=st.one_of(
        st.none(), st.builds(Padding, st.one_of(st.none(), st.integers(0, 9)), st.integers(0, 300), st.booleans())
    ),
)
def test_rows_are_those_of_the_python_encoder(texts, special, limit, padding):
    arguments = texts, Options(), 1, special, limit, padding
    assert CORE.encode_to_rows(*arguments) == REFERENCE.encode_to_rows(*arguments)
    arrays, expected = CORE.encode_to_row_arrays(*arguments), REFERENCE.encode_to_row_arrays(*arguments)
    assert (arrays is None) == (expected is None)
    for one, other in zip(arrays or (), expected or (), strict=True):
        assert (one.dtype, one.shape, one.tolist()) == (other.dtype, other.shape, other.tolist())


def test_wrong_arguments_of_rows_are_refused():
    for special, limit in ((((), (), ()), None), (((), ()), 3), (((), ()), (-1, True)), (((), ()), [1, True])):
        with pytest.raises((TypeError, ValueError), match=r"template_ids|limit"):
            CORE.encode_to_rows(["low"], Options(), 1, special, limit, None)


@settings(max_examples=by_profile(quick=100, thorough=1000), deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4), max_size=3),
    length=st.integers(0, 5),
    value=st.integers(-1, 3),
    is_left=st.booleans(),
)
def test_padded_rows_have_their_numbers_in_place(rows, length, value, is_left):
    padded = native_core().pad_rows(rows, length, value, is_left)
    if any(len(row) > length for row in rows):
        assert padded is None
        return
    fill = [[value] * (length - len(row)) for row in rows]
    expected = [before + row if is_left else row + before for before, row in zip(fill, rows, strict=True)]
    assert (padded.dtype, padded.shape, padded.tolist()) == ("int64", (len(rows), length), expected)


@pytest.mark.parametrize("row", [(1, 2), [1.0], [True], ["1"], [2**63], [None], None])
def test_rows_of_other_things_than_ints_are_not_padded(row):
    assert native_core().pad_rows([[1], row], 4, 0, False) is None
