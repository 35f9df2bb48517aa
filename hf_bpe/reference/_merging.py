"""Merging a sequence of symbols by the ranks of pairs."""

from __future__ import annotations

import heapq
from collections.abc import Mapping

Pair = tuple[int, int]


def merge_symbols(symbols: list[int], ranks: Mapping[Pair, tuple[int, int]]) -> list[int]:
    """Merge the adjacent pair of lowest rank, leftmost first, until there is none, in O(n log n); `symbols` changes.

    The symbols are a linked list over their positions: a merge keeps the left position and drops the right one. The
    heap holds (rank, position of the left part); an entry may be stale.

    Args:
        symbols: ids of tokens; negative numbers for what merges with nothing.
        ranks: pair → its rank, and the id that it becomes.
    """
    end = len(symbols)
    following = list(range(1, end + 1))
    previous = list(range(-1, end - 1))
    heap = []
    for left in range(end - 1):
        merge = ranks.get((symbols[left], symbols[left + 1]))
        if merge is not None:
            heap.append((merge[0], left))
    heapq.heapify(heap)
    dropped = -1 << 62  # neither an id nor a negative number that is given
    while heap:
        rank, left = heapq.heappop(heap)
        right = following[left]
        merge = ranks.get((symbols[left], symbols[right])) if right < end else None
        if merge is None or merge[0] != rank:
            continue
        symbols[left], symbols[right] = merge[1], dropped
        after = following[left] = following[right]
        if after < end:
            previous[after] = left
            merge = ranks.get((symbols[left], symbols[after]))
            if merge is not None:
                heapq.heappush(heap, (merge[0], left))
        before = previous[left]
        if before >= 0:
            merge = ranks.get((symbols[before], symbols[left]))
            if merge is not None:
                heapq.heappush(heap, (merge[0], before))
    return [symbol for symbol in symbols if symbol != dropped]
