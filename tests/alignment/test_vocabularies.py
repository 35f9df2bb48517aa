"""Shared tokens and longest prefixes, compared with a search through all tokens."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe._native_core import require_core
from hf_bpe.alignment import prefix_map, shared_ids
from hf_bpe.alignment._token_table import TokenTable
from hf_bpe.alignment._vocabularies import _equal
from support.profiles import by_profile

JOINS_BYTES = BPETokenizer.train([], vocab_size=256).pipeline.decoder
tokens = st.binary(max_size=4) | st.text("ab", max_size=5).map(str.encode)


@st.composite
def tables(draw):
    """Draw a table of tokens, some of them twice, special or missing."""
    contents = {token_id: draw(tokens) for token_id in draw(st.sets(st.integers(0, 40), max_size=30))}
    special = np.array(draw(st.lists(st.booleans(), min_size=41, max_size=41)))
    return TokenTable(contents, special & draw(st.booleans()), JOINS_BYTES)


def contents_of(table):
    return {token_id: table.token(token_id) for token_id in np.flatnonzero(table.is_token).tolist()}


def preferred(table, token):
    """Return the lowest ordinary id of a token."""
    ids = (i for i, each in contents_of(table).items() if each == token and not table.is_special[i])
    return min(ids, default=-1)


@given(tables(), tables())
@settings(max_examples=by_profile(quick=60, thorough=3000))
def test_longest_prefixes_are_those_of_a_search(a, b):
    ordinary = [token for i, token in contents_of(b).items() if token and not b.is_special[i]]
    expected = []
    for token_id in range(a.size):
        begins = [token for token in ordinary if a.token(token_id).startswith(token)]
        expected.append(preferred(b, max(begins, key=len)) if begins else -1)
    assert a.longest_prefixes(b).tolist() == expected


@given(tables(), tables())
@settings(max_examples=by_profile(quick=60, thorough=3000))
def test_equal_tokens_are_of_one_kind(a, b):
    found = _equal(a, b)
    for token_id, token in contents_of(a).items():
        if a.is_special[token_id]:
            assert found[token_id] == -1 or (b.is_special[found[token_id]] and b.token(found[token_id]) == token)
        else:
            assert found[token_id] == (preferred(b, token) if token else -1)


def test_shared_ids_are_pairs_without_repetition():
    vocab = {i: bytes([i]) for i in range(256)} | {256: b"ab", 300: b"<s>"}
    one = BPETokenizer(model=BPEModel(vocab, [(b"a", b"b")], ("<s>",)))
    more = vocab | {256: b"bc", 257: b"ab", 300: b"</s>", 301: b"<s>"}
    other = BPETokenizer(model=BPEModel(more, [(b"b", b"c"), (b"a", b"b")], ("<s>", "</s>")))
    expected = {**{i: i for i in range(256)}, 256: 257, 300: 301}
    pairs = shared_ids(one, other)
    assert dict(zip(pairs.a.tolist(), pairs.b.tolist(), strict=True)) == expected
    back = shared_ids(other, one)
    assert dict(zip(back.b.tolist(), back.a.tolist(), strict=True)) == expected


def test_a_prefix_map_makes_probabilities_of_the_student():
    teacher = BPETokenizer.train(["slow slow"], vocab_size=259, special_tokens=["<s>"])
    student = BPETokenizer.train(["slot slot"], vocab_size=259, special_tokens=["<t>", "<s>"], pattern=None)
    found = prefix_map(teacher, student)
    assert found.ids.dtype == found.sizes.dtype == np.int64
    for token_id in range(256, 259):
        begin = teacher.decode_bytes(token_id)
        if token_id == 256:
            assert student.decode(found.ids[token_id : token_id + 1]) == "<s>"
        else:
            assert begin.startswith(student.decode_bytes(int(found.ids[token_id])))
            assert found.sizes[token_id] == len(student.decode_bytes(int(found.ids[token_id])))
    matrix = found.to_sparse()
    dense = np.zeros(matrix.shape)
    for row in range(matrix.shape[0]):
        columns = slice(matrix.indptr[row], matrix.indptr[row + 1])
        dense[row, matrix.indices[columns]] = matrix.data[columns]
    assert (dense.sum(1) == 1).all()
    assert np.isclose((np.full(259, 1 / 259) @ dense).sum(), 1)
    without = prefix_map(teacher, BPETokenizer.train(["slot"], vocab_size=256))
    assert (without.ids[256], without.sizes[256]) == (-1, 0)
    assert without.to_sparse().indptr.tolist()[-3:] == [256, 257, 258]


def test_the_core_refuses_what_is_no_table():
    native = require_core("tables")
    offsets = np.array([0, 1, 2], np.int64)
    one = np.array([0], np.uint32)
    assert native.join_tokens(b"ab", offsets.tobytes(), np.array([1, 0], np.uint32)) == b"ba"
    for data, wrong, ids in (
        (b"ab", offsets.tobytes()[:-1], one),
        (b"ab", b"", one),
        (b"ab", np.array([1, 0], np.int64).tobytes(), one),
        (b"ab", np.array([-1, 2], np.int64).tobytes(), one),
        (b"ab", np.array([0, 3], np.int64).tobytes(), one),
        (b"ab", offsets.tobytes(), np.array([2], np.uint32)),
    ):
        with pytest.raises(ValueError, match="expected"):
            native.join_tokens(data, wrong, ids)
        with pytest.raises(ValueError, match="expected"):
            native.longest_prefixes(b"ab", offsets.tobytes(), data, wrong, ids)
    with pytest.raises(TypeError, match="uint32"):
        native.join_tokens(b"ab", offsets.tobytes(), [0])
