"""Remaps of ids: composed, filed, applied to arrays."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_bpe.editing import Remap
from support.cases import case, check_refusals
from support.strategies import remaps


@given(remaps())
def test_a_file_gives_it_back(tmp_path_factory, remap):
    path = tmp_path_factory.mktemp("remap") / "remap.json"
    remap.save(path)
    assert Remap.load(path) == remap


@given(remaps(), st.data())
def test_one_after_the_other_is_both_at_once(first, data):
    second = data.draw(remaps(first.sources.keys()))
    both = first.then(second)
    assert both.old_ids == first.old_ids
    assert both.sources.keys() == second.sources.keys()
    for old in first.old_ids:
        assert both.new_ids.get(old) == second.new_ids.get(first.new_ids.get(old))
    for new, middles in second.sources.items():
        assert both.sources[new] == tuple(old for middle in middles for old in first.sources[middle])


def test_remaps_compose_only_if_their_vocabularies_match():
    with pytest.raises(ValueError, match="only one remap has the id 2"):
        Remap({0: 0, 1: 2}).then(Remap({0: 0}))


@given(remaps(), st.data(), st.sampled_from(["uint16", "uint32", "int64", "int16"]))
def test_kept_ids_are_translated_in_arrays_of_any_shape(remap, data, dtype):
    olds = [*remap.new_ids]
    ids = np.array(data.draw(st.lists(st.sampled_from(olds), max_size=6)) if olds else [], dtype=dtype)
    for array in (ids, ids.reshape(1, -1, 1)):
        translated = remap.ids(array)
        assert translated.dtype == array.dtype
        assert translated.shape == array.shape
        assert translated.ravel().tolist() == [remap.new_ids[old] for old in ids.tolist()]
    assert remap.ids(ids.tolist()).tolist() == translated.ravel().tolist()


@given(remaps(), st.integers(-1, 301))
def test_other_ids_are_refused_with_the_reason(remap, other):
    if other not in remap.new_ids:
        reason = "its token was removed" if other in remap.removed else "the old tokenizer has no such token"
        with pytest.raises(ValueError, match=f"ids: {other} has no new id: {reason}"):
            remap.ids([*remap.new_ids, other])


def test_an_array_is_widened_only_where_ids_do_not_fit():
    assert Remap({0: 300}).ids(np.array([0], dtype=np.uint8)).tolist() == [300]
    assert Remap({0: 255}).ids(np.array([0], dtype=np.uint8)).dtype == np.uint8
    with pytest.raises(TypeError, match="expected integers, got an array of float64"):
        Remap({0: 1}).ids([0.0])


def test_edit_reports_what_has_changed():
    assert Remap({0: 1}).moves
    assert not Remap({0: 0}, {1: ()}, (2,)).moves


INVALID = [
    (({0: 1, 1: 1},), ValueError, "the same new id"),
    (({0: 1}, {1: ()}), ValueError, "the same new id"),
    (({0: 1}, {}, [0]), ValueError, "a token is both kept and removed"),
    (({0: 1}, {2: (7,)}), ValueError, "id 7 is a source"),
    (({0: "1"},), TypeError, "id '1' is str"),
    (({0: 1}, {2: (True,)}), TypeError, "id True is bool"),
    (({0: 1}, {}, ["2"]), TypeError, "id '2' is str"),
]


def test_invalid_remaps_are_refused():
    check_refusals(INVALID, lambda arguments: Remap(*arguments))


NO_REMAPS = [
    *("", "[]", "7", "{}", '{"new_ids": [], "added": []}'),
    json.dumps({"new_ids": [[0, 1], [0, 2]], "added": [], "removed": []}),
    json.dumps({"new_ids": [[0, 1, 2]], "added": [], "removed": []}),
    json.dumps({"new_ids": [[[], 1]], "added": [], "removed": []}),
    json.dumps({"new_ids": [], "added": [[1, 2]], "removed": []}),
    json.dumps({"new_ids": [], "added": [], "removed": "ab"}),
]


def test_a_file_that_is_none_is_refused_by_name(tmp_path):
    for content in NO_REMAPS:
        with case(content):
            path = tmp_path / "remap.json"
            path.write_text(content, encoding="utf-8")
            with pytest.raises(ValueError, match=r"remap\.json: "):
                Remap.load(path)
