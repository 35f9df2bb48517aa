"""The layout of a batch: rows of ids with a template, truncation, overflowing windows and padding.

Truncation follows `tokenizers` (truncation.rs and encoding.rs of tokenizers 0.23). transformers' Python tokenizers
differ from it in two points: in a pair truncated to an odd length the second sequence keeps one id more, and a sequence
that is too short for the truncation is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from hf_bpe._utils.cached_property import cached_property
from hf_bpe.encoding._encoder import Ids, Numbers, TemplateIds

Value = TypeVar("Value")

MAX_IDS = 1 << 40  # in a row; no memory holds as many


@dataclass(frozen=True)
class Layout:
    """Rows of one or two sequences each.

    Attributes:
        ids: the ids of all sequences.
        spans: the begin and end of each sequence in `ids`, of shape (rows, sequences, 2).
        template: the special-token ids before the first sequence and after each.
        width: the length to which rows are padded, None for no padding.
        pads_left: whether the padding is on the left.
    """

    ids: Ids
    spans: Numbers
    template: TemplateIds
    width: int | None = None
    pads_left: bool = False

    @cached_property
    def num_special(self) -> int:
        """The number of special tokens in each row."""
        return sum(map(len, self.template))

    @cached_property
    def sequence_lengths(self) -> Numbers:
        """The number of ids in each sequence, of shape (rows, sequences)."""
        lengths: Numbers = self.spans[:, :, 1] - self.spans[:, :, 0]
        return lengths

    @cached_property
    def lengths(self) -> Numbers:
        """The number of ids in each row, with special tokens and without padding."""
        lengths: Numbers = self.sequence_lengths.sum(axis=1) + self.num_special
        return lengths

    @cached_property
    def longest(self) -> int:
        """The number of ids in the longest row, with special tokens and without padding."""
        return int(self.lengths.max(initial=0))

    @property
    def longest_padded(self) -> int:
        """The number of ids in the longest row, with special tokens and padding."""
        return self.longest if self.width is None else max(self.longest, self.width)

    @cached_property
    def padded_lengths(self) -> Numbers:
        """The number of ids in each row, with special tokens and padding."""
        return self.lengths if self.width is None else np.maximum(self.lengths, self.width)

    def truncated(self, max_length: int, strategy: str, *, from_left: bool) -> Layout:
        """Return the layout truncated to `max_length`; raise a ValueError if `strategy` cannot cut enough."""
        kept = kept_lengths(self.sequence_lengths, self._room(max_length), strategy)
        spans = self.spans.copy()
        if from_left:
            spans[:, :, 0] = spans[:, :, 1] - kept
        else:
            spans[:, :, 1] = spans[:, :, 0] + kept
        return replace(self, spans=spans)

    def windows(self, max_length: int, strategy: str, stride: int, *, from_left: bool) -> tuple[Layout, list[int]]:
        """Return a layout with a row for each overflowing window, and the old row of each new row.

        Windows overlap by `stride` ids.

        Raises:
            ValueError: the strategy cannot cut enough, or the stride is too large for the row.
        """
        kept = kept_lengths(self.sequence_lengths, self._room(max_length), strategy)
        spans: list[list[tuple[int, int]]] = []
        rows: list[int] = []
        for row, (old, sizes) in enumerate(zip(self.spans.tolist(), kept.tolist(), strict=True)):
            per_sequence = [
                _windows(begin, end, size, stride, from_left) for (begin, end), size in zip(old, sizes, strict=True)
            ]
            combined = _combined(per_sequence)
            spans += combined
            rows += [row] * len(combined)
        array = np.array(spans, np.int64).reshape(-1, *self.spans.shape[1:])
        return replace(self, spans=array), rows

    def _room(self, max_length: int) -> int:
        # The value that means no limit in transformers exceeds numpy's integers.
        return min(max_length - self.num_special, 2**62)

    def padded(self, length: int | None, multiple_of: int | None, *, left: bool) -> Layout:
        """Return the layout padded to a length, or to the longest row if None, rounded up to a multiple."""
        width = self.longest if length is None else length
        if multiple_of is not None:
            width = -(-width // multiple_of) * multiple_of
        if width >= MAX_IDS:
            raise ValueError(f"padding to {width} ids: expected a max_length that memory can hold")
        return replace(self, width=width, pads_left=left)

    def row(self, row: int, pad_id: int) -> list[int]:
        """Return the ids of a row."""
        ids = [*self.template[0]]
        for (begin, end), after in zip(self.spans[row].tolist(), self.template[1:], strict=True):
            ids += [*self.ids[begin:end].tolist(), *after]
        return self.filled_up(ids, pad_id)

    def column(self, special: Value, sequences: Sequence[list[Value]], padding: Value) -> list[Value]:
        """Return a value for each id of a row: `special`, the values of each sequence, and `padding`."""
        values = [special] * len(self.template[0])
        for of_sequence, after in zip(sequences, self.template[1:], strict=True):
            values += of_sequence
            values += [special] * len(after)
        return self.filled_up(values, padding)

    def filled_up(self, values: list[Value], padding: Value) -> list[Value]:
        """Return the values of a row with padding; those of a row that is longer than all others as they are."""
        missing = [padding] * ((self.width or 0) - len(values))
        return missing + values if self.pads_left else values + missing


def kept_lengths(lengths: Numbers, room: int, strategy: str) -> Numbers:
    """Return how many ids each sequence keeps so that no row has more than `room`, in the shape of `lengths`."""
    if room == 0:  # then `tokenizers` removes all texts, whatever the strategy
        return np.zeros_like(lengths)
    room = max(room, 0)
    excess = np.maximum(lengths.sum(axis=1) - room, 0)
    kept: Numbers = lengths.copy()
    if not excess.any():
        return kept
    if strategy == "longest_first" and lengths.shape[1] == 2:
        shorter = lengths.min(axis=1)
        longer = np.where(shorter > room, shorter, np.maximum(shorter, room - shorter))
        is_halved = shorter + longer > room
        shorter = np.where(is_halved, room // 2, shorter)
        longer = np.where(is_halved, room // 2 + room % 2, longer)
        is_first_longer = lengths[:, 0] > lengths[:, 1]
        cut = np.where(is_first_longer, [longer, shorter], [shorter, longer]).T
        return np.where((excess > 0)[:, None], cut, kept)
    target = 1 if strategy == "only_second" else 0
    if target >= lengths.shape[1]:
        raise ValueError("truncation='only_second': rows are too long, but have no second text to truncate")
    is_too_short = (excess > 0) & (excess >= lengths[:, target])  # `tokenizers` removes no text as a whole
    if strategy != "longest_first" and is_too_short.any():
        row = int(is_too_short.argmax())
        raise ValueError(
            f"truncation={strategy!r}: a row has {excess[row]} ids too many, but the text to truncate has only "
            f"{lengths[row, target]}, of which one has to stay; use another strategy, such as 'longest_first', or a "
            "greater max_length"
        )
    kept[:, target] = np.maximum(kept[:, target] - excess, 0)
    return kept


def truncated_ids(
    ids: list[int], pair_ids: list[int] | None, excess: int, strategy: str, stride: int, *, from_left: bool
) -> tuple[list[int], list[int] | None, list[int]]:
    """Return sequences with `excess` fewer ids in all, and the overflowing ids with `stride` ids of overlap."""
    sequences = [ids] if pair_ids is None else [ids, pair_ids]
    lengths = np.array([[*map(len, sequences)]], np.int64)
    kept = kept_lengths(lengths, int(lengths.sum()) - excess, strategy)[0].tolist()
    left: list[list[int]] = []
    overflowing: list[int] = []
    for sequence, size in zip(sequences, kept, strict=True):
        cut = len(sequence) - size
        left.append(sequence[cut:] if from_left else sequence[:size])
        if cut and not (pair_ids is not None and strategy == "longest_first"):
            overflowing += sequence[: cut + stride] if from_left else sequence[max(size - stride, 0) :]
    return left[0], left[1] if pair_ids is not None else None, overflowing


def _windows(begin: int, end: int, size: int, stride: int, from_left: bool) -> list[tuple[int, int]]:
    """Return spans of at most `size` that cover a span, the kept one first."""
    if end - begin <= size:
        return [(begin, end)]
    if stride >= size:
        raise ValueError(
            f"overflowing windows: {size} ids of a text fit in a row, of which {stride} (stride) repeat the preceding "
            "window; use a smaller stride or a greater max_length"
        )
    step = size - stride
    count = -(-(end - begin - size) // step) + 1  # the last window reaches the other end
    if from_left:
        stops = [end - step * number for number in range(count)]
        return [(max(stop - size, begin), stop) for stop in stops]
    starts = [begin + step * number for number in range(count)]
    return [(start, min(start + size, end)) for start in starts]


def _combined(windows: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    """Return the rows for all combinations of the sequences' windows, in the order of `tokenizers`."""
    if len(windows) == 1:
        return [[window] for window in windows[0]]
    (first, *later), seconds = windows
    return [
        [first, seconds[0]],
        *([window, second] for window in later for second in seconds),
        *([first, second] for second in seconds[1:]),
    ]
