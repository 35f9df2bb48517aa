"""Tokens that may stand side by side inside a pre-token: the theorem of stable neighbors, for whole rows of tokens.

Two tokens are stable if their joined bytes are encoded to just these two (docs/explanation/algorithm.md, section 8).
They are not if a merge (a, b) crosses between them: a is a token on the right edge of the tree of the first, b on the
left edge of the tree of the second, and the merge comes before what absorbs a and b. Tokens on whose left edge b
is absorbed late enough are neighbors in a tour of the tree of left parts, so each merge rules out one range of it.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.cached_property import cached_property
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Numbers
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._native_paths import last_merges

Bits = npt.NDArray[np.uint8]
"""One bit for each id, packed as by `numpy.packbits`."""


def has_bit(bits: Bits, token_id: int) -> bool:
    """Return whether an id is among packed ones."""
    return bool(bits[token_id >> 3] >> (7 - (token_id & 7)) & 1)


_NEVER = 2**62  # above all ranks
_ROWS = 1 << 11  # rows that are kept
_MAX_LATE = 1 << 10  # tokens


class StableNeighbors:
    """Answers which tokens may follow a token in one pre-token; a ValueError for a model with many late tokens.

    Merges that are never made are left out: of several merges of a token only the last in its tree is made (theorem 2).
    A token is late if a merge in its tree comes before a merge that makes the parts of the first; the files of Llama 3
    have late tokens. Whether a late token is stable is found by merging.

    Attributes:
        size: the highest id plus one.
        is_made: by id, whether it is a byte or a token that merges make of its own bytes. Only these have neighbors.

    >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ab", 257: b"aab"}, [(b"a", b"b"), (b"a", b"ab")])
    >>> StableNeighbors(model).are_stable(98, 97), StableNeighbors(model).are_stable(97, 256)
    (True, False)
    """

    def __init__(self, model: BPEModel) -> None:
        self._model, self._encoder = model, make_encoder(model)
        self.size = max(model.vocab, default=-1) + 1
        merges = _merges_of_trees(model, self.size)
        self._ages = np.full(self.size, -1, np.int64)
        self._ages[merges.results] = merges.ranks
        # A merge cannot be made before its parts exist.
        turns = np.maximum(merges.ranks, np.maximum(self._ages[merges.firsts], self._ages[merges.seconds]))
        self._late = _late_tokens(merges, turns, self.size)
        if len(self._late) > _MAX_LATE:
            raise ValueError(
                f"merge {merges.ranks[turns > merges.ranks][0]} of the model comes before a merge that makes one of "
                f"its parts; expected merges in the order in which they were learned, but for {_MAX_LATE} tokens"
            )
        self._seconds = np.full(self.size, -1, np.int64)
        self._seconds[merges.results] = merges.seconds
        self.is_made = self._ages >= 0
        self.is_made[[token_id for token_id, token in model.vocab.items() if len(token) == 1]] = True
        self._packed = np.packbits(self.is_made)
        tour = _tour(merges, self.size)
        self._places = tour.places
        # Which tokens have the second part of each merge on their left edge when it is its turn.
        in_order = np.lexsort((turns, merges.firsts))
        firsts, seconds, turns = merges.firsts[in_order], merges.seconds[in_order], turns[in_order]
        self._turns = turns
        self._begins, self._ends = tour.places[seconds], tour.ends_after(seconds, turns)
        self._bounds = np.searchsorted(firsts, np.arange(self.size + 1))
        self.row = lru_cache(_ROWS)(self._row)

    def are_stable(self, first: int, second: int) -> bool:
        """Say whether two tokens may be neighbors in a pre-token."""
        return has_bit(self.row(first), second)

    def _row(self, first: int) -> Bits:
        """Return a bit for each token that may follow the first."""
        if not self.is_made[first]:
            return np.zeros_like(self._packed)
        if first in self._late:
            return np.packbits(self._merged_row(first, np.flatnonzero(self.is_made)))
        # Each merge of a part on the right edge, made before that part is absorbed, rules out a range of the tour.
        changes = np.zeros(self.size + 1, np.int32)
        part, absorbed = first, _NEVER
        while True:
            start, stop = self._bounds[part], self._bounds[part + 1]
            stop = start + np.searchsorted(self._turns[start:stop], absorbed)
            np.add.at(changes, self._begins[start:stop], 1)
            np.add.at(changes, self._ends[start:stop], -1)
            if self._ages[part] < 0:
                break
            absorbed, part = self._ages[part], self._seconds[part]  # down the right edge
        is_ruled_out = np.cumsum(changes[:-1]) > 0  # by place in the tour
        row = np.packbits(~is_ruled_out[self._places]) & self._packed
        if len(self._late):
            row &= ~self._late_bits
            row |= np.packbits(self._merged_row(first, self._late))
        return row

    @cached_property
    def _late_bits(self) -> Bits:
        marks = np.zeros(self.size, bool)
        marks[self._late] = True
        return np.packbits(marks)

    def _merged_row(self, first: int, seconds: Numbers) -> npt.NDArray[np.bool_]:
        """Say for each id whether it is among `seconds` and stable after `first`, by merging the bytes of both."""
        begin, vocab = self._model.vocab[first], self._model.vocab
        ids, offsets = self._encoder.merge_words([begin + vocab[second] for second in seconds.tolist()], 0)
        is_pair = np.diff(offsets) == 2
        at = offsets[:-1][is_pair]
        marks = np.zeros(self.size, bool)
        marks[seconds[is_pair]] = (ids[at] == first) & (ids[at + 1] == seconds[is_pair])
        return marks


class _MadeMerges(NamedTuple):
    """The last merge in the tree of each token that merges make, in the order of ranks."""

    ranks: Numbers
    firsts: Numbers
    seconds: Numbers
    results: Numbers


class _Tour(NamedTuple):
    """A tour of the trees in which the parent of a token is its left part, and the last made child comes first."""

    places: Numbers  # the place of each id
    sizes: Numbers  # the number of tokens below each id, itself included
    keys: Numbers  # for each child, parent and rank as one number, in order
    children: Numbers  # the children in the order of `keys`
    starts: Numbers  # by id, the number of children of lower ids

    def ends_after(self, ids: Numbers, ranks: Numbers) -> Numbers:
        """Return for each id the end of its range without the children that are made before a rank."""
        number = np.searchsorted(self.keys, _keys(ids, ranks), "right")  # of children made after it, or by it
        last = self.children[np.maximum(number - 1, 0)] if len(self.children) else ids
        is_child = number > self.starts[ids]
        return np.where(is_child, self.places[last] + self.sizes[last], self.places[ids] + 1)


_MAX_RANK = 2**31


def _keys(parents: Numbers, ranks: Numbers) -> Numbers:
    return parents * (_MAX_RANK + 1) + (_MAX_RANK - ranks)


def _tour(merges: _MadeMerges, size: int) -> _Tour:
    keys = _keys(merges.firsts, merges.ranks)
    in_order = np.argsort(keys)
    keys, parents, children = keys[in_order], merges.firsts[in_order], merges.results[in_order]
    # Level by level: a parent is made before its children, so its depth is known when it is their turn.
    depths = np.zeros(size, np.int64)
    parent_of = np.full(size, -1, np.int64)
    parent_of[merges.results] = merges.firsts
    tokens = merges.results
    ancestors = parent_of[tokens]
    while len(tokens):
        depths[tokens] += 1
        ancestors = parent_of[ancestors]
        tokens, ancestors = tokens[ancestors >= 0], ancestors[ancestors >= 0]
    levels = np.argsort(depths[children], kind="stable")
    bounds = np.searchsorted(depths[children][levels], np.arange(1, int(depths.max(initial=0)) + 2))
    sizes = np.ones(size, np.int64)
    for start, stop in reversed([*pairwise(bounds)]):
        level = levels[start:stop]
        np.add.at(sizes, parents[level], sizes[children[level]])
    places = np.zeros(size, np.int64)
    roots = np.flatnonzero(parent_of < 0)
    places[roots] = np.cumsum(sizes[roots]) - sizes[roots]
    before = np.cumsum(sizes[children]) - sizes[children]  # in the order of keys, so siblings are side by side
    starts = np.searchsorted(parents, np.arange(size))
    offsets = before - before[starts[parents]] + 1 if len(children) else before  # from the place of the parent
    for start, stop in pairwise(bounds):
        level = levels[start:stop]
        places[children[level]] = places[parents[level]] + offsets[level]
    return _Tour(places, sizes, keys, children, starts)


def _merges_of_trees(model: BPEModel, size: int) -> _MadeMerges:
    """Return the last merge in the tree of each token that has one."""
    ids = np.frombuffer(model.merge_ids, np.uint32).reshape(-1, 3).astype(np.int64)
    is_result = np.zeros(size, bool)
    is_result[ids[:, 2]] = True
    made = np.flatnonzero(is_result)
    last = last_merges(make_encoder(model), [*map(model.vocab.__getitem__, made.tolist())])
    assert last is not None  # because there is a native core, and the alphabet is bytes
    ranks = np.sort(last[last >= 0])
    return _MadeMerges(ranks, *ids[ranks].T)


def _late_tokens(merges: _MadeMerges, turns: Numbers, size: int) -> Numbers:
    """Return the tokens whose tree has a merge that comes before a merge of its parts."""
    is_late = np.zeros(size, bool)
    is_late[merges.results] = turns > merges.ranks
    while True:
        more = merges.results[is_late[merges.firsts] | is_late[merges.seconds]]
        if is_late[more].all():
            return np.flatnonzero(is_late)
        is_late[more] = True
