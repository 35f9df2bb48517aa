"""Rows of texts that the core encodes, cuts and pads at once are those of the reference."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import train
from hf_bpe._native_core import native_core
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._layout import Layout, Padding
from hf_bpe.encoding._native_paths import encode_to_row_arrays, encode_to_rows
from support.engines import reference_encoder
from support.profiles import by_profile

MODEL = train(["low lower lowest newest"], vocab_size=262)
CORE, REFERENCE = make_encoder(MODEL), reference_encoder(MODEL)
WITHOUT_CORE = mock.patch("hf_bpe.encoding._layout.native_core", return_value=None)
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
    arguments = texts, Options(), 1, (special, limit, padding)
    with WITHOUT_CORE:
        expected = encode_to_rows(REFERENCE, *arguments), _described(encode_to_row_arrays(REFERENCE, *arguments))
    assert (encode_to_rows(CORE, *arguments), _described(encode_to_row_arrays(CORE, *arguments))) == expected


def _described(arrays):
    return arrays and [(array.dtype, array.shape, array.tolist()) for array in arrays]


@given(st.data(), st.integers(1, 3), st.sampled_from([0, -100]), st.booleans())
def test_rows_have_sequences_and_template_ids(data, sequences, pad_id, is_left):
    ids = np.array(data.draw(st.lists(st.integers(0, 2**32 - 1), max_size=20)), np.uint32)
    span = st.tuples(st.integers(0, len(ids)), st.integers(0, len(ids))).map(sorted)
    row = st.lists(span, min_size=sequences, max_size=sequences)
    spans = np.array(data.draw(st.lists(row, max_size=4)), np.int64).reshape(-1, sequences, 2)
    layout = Layout(ids, spans, data.draw(st.lists(SPECIAL, min_size=sequences + 1, max_size=sequences + 1)))
    with WITHOUT_CORE:
        rows, masks = layout.to_lists()
    assert layout.to_lists() == (rows, masks) == (rows, [[1] * len(row) for row in rows])
    longest = max(map(len, rows), default=0)
    for length in (None, 2, longest, longest + 3):
        fill = [[pad_id] * ((longest if length is None else length) - len(row)) for row in rows]
        both = [(pad, row) if is_left else (row, pad) for pad, row in zip(fill, rows, strict=True)]
        padded, width = [first + second for first, second in both], max(longest, length or 0)
        masks = [[int(part is row) for part in parts for _ in part] for parts, row in zip(both, rows, strict=True)]
        arrays = [("int64", (len(rows), width), lists) for lists in (padded, masks)]
        for core in (None, native_core()):
            with mock.patch("hf_bpe.encoding._layout.native_core", return_value=core):
                written = layout.padded(Padding(length, pad_id, is_left))
                assert written.to_lists() == (padded, masks)
                assert _described(written.to_arrays()) == (arrays if {*map(len, padded)} <= {width} else None)


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
