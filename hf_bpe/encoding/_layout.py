"""The layout of a batch: rows of ids with a template, truncation, overflowing windows and padding, as lists or arrays.

Truncation follows `tokenizers` (truncation.rs and encoding.rs of tokenizers 0.23). transformers' Python tokenizers
differ from it in two points: in a pair truncated to an odd length the second sequence keeps one id more, and a sequence
that is too short for the truncation is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from hf_bpe._native_core import native_core
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.encoding._encoder import Ids, Numbers, TemplateIds

Value = TypeVar("Value")

MAX_IDS = 1 << 40  # in a row; no memory holds as many
NO_ID = -1  # without padding no pad id is needed

Limit = tuple[int, bool]
"""The most ids of a row, and whether truncation removes the first ids."""

RowShape = tuple[TemplateIds, Limit | None, "Padding | None"]
"""The special-token ids around the only sequence of a row, and how rows are truncated and padded, if they are."""

RowLists = tuple[list[list[int]], list[list[int]]]
"""Rows of ids, and for each a row that is 1 where there is an id and 0 where there is padding."""

RowArrays = tuple[Numbers, Numbers]
"""Rows of ids and their masks as arrays of two dimensions."""


class Padding(NamedTuple):
    """Padding of rows."""

    # The length to which rows are padded, None for that of the longest; a row that is longer stays as it is
    length: int | None
    pad_id: int  # the id that fills a row
    is_left: bool  # whether the padding is on the left


@dataclass(frozen=True)
class Layout:
    """Rows of one or two sequences each."""

    ids: Ids  # the ids of all sequences
    spans: Numbers  # the begin and end of each sequence in `ids`, of shape (rows, sequences, 2)
    template: TemplateIds  # the special-token ids before the first sequence and after each
    width: int | None = None  # the length to which rows are padded, None for no padding
    pads_left: bool = False  # whether the padding is on the left
    pad_id: int = NO_ID

    @classmethod
    def from_offsets(cls, ids: Ids, offsets: Numbers, per_row: int, template: TemplateIds) -> Layout:
        """Return rows of sequences, neither truncated nor padded, that begin at the offsets and end at the last."""
        return cls(ids, np.stack([offsets[:-1], offsets[1:]], axis=1).reshape(-1, per_row, 2), template)

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

        Windows overlap by `stride` ids. A ValueError if the strategy cannot cut enough, or the stride is too large.
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

    def padded(self, padding: Padding, multiple_of: int | None = None) -> Layout:
        """Return the layout with padding, to a length that is rounded up to a multiple."""
        width = self.longest if padding.length is None else padding.length
        if multiple_of is not None:
            width = -(-width // multiple_of) * multiple_of
        if width >= MAX_IDS:
            raise ValueError(f"padding to {width} ids: expected a max_length that memory can hold")
        return replace(self, width=width, pads_left=padding.is_left, pad_id=padding.pad_id)

    def arranged(self, limit: Limit | None, padding: Padding | None) -> Layout:
        """Return the layout of rows of one sequence truncated and padded."""
        layout = self if limit is None else self.truncated(limit[0], "longest_first", from_left=limit[1])
        return layout if padding is None else layout.padded(padding)

    def to_lists(self) -> RowLists:
        """Return the rows with special tokens and padding, and their masks."""
        native = native_core()
        if native is not None:
            lists: RowLists = native.rows_to_lists(*self._native_arguments(self.width or 0))
            return lists
        rows = range(len(self.spans))
        return [*map(self.row, rows)], [*map(self.mask, rows)]

    def to_arrays(self) -> RowArrays | None:
        """Return the rows and masks of `to_lists` as arrays; None if they are no rectangle."""
        width, native = max(self.longest, self.width or 0), native_core()
        if (self.padded_lengths != width).any():
            return None
        if native is not None:
            arrays: RowArrays = native.rows_to_arrays(*self._native_arguments(width))
            return arrays
        shape = len(self.spans), width
        rows, masks = (np.array(lists, np.int64).reshape(shape) for lists in self.to_lists())
        return rows, masks

    def _native_arguments(self, width: int) -> tuple[object, ...]:
        return self.ids, self.spans, self.template, width, self.pad_id, self.pads_left

    def row(self, row: int) -> list[int]:
        """Return the ids of a row."""
        ids = [*self.template[0]]
        for (begin, end), after in zip(self.spans[row].tolist(), self.template[1:], strict=True):
            ids += [*self.ids[begin:end].tolist(), *after]
        return self.filled_up(ids, self.pad_id)

    def mask(self, row: int) -> list[int]:
        """Return 1 for each id of a row and 0 for padding."""
        return self.filled_up([1] * int(self.lengths[row]), 0)

    def column(self, special: Value, sequences: Sequence[list[Value]], padding: Value) -> list[Value]:
        """Return a value for each id of a row: `special`, the values of each sequence, and `padding`."""
        values = [special] * len(self.template[0])
        for of_sequence, after in zip(sequences, self.template[1:], strict=True):
            values += of_sequence
            values += [special] * len(after)
        return self.filled_up(values, padding)

    def filled_up(self, values: list[Value], padding: Value) -> list[Value]:
        """Return the values of a row with padding up to the width; a row that is wider stays as it is."""
        missing = [padding] * ((self.width or 0) - len(values))
        return missing + values if self.pads_left else values + missing


def pad_columns(
    columns: Mapping[str, list[list[int]]], length: int, pad_id: int, is_left: bool
) -> dict[str, Numbers] | None:
    """Return ids and masks of the same rows, by their names, as arrays padded to a length.

    The masks are made if none are given. None if a row is longer or not of ints, or there is no core.
    """
    native = native_core()
    if native is None:
        return None
    data: dict[str, Numbers] = {}
    for name, rows in columns.items():
        array = native.pad_rows(rows, length, pad_id if name == "input_ids" else 0, is_left)
        if array is None:
            return None
        data[name] = array
    if "attention_mask" not in data:
        places, sizes = np.arange(length), np.array([*map(len, columns["input_ids"])])[:, None]
        mask = places >= length - sizes if is_left else places < sizes
        data["attention_mask"] = mask.astype(np.int64)
    return data


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
    sequences: list[list[int]], excess: int, strategy: str, stride: int, *, from_left: bool
) -> tuple[list[list[int]], list[int]]:
    """Return sequences with `excess` fewer ids in all, and the overflowing ids with `stride` ids of overlap."""
    lengths = np.array([[*map(len, sequences)]], np.int64)
    kept = kept_lengths(lengths, int(lengths.sum()) - excess, strategy)[0].tolist()
    left: list[list[int]] = []
    overflowing: list[int] = []
    for sequence, size in zip(sequences, kept, strict=True):
        cut = len(sequence) - size
        left.append(sequence[cut:] if from_left else sequence[:size])
        if cut and not (len(sequences) == 2 and strategy == "longest_first"):
            overflowing += sequence[: cut + stride] if from_left else sequence[max(size - stride, 0) :]
    return left, overflowing


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
