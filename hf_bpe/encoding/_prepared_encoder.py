"""Encoding with a normalizer: unchanged text goes straight to the core, other text segment by segment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_bpe._native_core import native_core
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import (
    AddedTokenTuple,
    AnyText,
    Encoder,
    Ids,
    Numbers,
    Options,
    as_str,
    characters_of_bytes,
)
from hf_bpe.encoding._preparation import Preparation, PreparedSegment
from hf_bpe.normalizers._backend import utf8
from hf_bpe.normalizers._steps import SPACE
from hf_bpe.pretokenizers._pattern import WHITE_SPACE

if TYPE_CHECKING:
    import numpy.typing as npt

Encoded = tuple[Ids, Numbers]
"""The ids of texts and their offsets, see `Encoder.encode_to_numpy`."""

_WINDOW = 1 << 16  # characters in which a cut is searched for first
_CHARACTER = 4  # the most bytes of a character
_MAX_CHECKED_IN_PYTHON = 4  # texts
_ADDED, _FIRST, _LATER = range(3)  # kinds of segments: added tokens, the beginning of a text, other text


@dataclass(frozen=True, eq=False)
class PreparedEncoder(Encoder):
    """The `Encoder` of a model with a normalizer or with characters."""

    core: Encoder  # the encoder of the same model without added tokens and normalization
    # What pickle calls, with the model and the added tokens
    rebuild: Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Encoder]
    # What makes the step, of the model and the added tokens
    prepare: Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Preparation] = Preparation.from_model
    added_tokens: tuple[AddedTokenTuple, ...] = ()  # the added tokens
    store: object = None  # a native prefix cache
    preparation: Preparation = field(init=False)  # the step before encoding
    unchanged_encoder: Encoder = field(init=False)  # for text that the step leaves as it is
    segment_encoder: Encoder = field(init=False)  # for the segments of other text
    # Examines natively what is new in a text, and refuses what NFC may change; None if none does
    nfc_checking_encoder: Encoder | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        preparation, core = self.prepare(self.model, self.added_tokens), self.core
        if preparation.replaces_prefix:
            core = core.without_prefix()  # type: ignore[attr-defined]
        unchanged = core.with_added_tokens((*preparation.raw_tokens, *preparation.later_tokens))
        segment = core.with_added_tokens(preparation.later_tokens)
        if self.store is not None:
            unchanged, segment = unchanged.with_prefix_cache(self.store), segment.with_prefix_cache(self.store)
            if preparation.is_checked_natively:
                vars(self).update(nfc_checking_encoder=unchanged.refusing_changes())  # type: ignore[attr-defined]
        vars(self).update(preparation=preparation, unchanged_encoder=unchanged, segment_encoder=segment)

    def __reduce__(self) -> tuple[object, ...]:
        return self.rebuild, (self.model, self.added_tokens)

    @property
    def model(self) -> BPEModel:
        """The model, without added tokens; see `Encoder` for all methods."""
        return self.core.model

    def with_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> PreparedEncoder:
        return replace(self, added_tokens=tokens, store=None)

    def with_prefix_cache(self, store: object) -> PreparedEncoder:
        return replace(self, store=store)

    def is_unchanged(self, text: AnyText, options: Options) -> bool:
        """Return whether the step surely leaves a text as it is."""
        normalizer = self.preparation.normalizer
        if self.store is not None and isinstance(text, str) and normalizer.is_local and not text.isascii():
            # What the cache holds was unchanged, and so is each part of it.
            seen = self.unchanged_encoder.known_characters(text, options)  # type: ignore[attr-defined]
            text = text[normalizer.last_segment(text, seen) :]
        return self.preparation.is_unchanged(text)

    def call_core(self, method: str, texts: list[AnyText], options: Options, *arguments: Any) -> Any:
        """Return what a method of the native core returns; None if it cannot encode the texts as they are."""
        result = self._call_checking_nfc(method, texts, options, *arguments)
        if result is not None:
            return result
        call = getattr(self.unchanged_encoder, method, None)
        return call(texts, options, *arguments) if call and self._are_unchanged(texts, options) else None

    def _are_unchanged(self, texts: list[AnyText], options: Options) -> bool:
        few = range(len(texts)) if len(texts) <= _MAX_CHECKED_IN_PYTHON else self.preparation.changed_texts(texts)
        return all(self.is_unchanged(texts[number], options) for number in few)

    def _call_checking_nfc(self, method: str, *arguments: Any) -> Any:
        if self.nfc_checking_encoder is not None:
            with suppress(native_core().MayNotBeNfc):  # type: ignore[union-attr]
                return getattr(self.nfc_checking_encoder, method)(*arguments)
        return None

    # Text to ids.

    def encode(self, text: AnyText, options: Options) -> list[int]:
        ids: list[int] | None = self._call_checking_nfc("encode", text, options)
        if ids is not None:
            return ids
        if self.is_unchanged(text, options):
            return self.unchanged_encoder.encode(text, options)
        ids = []
        for segment in self.preparation.segments(as_str(text), options):
            if segment.token_id is None:
                segment_options = self._options(options, [(0, segment)], is_first=segment.start == 0)
                ids += self.segment_encoder.encode(segment.data, segment_options)
            else:
                ids.append(segment.token_id)
        return ids

    def encode_to_numpy(self, texts: list[AnyText], options: Options, threads: int) -> Encoded:
        encoded: Encoded | None = self._call_checking_nfc("encode_to_numpy", texts, options, threads)
        if encoded is not None:
            return encoded
        may_change = self.preparation.changed_texts(texts)
        changed = [number for number in may_change if not self.is_unchanged(texts[number], options)]
        if not changed:
            return self.unchanged_encoder.encode_to_numpy(texts, options, threads)

        def encode(numbers: list[int], are_changed: int) -> Encoded:
            encode = self._encode_segments if are_changed else self.unchanged_encoder.encode_to_numpy
            chosen_options = options.for_parts((number, 0) for number in numbers)
            return encode([texts[number] for number in numbers], chosen_options, threads)

        return encode_each(are_among(changed, len(texts)), encode)

    def _encode_segments(self, texts: list[AnyText], options: Options, threads: int) -> Encoded:
        prepared = [[*self.preparation.segments(as_str(text), options)] for text in texts]
        segments = [(number, segment) for number, text_segments in enumerate(prepared) for segment in text_segments]
        are_alike = not (self.preparation.tells_starts or options.continued)
        kinds = [
            _ADDED if segment.token_id is not None else _FIRST if are_alike or segment.start == 0 else _LATER
            for _, segment in segments
        ]

        def encode(chosen: list[int], kind: int) -> Encoded:
            these = [segments[at] for at in chosen]
            if kind == _ADDED:
                return np.array([segment.token_id for _, segment in these], np.uint32), np.arange(len(these) + 1)
            chosen_options = self._options(options, these, is_first=kind == _FIRST)
            # All in one batch, which threads may share.
            return self.segment_encoder.encode_to_numpy([segment.data for _, segment in these], chosen_options, threads)

        ids, offsets = encode_each(np.array(kinds, np.uint8), encode)
        return ids, offsets[np.cumsum([0, *map(len, prepared)])]

    def _options(self, options: Options, segments: list[tuple[int, PreparedSegment]], *, is_first: bool) -> Options:
        """Return the options of segments, each given with the number of its text; with `is_first` they begin texts."""
        options = options.for_parts((number, segment.position) for number, segment in segments)
        return options if is_first else options._replace(continued=self.preparation.tells_starts)

    def encode_with_offsets(self, texts: list[AnyText], options: Options) -> tuple[Ids, Numbers, Numbers]:
        if self._are_unchanged(texts, options):
            return self.unchanged_encoder.encode_with_offsets(texts, options)
        rows = [self._row_with_offsets(text, options.for_parts([(index, 0)])) for index, text in enumerate(texts)]
        offsets = np.array([0, *accumulate(len(ids) for ids, _ in rows)], np.int64)
        return np.concatenate([ids for ids, _ in rows]), offsets, np.concatenate([places for _, places in rows])

    def _row_with_offsets(self, text: AnyText, options: Options) -> tuple[Ids, Numbers]:
        """Return the ids of a text and their offsets, see `Encoder.encode_with_offsets`."""
        if self.is_unchanged(text, options):
            ids, _, places = self.unchanged_encoder.encode_with_offsets([text], options)
            return ids, places
        repaired = as_str(text)
        sizes = _character_sizes(repaired)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        all_ids, all_places = [np.empty(0, np.uint32)], [np.empty((0, 3), np.int64)]  # in bytes of the repaired text
        part = 0  # of the next segment
        for segment in self.preparation.segments(repaired, options, aligned=True):
            if segment.token_id is not None:
                ids = np.array([segment.token_id], np.uint32)
                places = np.array([[offsets[segment.start], offsets[segment.stop], 0]])
            else:
                segment_options = self._options(options, [(0, segment)], is_first=segment.start == 0)
                ids, _, places = self.segment_encoder.encode_with_offsets([segment.data], segment_options)
                places[:, 0] = offsets[segment.start] + np.asarray(segment.begins)[places[:, 0]]
                places[:, 1] = offsets[segment.start] + np.asarray(segment.ends)[places[:, 1] - 1]
            places[:, 2] += part
            part = int(places[-1, 2]) + 1 if len(places) > 0 else part
            all_ids.append(ids)
            all_places.append(places)
        places = np.concatenate(all_places)
        if isinstance(text, str):
            if repaired == text:
                begins_of = np.arange(len(text)).repeat(sizes)
                ends_of = begins_of + 1
            else:
                begins_of, ends_of = map(np.array, characters_of_bytes(text))
            places[:, 0], places[:, 1] = begins_of[places[:, 0]], ends_of[places[:, 1] - 1]
        return np.concatenate(all_ids), places

    # Where text may be cut.

    def find_last_cut(self, data: bytes, options: Options) -> int:
        preparation, text = self.preparation, as_str(data)
        if preparation.prepends:
            return 0  # normalizing would put something before what follows a cut
        # Later text may complete the last character and the last token, compose with the last segment, and be a token
        # that strips the preceding white space. The text before that is normalized and split as it is now.
        longest = max((len(token.content) for token in preparation.raw_tokens), default=0)
        end = preparation.normalizer.last_segment(text, len(text) - _CHARACTER - longest)
        head = text[:end].rstrip(WHITE_SPACE)
        if preparation.is_unchanged(head):
            return self.unchanged_encoder.find_last_cut(utf8(head), options)
        spans = preparation.splitter.spans(text, split_special_tokens=options.split_special_tokens)
        forbidden = preparation.splitter.forbidden_cuts(text, 1, len(head))
        for start, stop, added in reversed(spans):
            cut = start if added is not None else start + self._cut_in(head[start:stop], options)
            if added is None and cut == start and not self.model.alphabet.is_bytes:
                continue  # a space may be put before the segment, but not before the rest of one
            if 0 < cut < len(head) and cut not in forbidden:
                return len(utf8(text[:cut]))
        return 0

    def _cut_in(self, stretch: str, options: Options) -> int:
        """Return the last position at which a cut lets both parts be normalized alone; 0 if there is none."""
        normalizer = self.preparation.normalizer
        if not normalizer.is_local:
            return 0
        longest = max((len(token.content.encode()) for token in self.preparation.later_tokens), default=0)
        width = _WINDOW
        while stretch:
            start = normalizer.last_segment(stretch, len(stretch) - width)
            data, begins, ends = normalizer.align_segments(stretch[start:])
            # A token that begins before the window is not seen there.
            minimum = longest + _CHARACTER if start > 0 else 0
            cut = self.segment_encoder.find_last_cut(data, options)
            while cut > minimum and ends[cut - 1] > begins[cut]:  # inside a part that normalization changed
                cut = self.segment_encoder.find_last_cut(data[:cut], options)
            if cut > minimum:
                return start + len(as_str(utf8(stretch[start:])[: begins[cut]]))
            if start == 0:
                break
            width *= 8
        return 0

    def merge_words(self, words: list[bytes], unknown_id: int) -> tuple[Ids, Numbers]:
        if self.preparation.reads_spaces:
            words = [word.replace(SPACE.encode(), b" ") for word in words]
        return self.core.merge_words(words, unknown_id)


def normalized_size(encoder: Encoder, text: bytes, options: Options) -> int:
    """Return the number of bytes of a text after normalization, in which dropout counts positions."""
    if not isinstance(encoder, PreparedEncoder) or encoder.is_unchanged(text, options):
        return len(text)
    return sum(len(segment.data) for segment in encoder.preparation.segments(as_str(text), options))


def are_among(numbers: Sequence[int] | Numbers, size: int) -> npt.NDArray[np.uint8]:
    """Return for each number below a size 1 if it is among some numbers, else 0."""
    flags = np.zeros(size, np.uint8)
    flags[numbers] = 1
    return flags


def encode_each(kinds: npt.NDArray[np.uint8], encode: Callable[[list[int], int], Encoded]) -> Encoded:
    """Return the ids of texts in their order; `encode` gets the numbers of the texts of each kind, and the kind."""
    existing = np.flatnonzero(np.bincount(kinds)).tolist()  # np.unique would import numpy.ma
    if len(existing) == 1:
        return encode([*range(len(kinds))], existing[0])
    sizes, results = np.zeros(len(kinds), np.int64), {}
    for kind in existing:
        results[kind], offsets = encode(np.flatnonzero(kinds == kind).tolist(), kind)
        sizes[kinds == kind] = np.diff(offsets)
    joined, kinds_of_ids = np.empty(sizes.sum(), np.uint32), np.repeat(kinds, sizes)
    for kind, ids in results.items():
        joined[kinds_of_ids == kind] = ids
    return joined, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])


def _character_sizes(text: str) -> Numbers:
    """Return the number of bytes of each character; a surrogate stands for one byte."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xD800) & (codes < 0xE000)] = 1
    return sizes
