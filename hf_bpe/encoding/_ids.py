"""Ids that users give: lists, arrays and tensors of any library."""

from __future__ import annotations

from typing import Any

from hf_bpe._utils.arguments import check_int, check_sequence


def as_lists(name: str, ids: Any) -> Any:
    """Return an id as int, several ids as a list or tuple, and rows of ids as a list of these.

    Args:
        name: the name of the argument, for messages.
        ids: an id, or a list, array or tensor of ids or of rows of ids; the ids in a list are not checked.

    Raises:
        TypeError: the value is none of these.
    """
    if isinstance(ids, (list, tuple)):
        is_of_arrays = len(ids) > 0 and hasattr(ids[0], "ndim") and ids[0].ndim > 0
        return [as_lists(name, row) for row in ids] if is_of_arrays else ids
    if hasattr(ids, "ndim"):
        ids = ids.tolist() if hasattr(ids, "tolist") else ids
        return ids if isinstance(ids, list) else check_int(name, ids)
    if hasattr(type(ids), "__index__"):
        return check_int(name, ids)
    return [*check_sequence(name, ids, "ids")]
