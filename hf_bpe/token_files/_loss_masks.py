"""Loss masks: the ids that a trainer does not learn to predict, such as those of prompts.

Records say it by ranges of characters, as the metadata `no_loss_ranges` of datatrove's documents do. A bit of each id
says it from there on, so whatever cuts, packs and stores ids does so with masks; writers take it off.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.arguments import short_repr
from hf_bpe.encoding._encoder import AnyText, Ids, Numbers
from hf_bpe.token_files._packing import Chunk

NoLossRanges = Sequence[tuple[int, int]]

MASK_COLUMN = "loss_mask"
_NO_LOSS = np.uint32(1 << 31)  # far above all ids


def with_ranges(document: AnyText, written: str | None) -> tuple[AnyText, NoLossRanges]:
    """Return a document as text, whose characters have numbers, and its ranges without loss, given as JSON.

    >>> with_ranges(b"ab", "[[0, 1]]")
    ('ab', [(0, 1)])
    """
    if written is None:
        return document, ()
    try:
        text = document if isinstance(document, str) else document.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"expected UTF-8, because ranges without loss count characters: {error}") from None
    ranges: object = json.loads(written) if written[:1] == "[" else written
    if not isinstance(ranges, list) or not all(_is_range(each, len(text)) for each in ranges):
        raise ValueError(
            f"expected ranges without loss, pairs [begin, end] of numbers from 0 to {len(text)}, the number of "
            f"characters, got {short_repr(ranges)}"
        )
    return text, [(begin, end) for begin, end in ranges if begin < end]


def _is_range(value: object, length: int) -> bool:
    return isinstance(value, list) and [*map(type, value)] == [int, int] and 0 <= value[0] <= value[1] <= length


def mark(ids: Ids, offsets: Numbers, places: Numbers, ranges: Sequence[NoLossRanges]) -> Numbers:
    """Mark the ids without loss, and return for each text how many ids are before a range that reaches its end.

    Such a range begins at the id with its first character. It ends before the id with the first character after it. The
    ids are changed in place; `offsets` and `places` are those of `Encoder.encode_with_offsets`.
    """
    kept = np.diff(offsets)
    for number in (number for number, each in enumerate(ranges) if each):
        first, last = offsets[number : number + 2]
        ends = places[first:last, 1]
        for begin, end in ranges[number]:
            begins, stops = np.searchsorted(ends, [begin, end], "right")
            ids[first + begins : first + stops] |= _NO_LOSS
            if stops == last - first:
                kept[number] = min(kept[number], begins)
    return kept


def without_ends(ids: Ids, offsets: Numbers, kept: Numbers) -> tuple[Ids, Numbers]:
    """Return the first ids of each text, as many as are kept."""
    lengths = np.diff(offsets)
    is_kept = np.arange(len(ids)) - np.repeat(offsets[:-1], lengths) < np.repeat(kept, lengths)
    return ids[is_kept], np.concatenate([offsets[:1], np.cumsum(kept)])


def without_last_ids(chunk: Chunk, is_left_out: npt.NDArray[np.bool_]) -> Chunk:
    """Return a chunk of whole rows without the last id of some rows."""
    ids = np.delete(chunk.ids, chunk.ends[is_left_out] - 1)
    return chunk._replace(ids=ids, ends=chunk.ends - np.cumsum(is_left_out))


def split_mask(ids: Ids) -> tuple[Ids, npt.NDArray[np.uint8]]:
    """Return ids without marks, and for each id 0 if it was marked, else 1.

    >>> ids = np.array([5, 6, 7], np.uint32)
    >>> _ = mark(ids, np.array([0, 3]), np.array([[0, 1], [1, 2], [2, 3]]), [[(1, 2)]])
    >>> [part.tolist() for part in split_mask(ids)]
    [[5, 6, 7], [1, 0, 1]]
    """
    return ids & ~_NO_LOSS, (ids < _NO_LOSS).astype(np.uint8)
