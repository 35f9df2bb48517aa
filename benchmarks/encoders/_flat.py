"""Ids of many texts in one array, with the offset at which each text begins."""

from __future__ import annotations

from itertools import pairwise
from typing import Any


def split(ids: Any, offsets: Any) -> list[Any]:
    """Return the stretches of `ids`, an array or a list, between one offset and the next."""
    return [ids[start:end] for start, end in pairwise(offsets.tolist())]
