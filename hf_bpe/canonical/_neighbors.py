"""Which tokens may stand side by side inside a pre-token: the theorem of stable neighbors, for whole rows of tokens.

Two tokens are stable if their joined bytes are encoded to just these two (docs/explanation/algorithm.md, section 8).
They are not if a merge (a, b) crosses between them: a is a token on the right edge of the tree of the first, b on the
left edge of the tree of the second, and the merge comes before those that absorb a and b. Tokens on whose left edge b
is absorbed late enough are neighbors in a tour of the tree of left parts, so each merge rules out one range of it.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._merge_trees import merged, parts_of_tokens

Bits = npt.NDArray[np.uint8]
"""One bit for each id, packed as by `numpy.packbits`."""

_NEVER = 2**62
_AT_ONCE = 1024  # tokens
_ROWS = 1 << 11


class StableNeighbors:
    """The tokens that may follow a token in one pre-token.

    Args:
        model: a model in which each merge comes after those that make its parts.

    Raises:
        ValueError: the model has another order of merges.

    >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ab", 257: b"aab"}, [(b"a", b"b"), (b"a", b"ab")])
    >>> StableNeighbors(model).are_stable(98, 97), StableNeighbors(model).are_stable(97, 256)
    (True, False)
    """

    def __init__(self, model: BPEModel) -> None:
        _check_order(model)
        ids = {token: token_id for token_id, token in model.vocab.items()}
        self.size = max(ids.values(), default=-1) + 1
        self.parts = self._parts = parts_of_tokens(model)
        ranks = {(ids[first], ids[second]): rank for rank, (first, second) in enumerate(model.merges)}
        self._ages = {token_id: ranks[pair] for token_id, pair in self._parts.items()}
        for (first, second), rank in ranks.items():
            if max(self._ages.get(first, -1), self._ages.get(second, -1)) >= rank:
                raise _wrong_order(rank)
        self._places, ends = self._tour()
        found: dict[int, list[tuple[int, int, int]]] = {}
        for (first, second), rank in ranks.items():
            late, stops = ends.get(second, ([], []))
            # The first children are those of the highest ranks.
            number = bisect_right(late, -rank)
            start = int(self._places[second])
            found.setdefault(first, []).append((rank, start, stops[number - 1] if number else start + 1))
        self._ranges = {first: np.array(rows, np.int64) for first, rows in found.items()}
        self.row = lru_cache(_ROWS)(self._row)

    def are_stable(self, first: int, second: int) -> bool:
        """Say whether two tokens may be neighbors in a pre-token."""
        row = self.row(first)
        return bool(row[second >> 3] >> (7 - (second & 7)) & 1)

    def _row(self, first: int) -> Bits:
        """Return the tokens that may follow one; ids without a token are arbitrary."""
        changes = np.zeros(self.size + 1, np.int32)
        part, absorbed = first, _NEVER
        while True:
            ranges = self._ranges.get(part)
            if ranges is not None:
                ranges = ranges[: np.searchsorted(ranges[:, 0], absorbed)]
                np.add.at(changes, ranges[:, 1], 1)
                np.add.at(changes, ranges[:, 2], -1)
            if part not in self._parts:
                break
            part, absorbed = self._parts[part][1], self._ages[part]
        is_ruled_out = np.cumsum(changes[:-1]) > 0
        return np.packbits(~is_ruled_out[self._places])

    def _tour(self) -> tuple[npt.NDArray[np.int64], dict[int, tuple[list[int], list[int]]]]:
        """Return the place of each id in the tour, and by id the negative ranks of its children and their ends."""
        children: dict[int, list[int]] = {}
        for token_id in sorted(self._parts, key=self._ages.__getitem__, reverse=True):
            children.setdefault(self._parts[token_id][0], []).append(token_id)
        places = np.zeros(self.size, np.int64)
        ends: dict[int, tuple[list[int], list[int]]] = {}
        at = 0
        for root in range(self.size):
            if root in self._parts:
                continue
            open_ = [(root, 0)]
            while open_:
                token_id, number = open_.pop()
                below = children.get(token_id, ())
                if number == 0:
                    places[token_id] = at
                    at += 1
                else:
                    child = below[number - 1]
                    late, stops = ends.setdefault(token_id, ([], []))
                    late.append(-self._ages[child])
                    stops.append(at)
                if number < len(below):
                    open_ += [(token_id, number + 1), (below[number], 0)]
        return places, ends


def _check_order(model: BPEModel) -> None:
    """Refuse a merge that comes before all those that make one of its parts, as in the files of Llama 3.

    This is known without merge trees, which take seconds. Tokens that the merges do not make never are parts.
    """
    first_made: dict[bytes, int] = {}
    for rank, (first, second) in enumerate(model.merges):
        first_made.setdefault(first + second, rank)
    early = [
        (rank, part) for rank, merge in enumerate(model.merges) for part in merge if first_made.get(part, -1) >= rank
    ]
    for start in range(0, len(early), _AT_ONCE):
        some = early[start : start + _AT_ONCE]
        for (rank, _), made in zip(some, merged(model, [part for _, part in some]), strict=True):
            if len(made) == 1:
                raise _wrong_order(rank)


def _wrong_order(rank: int) -> ValueError:
    return ValueError(
        f"merge {rank} of the model comes before a merge that makes one of its parts; expected merges in the order in "
        "which they were learned"
    )
