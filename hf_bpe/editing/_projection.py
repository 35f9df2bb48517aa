"""Project ids to smaller vocabularies: what `truncate` of the model would have made of the same text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.arguments import check_flag, checked
from hf_bpe.core._model import BPEModel, check_model
from hf_bpe.editing._edits import renumber as renumbered
from hf_bpe.encoding._projection import ProjectionTable, projected_tokens

_Array = npt.NDArray[Any]


@overload
def project_ids(model: BPEModel, ids: npt.ArrayLike, size: int, *, renumber: bool = ...) -> _Array: ...


@overload
def project_ids(model: BPEModel, ids: npt.ArrayLike, size: Sequence[int], *, renumber: bool = ...) -> list[_Array]: ...


@checked(model=check_model, renumber=check_flag)
def project_ids(
    model: BPEModel, ids: npt.ArrayLike, size: int | Sequence[int], *, renumber: bool = False
) -> _Array | list[_Array]:
    """Return the ids that a smaller vocabulary gives the text of ids, without the text.

    Each token is taken apart along its merges until all parts are tokens of the smaller vocabulary. The result equals
    encoding the text with `truncate(model, size).model`, if the ids are an encoding: not one with dropout, say, or
    sampled by a model. The proof is in docs/explanation/algorithm.md. `hf-bpe project` does it for token files.

    Args:
        model: the model that made the ids.
        ids: an array or list of ids of one dimension: of a text, or of many, one after the other.
        size: the number of tokens of the smaller vocabulary; several numbers for several results.
        renumber: return the ids after `renumber`, which closes the gaps that `truncate` leaves.

    Returns:
        An array of one dimension, of the type of `ids` if that is uint16 or uint32, else uint32; for several sizes, a
        list of arrays.

    Raises:
        TypeError: the ids are not integers.
        ValueError: an id is of no token that text is encoded to; a size is impossible; or the ids do not tell those of
            the smaller vocabulary, as with merges that use tokens which only later merges make, or with
            `ignore_merges` where it changes ids.

    >>> model = BPEModel({0: b"a", 1: b"b", 2: b"ab", 3: b"abb"}, [(b"a", b"b"), (b"ab", b"b")])
    >>> project_ids(model, [3, 0, 2], 3)
    array([2, 1, 0, 2], dtype=uint32)
    >>> project_ids(model, np.array([3, 0, 2], np.uint16), [2, 4])
    [array([0, 1, 1, 0, 0, 1], dtype=uint16), array([3, 0, 2], dtype=uint16)]
    """
    given = np.asarray(ids)
    if given.size == 0:
        given = given.astype(np.uint32 if given.dtype.kind not in "iu" else given.dtype)
    if given.dtype.kind not in "iu":
        raise TypeError(f"ids: expected integers, got an array of {given.dtype}")
    if given.ndim != 1:
        raise ValueError(f"ids: expected one dimension, got {given.ndim}; give the ids of all texts in one array")
    sizes = [size] if isinstance(size, int) else [*size]
    nowhere = np.empty(0, np.int64)
    projected = [_table(model, each, renumber).apply(given, nowhere)[0] for each in sizes]
    return projected[0] if isinstance(size, int) else projected


def _table(model: BPEModel, size: int, renumber: bool) -> ProjectionTable:
    smaller = model.truncate(size)
    lists = projected_tokens(model, smaller)
    if renumber:
        new_ids = renumbered(smaller).remap.new_ids
        lists = {token_id: tuple(new_ids[part] for part in parts) for token_id, parts in lists.items()}
    return ProjectionTable(lists)
