"""Ids of a vocabulary as those of a smaller one, of fewer merges; the proof is in docs/explanation/algorithm.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hf_bpe._native_core import require_core
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Numbers
from hf_bpe.encoding._merge_trees import makes_all_tokens, parts_of_tokens

_COPIED = 4  # numbers that the core may read beyond a list


class ProjectionTable:
    """A list of new ids for each id.

    Args:
        lists: id → new ids, at least one.

    >>> table = ProjectionTable({0: (0,), 1: (1,), 2: (0, 1)})
    >>> ids, ends = table.apply(np.array([2, 0, 2], np.uint16), np.array([1, 3]))
    >>> ids.tolist(), ends.tolist(), ids.dtype
    ([0, 1, 0, 0, 1], [2, 5], dtype('uint16'))
    """

    def __init__(self, lists: Mapping[int, Sequence[int]]) -> None:
        sizes = np.zeros(max(lists, default=-1) + 1, np.uint32)
        for token_id, new_ids in lists.items():
            sizes[token_id] = len(new_ids)
        flat = [new_id for token_id in sorted(lists) for new_id in lists[token_id]]
        begins = np.cumsum(sizes, dtype=np.uint32) - sizes
        self._tokens = np.stack([begins, sizes], axis=1).tobytes()
        self._values = np.array([*flat, *[0] * _COPIED], np.uint32)
        self.highest_id = max(flat, default=0)
        """The highest new id."""

    def apply(
        self, ids: npt.NDArray[Any], ends: Numbers, dtype: npt.DTypeLike | None = None
    ) -> tuple[npt.NDArray[Any], Numbers]:
        """Return the new ids, and the positions at which rows end.

        Args:
            ids: of any type of integers and one dimension.
            ends: the positions in `ids` at which rows end.
            dtype: uint16 or uint32, the type of the new ids; None for that of `ids`, or uint32 if that is another.

        Raises:
            ValueError: an id has no list, or the new ids do not fit the type.
        """
        native = require_core("projected ids")
        given = np.ascontiguousarray(ids)
        if given.dtype == np.int32:
            given = given.view(np.uint32)  # one below 0 becomes one that is too high
        if given.dtype not in (np.uint16, np.uint32):
            if given.size and not 0 <= given.min() <= given.max() < 1 << 32:
                raise ValueError(f"ids: expected 0 to {(1 << 32) - 1}, got {given.min()} to {given.max()}")
            given = given.astype(np.uint32)
        wanted = given.dtype if dtype is None else np.dtype(dtype)
        if self.highest_id > np.iinfo(wanted).max:
            raise ValueError(f"ids: {self.highest_id} does not fit {wanted}")
        values = self._values.astype(wanted, copy=False).tobytes()
        projected, new_ends = native.project_ids(
            given, ends, tokens=self._tokens, values=values, is_wide=wanted == np.uint32
        )
        return projected, new_ends


def projected_tokens(model: BPEModel, smaller: BPEModel) -> dict[int, tuple[int, ...]]:
    """Return the ids of a smaller model for each id of a model: what it makes where the model makes this token.

    Args:
        model: the model.
        smaller: the result of `truncate`, with the same ids.

    Returns:
        id → ids, without tokens that no text is encoded to.

    Raises:
        ValueError: ids of the model do not tell those of the smaller one.

    >>> model = BPEModel({0: b"a", 1: b"b", 2: b"ab", 3: b"abb"}, [(b"a", b"b"), (b"ab", b"b")])
    >>> projected_tokens(model, model.truncate(3))
    {0: (0,), 1: (1,), 2: (2,), 3: (2, 1)}
    """
    if model.ignore_merges and not makes_all_tokens(model):
        raise ValueError(
            "size: the model takes whole pre-tokens as tokens that merges do not make (ignore_merges), so their parts "
            "are unknown; encode the text again"
        )
    parts, fewer = parts_of_tokens(model), parts_of_tokens(smaller)
    # Of several merges for a token only the last of its tree is ever made, so the order of the others means nothing.
    ranks = _ranks(model, parts)
    in_order = sorted(parts, key=ranks.__getitem__)
    if any(ranks.get(part, -1) >= ranks[token_id] for token_id in parts for part in parts[token_id]):
        raise ValueError(
            "size: merges of the model use tokens that only later merges make, so a smaller model may merge other "
            "pairs; encode the text again"
        )
    kept, of_smaller = in_order[: len(fewer)], _ranks(smaller, fewer)
    if kept != sorted(fewer, key=of_smaller.__getitem__) or any(parts[each] != fewer[each] for each in kept):
        raise ValueError("size: the smaller model does not have the first merges of the model; encode the text again")
    lists: dict[int, tuple[int, ...]] = {}
    for token_id in model.vocab:
        if token_id in smaller.vocab and (token_id in fewer or token_id not in parts):
            lists[token_id] = (token_id,)
    for token_id in in_order[len(fewer) :]:
        first, second = parts[token_id]
        lists[token_id] = lists[first] + lists[second]
    return lists


def _ranks(model: BPEModel, parts: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    """Return the rank of the last merge in the tree of each token."""
    tokens = {(model.vocab[first], model.vocab[second]): token_id for token_id, (first, second) in parts.items()}
    return {tokens[merge]: rank for rank, merge in enumerate(model.merges) if merge in tokens}
