"""The text and ids of a session: blocks that end where text may be cut, and a tail.

Blocks are immutable and know only the block before them, so a fork shares all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hf_bpe.encoding._encoder import Ids
from hf_bpe.pretokenizers._byte_level import repair_surrogates

BLOCK = 1 << 13  # characters up to which small blocks are joined, and of the parts into which long text is cut
_NO_IDS = np.empty(0, np.uint32)


class Block(NamedTuple):
    """Text that ends at a place where the text of the session may be cut, or ids that were appended."""

    before: Block | None  # the block before it, None for the empty first one
    text: str  # its text; "" for appended ids
    ids: Ids
    # The numbers from the beginning of the session to its end
    characters: int
    num_ids: int
    num_deciding: int  # the cuts up to its end were decided by the first characters of the text, as many as this
    is_text: bool = True  # whether the text that follows in a block may be joined to it


_FIRST = Block(None, "", _NO_IDS, 0, 0, 0)


class SessionState(NamedTuple):
    """The text of a session: blocks, and the tail after them, which may end with the first half of a surrogate pair."""

    last: Block = _FIRST
    tail: str = ""
    tail_ids: Ids = _NO_IDS


def with_tail(state: SessionState) -> Block:
    """Return the blocks of a state with its tail as the last, which text that follows no longer changes."""
    last, tail, ids = state
    if not tail:
        return last
    tail = repair_surrogates(tail)  # of a pair, too, the second half can no longer follow
    characters = last.characters + len(tail)
    # Its end was decided by what follows it: shorter text may be encoded otherwise.
    return Block(last, tail, ids, characters, last.num_ids + len(ids), characters, is_text=True)


def joined(last: Block, text: str, ids: Ids, num_deciding: int) -> Block:
    """Append text as a block, or join it to the last block if both are small."""
    characters, num_ids = last.characters + len(text), last.num_ids + len(ids)
    num_deciding = max(num_deciding, last.num_deciding)
    if last.before is not None and last.is_text and len(last.text) + len(text) <= BLOCK:
        return Block(last.before, last.text + text, np.concatenate([last.ids, ids]), characters, num_ids, num_deciding)
    return Block(last, text, ids.copy(), characters, num_ids, num_deciding)


def blocks_until(last: Block) -> Iterator[Block]:
    """Return all blocks, the first one first."""
    blocks = []
    block: Block | None = last
    while block is not None:
        blocks.append(block)
        block = block.before
    return reversed(blocks)


def common_size(state: SessionState, text: str) -> int:
    """Return the length of the common beginning of the text of a session and another text."""
    size = 0
    for part in [*(block.text for block in blocks_until(state.last)), state.tail]:
        if not text.startswith(part, size):
            low, high = 0, len(part)  # the part of `low` characters is common, that of `high` is not
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if text.startswith(part[:middle], size) else (low, middle)
            return size + low
        size += len(part)
    return size
