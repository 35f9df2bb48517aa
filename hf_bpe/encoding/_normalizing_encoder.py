"""Encoders of models with a normalizer, as a wrapper of encoders that know none.

Text that normalization leaves as it is, is passed on unchanged. In other text, each segment between the added tokens
that are found in the raw text (`normalized=False`) is normalized and encoded by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, compress
from typing import TYPE_CHECKING, Any

import numpy as np

from hf_bpe._native_core import native_core
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._added_tokens import AddedTokenSplitter
from hf_bpe.encoding._encoder import (
    AddedTokenTuple,
    AnyText,
    Encoder,
    Ids,
    Numbers,
    Options,
    as_str,
    characters_of_bytes,
    make_splitter,
)
from hf_bpe.encoding._mixed_texts import Encoded, encode_each
from hf_bpe.encoding._normalized_tokens import normalized_tokens
from hf_bpe.normalizers._backend import utf8
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.pretokenizers._pattern import WHITE_SPACE

if TYPE_CHECKING:
    from typing_extensions import Buffer, Self

Part = bytes | int
"""A segment of normalized text, or the id of an added token."""

DropoutPlace = tuple[int, int]
"""The number of a text and a position in it, see `Dropout.places`."""

Rebuild = Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Encoder]

_WINDOW = 1 << 16  # characters in which a cut is searched for first
_CHARACTER = 4  # the most bytes of a character
_FEW = 4  # texts that Python checks as fast as the native core


class NormalizingEncoder(Encoder):
    """The `Encoder` of a model with a normalizer.

    Args:
        raw: the encoder of the same model without normalization.
        rebuild: what pickle calls, with the model and the added tokens.
        added_tokens: the added tokens.
        normalizer: what `raw` needs instead of the model's normalizer.
        searches_raw_text: whether all added tokens are searched in text before it is normalized.
    """

    def __init__(
        self,
        raw: Encoder,
        rebuild: Rebuild,
        added_tokens: tuple[AddedTokenTuple, ...] = (),
        *,
        normalizer: Normalizer | None = None,
        searches_raw_text: bool = False,
    ) -> None:
        self._raw = raw.with_added_tokens(added_tokens)
        self._normalizer = raw.model.normalization if normalizer is None else normalizer
        self._rebuild = rebuild
        self._added_tokens = added_tokens
        self._raw_tokens = tuple(token for token in added_tokens if searches_raw_text or not token.normalized)
        normalized = {} if searches_raw_text else normalized_tokens(added_tokens, self._normalizer)
        self._stretches = raw.with_added_tokens(tuple(normalized.values()))
        self._whole = raw.with_added_tokens((*self._raw_tokens, *normalized.values()))
        # An encoder has one token for each content. If tokens of both kinds share one, all text is encoded in segments.
        self._is_clear = normalized.keys().isdisjoint(token.content for token in self._raw_tokens)
        metaspace = raw.model.pre_tokenizer.metaspace
        self._tells_starts = metaspace is not None and metaspace.prepend_scheme == "first"
        self._looks_up = False
        self._refusing: Any = None  # what encodes like `_whole`, and refuses text that NFC may change
        self._longest_raw = max((len(token.content) for token in self._raw_tokens), default=0)
        self._longest_normalized = max((len(content.encode()) for content in normalized), default=0)

    def __reduce__(self) -> tuple[object, ...]:
        return self._rebuild, (self.model, self._added_tokens)

    @property
    def model(self) -> BPEModel:
        """The model, without added tokens; see `Encoder` for all methods."""
        return self._raw.model

    @property
    def lacks_bytes(self) -> bool:
        return self._raw.lacks_bytes

    def with_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> NormalizingEncoder:
        return NormalizingEncoder(self._raw, self._rebuild, tokens)

    def with_prefix_cache(self, store: Any) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._whole, other._looks_up = self._whole.with_prefix_cache(store), True
        other._stretches = self._stretches.with_prefix_cache(store)
        if self._normalizer.is_nfc and self._is_clear:
            other._refusing = getattr(other._whole, "refusing_changes", lambda: None)()
        return other

    def _encode_at_once(self, method: str, *arguments: Any) -> Any:
        """Call a method of an encoder that looks texts up once, and examines natively what is new; None for no result.

        There is none if normalization may change a text.
        """
        if self._refusing is None:
            return None
        try:
            return getattr(self._refusing, method)(*arguments)
        except native_core().MayNotBeNfc:  # type: ignore[union-attr]
            return None

    # Text to ids.

    def encode(self, text: AnyText, options: Options) -> list[int]:
        ids: list[int] | None = self._encode_at_once("encode", text, options)
        if ids is not None:
            return ids
        parts = self._parts(text, options)
        if parts is None:
            return self._whole.encode(text, options)
        places = self._places(text, parts, options, 0)
        rows = [
            [part]
            if isinstance(part, int)
            else self._stretches.encode(part, self._of_part(options.at([place]), number))
            for number, (part, place) in enumerate(zip(parts, places, strict=True))
        ]
        return [token_id for row in rows for token_id in row]

    def encode_batch(self, texts: list[AnyText], options: Options, threads: int) -> list[list[int]]:
        lists: list[list[int]] | None = self._encode_at_once("encode_batch", texts, options, threads)
        if lists is not None:
            return lists
        rows = self._rows(texts, options, threads)
        if rows is None:
            return self._whole.encode_batch(texts, options, threads)
        return [row.tolist() for row in rows]

    def encode_to_numpy(self, texts: list[AnyText], options: Options, threads: int) -> Encoded:
        encoded: Encoded | None = self._encode_at_once("encode_to_numpy", texts, options, threads)
        if encoded is not None:
            return encoded
        native = self._native_check
        changed: Numbers | None = None if native is None else native.texts_beyond_nfc(texts)

        def encode_whole(places: Numbers, of_these: Options) -> Encoded:
            return self._whole.encode_to_numpy([texts[place] for place in places], of_these, threads)

        def encode_changed(places: Numbers, of_these: Options) -> Encoded:
            return self._encode_rows([texts[place] for place in places], of_these, threads)

        if changed is None:
            return self._encode_rows(texts, options, threads)
        if len(changed) == 0:
            return self._whole.encode_to_numpy(texts, options, threads)
        return encode_each(len(texts), changed, options, encode_changed, encode_whole)

    def encode_utf8(self, data: Buffer, begins: Numbers, ends: Numbers, options: Options, threads: int) -> Encoded:
        changed = self._find_changes_in(data, begins, ends)

        def encode_whole(places: Numbers, of_these: Options) -> Encoded:
            return self._whole.encode_utf8(data, begins[places], ends[places], of_these, threads)

        def encode_changed(places: Numbers, of_these: Options) -> Encoded:
            return super(NormalizingEncoder, self).encode_utf8(data, begins[places], ends[places], of_these, threads)

        if changed is None:
            return super().encode_utf8(data, begins, ends, options, threads)
        if len(changed) == 0:
            return self._whole.encode_utf8(data, begins, ends, options, threads)
        return encode_each(len(begins), changed, options, encode_changed, encode_whole)

    def _find_changes_in(self, data: Buffer, begins: Numbers, ends: Numbers) -> Numbers | None:
        """Return the numbers of the texts that normalization may change; None if only `_is_whole` tells."""
        native = self._native_check
        numbers: Numbers | None = None if native is None else native.spans_beyond_nfc(data, begins, ends)
        return numbers

    @cached_property
    def _native_check(self) -> Any:
        """The native core, if all that normalization does is what it can check."""
        return native_core() if self._normalizer.is_nfc and self._is_clear else None

    def _encode_rows(self, texts: list[AnyText], options: Options, threads: int) -> Encoded:
        rows = self._rows(texts, options, threads)
        if rows is None:
            return self._whole.encode_to_numpy(texts, options, threads)
        return np.concatenate(rows), np.array([0, *accumulate(map(len, rows))], np.int64)

    def count_tokens(self, texts: list[AnyText], options: Options, threads: int) -> list[int]:
        rows = self._rows(texts, options, threads)
        return self._whole.count_tokens(texts, options, threads) if rows is None else [*map(len, rows)]

    def encode_with_offsets(self, texts: list[AnyText], options: Options) -> tuple[Ids, Numbers, Numbers]:
        if self._are_whole(texts, options):
            return self._whole.encode_with_offsets(texts, options)
        rows = [self._row_with_offsets(text, options.for_text(index)) for index, text in enumerate(texts)]
        offsets = np.array([0, *accumulate(len(ids) for ids, _ in rows)], np.int64)
        return np.concatenate([ids for ids, _ in rows]), offsets, np.concatenate([places for _, places in rows])

    def _are_whole(self, texts: list[AnyText], options: Options) -> bool:
        native = self._native_check if len(texts) > _FEW else None
        if native is not None and len(native.texts_beyond_nfc(texts)) == 0:
            return True
        return all(self._is_whole(text, options) for text in texts)

    def _is_whole(self, text: AnyText, options: Options) -> bool:
        """True if a text gives the same ids without normalization: if it is normalized, so is each segment."""
        if not self._is_clear or not isinstance(text, (str, bytes)):
            return self._is_clear  # the encoder refuses anything that is not text
        if self._looks_up and isinstance(text, str) and self._normalizer.is_local and not text.isascii():
            # What the cache holds was unchanged, and so is each part of it.
            seen = self._whole.known_characters(text, options)
            text = text[self._normalizer.last_segment(text, seen) :]
        return self._normalizer.is_unchanged(as_str(text))

    def _parts(self, text: AnyText, options: Options) -> list[Part] | None:
        """Return the normalized segments and the added tokens of a text; None if it may be encoded unchanged."""
        if self._is_whole(text, options):
            return None
        parts = self._splitter.split(as_str(text), split_special_tokens=options.split_special_tokens)
        return [part if isinstance(part, int) else utf8(self._normalizer.apply(part)) for part in parts]

    def _rows(self, texts: list[AnyText], options: Options, threads: int) -> list[Ids] | None:
        """Return the ids of each text; None if all may be encoded unchanged."""
        if self._are_whole(texts, options):
            return None
        parts = [self._parts(text, options) for text in texts]
        whole = [index for index, segments in enumerate(parts) if segments is None]
        stretches: list[AnyText] = []
        places: list[DropoutPlace] = []
        starts: list[bool] = []  # whether the stretch is the beginning of a text
        for index, segments in enumerate(parts):
            if segments is None:
                continue
            for number, (part, place) in enumerate(
                zip(segments, self._places(texts[index], segments, options, index), strict=True)
            ):
                if isinstance(part, bytes):
                    stretches.append(part)
                    places.append(place)
                    starts.append(number == 0)
        # All in one batch, which threads may share.
        of_texts = options.at([] if options.dropout is None else [options.dropout.place(index) for index in whole])
        of_whole = _split_rows(self._whole.encode_to_numpy([texts[index] for index in whole], of_texts, threads))
        of_stretches = self._encode_stretches(stretches, starts, places, options, threads)

        def make_row(parts: list[Part]) -> Ids:
            rows = [np.array([part], np.uint32) if isinstance(part, int) else next(of_stretches) for part in parts]
            return np.concatenate([np.empty(0, np.uint32), *rows])

        return [next(of_whole) if segments is None else make_row(segments) for segments in parts]

    def _encode_stretches(
        self, stretches: list[AnyText], starts: list[bool], places: list[DropoutPlace], options: Options, threads: int
    ) -> Iterator[Ids]:
        if not (self._tells_starts or options.continued):
            return _split_rows(self._stretches.encode_to_numpy(stretches, options.at(places), threads))

        def rows_where(is_start: bool) -> Iterator[Ids]:
            chosen = [flag is is_start for flag in starts]
            part = self._of_part(options.at([*compress(places, chosen)]), int(not is_start))
            return _split_rows(self._stretches.encode_to_numpy([*compress(stretches, chosen)], part, threads))

        of_starts, of_others = rows_where(True), rows_where(False)
        return (next(of_starts if is_start else of_others) for is_start in starts)

    def _of_part(self, options: Options, number: int) -> Options:
        """Return the options of a part of a text; `number` is 0 for that at its beginning."""
        if number == 0:
            return options
        return options._replace(continued=self._tells_starts)  # else it is the beginning of a segment

    def _places(self, text: AnyText, parts: list[Part], options: Options, index: int) -> list[DropoutPlace]:
        """Return the place of each part of a text for `Dropout`; all the same without dropout."""
        if options.dropout is None:
            return [(0, 0)] * len(parts)
        sizes = self._sizes(as_str(text), parts, options)
        number, position = options.dropout.place(index)
        return [(number, position + end - size) for end, size in zip(accumulate(sizes), sizes, strict=True)]

    def normalized_size(self, text: AnyText, options: Options) -> int:
        """Return the number of bytes of a text after normalization, in which dropout counts positions."""
        parts = self._parts(text, options)
        return len(utf8(as_str(text))) if parts is None else sum(self._sizes(as_str(text), parts, options))

    def _sizes(self, repaired: str, parts: list[Part], options: Options) -> list[int]:
        spans = self._splitter.spans(repaired, split_special_tokens=options.split_special_tokens)
        return [
            len(part) if isinstance(part, bytes) else len(utf8(repaired[start:stop]))
            for part, (start, stop, _) in zip(parts, spans, strict=True)
        ]

    def _row_with_offsets(self, text: AnyText, options: Options) -> tuple[Ids, Numbers]:
        """Return the ids of a text and their offsets, see `Encoder.encode_with_offsets`."""
        if self._is_whole(text, options):
            ids, _, places = self._whole.encode_with_offsets([text], options)
            return ids, places
        repaired = as_str(text)
        sizes = _character_sizes(repaired)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        all_ids, all_places = [np.empty(0, np.uint32)], [np.empty((0, 3), np.int64)]  # in bytes of the repaired text
        part = position = 0  # of the next part, and of its first byte in the normalized text
        for start, stop, added in self._splitter.spans(repaired, split_special_tokens=options.split_special_tokens):
            if added is not None:
                ids, places = np.array([added], np.uint32), np.array([[offsets[start], offsets[stop], 0]])
                position += int(offsets[stop] - offsets[start])
            else:
                data, begins, ends = self._normalizer.align(repaired[start:stop])
                ids, _, places = self._stretches.encode_with_offsets(
                    [data], self._of_part(options.after(position), start)
                )
                position += len(data)
                places[:, 0] = offsets[start] + np.asarray(begins)[places[:, 0]]
                places[:, 1] = offsets[start] + np.asarray(ends)[places[:, 1] - 1]
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

    @cached_property
    def _splitter(self) -> AddedTokenSplitter:
        return make_splitter(self._raw_tokens)

    # Where text may be cut.

    def find_last_cut(self, data: bytes, options: Options) -> int:
        text = as_str(data)
        # Later text may complete the last character and the last token, compose with the last segment, and be a token
        # that strips the preceding white space. The text before that is normalized and split as it is now.
        end = self._normalizer.last_segment(text, len(text) - _CHARACTER - self._longest_raw)
        head = text[:end].rstrip(WHITE_SPACE)
        if self._is_clear and self._normalizer.is_unchanged(head):
            return self._whole.find_last_cut(utf8(head), options)
        spans = self._splitter.spans(text, split_special_tokens=options.split_special_tokens)
        forbidden = self._splitter.forbidden_cuts(text, 1, len(head))
        for start, stop, added in reversed(spans):
            cut = start if added is not None else start + self._cut_in(head[start:stop], options)
            if added is None and cut == start and not self.model.alphabet.is_bytes:
                continue  # a space may be put before the segment, but not before the rest of one
            if 0 < cut < len(head) and cut not in forbidden:
                return len(utf8(text[:cut]))
        return 0

    def _cut_in(self, stretch: str, options: Options) -> int:
        """Return the last position at which a cut lets both parts be normalized alone; 0 if there is none."""
        if not self._normalizer.is_local:
            return 0
        width = _WINDOW
        while stretch:
            start = self._normalizer.last_segment(stretch, len(stretch) - width)
            data, begins, ends = self._normalizer.align_segments(stretch[start:])
            # A token that begins before the window is not seen there.
            minimum = self._longest_normalized + _CHARACTER if start > 0 else 0
            cut = self._stretches.find_last_cut(data, options)
            while cut > minimum and ends[cut - 1] > begins[cut]:  # inside a part that normalization changed
                cut = self._stretches.find_last_cut(data[:cut], options)
            if cut > minimum:
                return start + len(as_str(utf8(stretch[start:])[: begins[cut]]))
            if start == 0:
                break
            width *= 8
        return 0

    # Ids to rows and text.

    def call_core(self, method: str, texts: list[AnyText], options: Options, *arguments: Any) -> Any:
        """Call a method of the core's encoder; None if normalization may change a text, or there is no such encoder."""
        result = self._refusing and self._encode_at_once(method, texts, options, *arguments)
        if result is not None or not self._are_whole(texts, options):
            return result
        encode = getattr(self._whole, method, None)
        return None if encode is None else encode(texts, options, *arguments)

    def merge_words(self, words: list[bytes], unknown_id: int) -> tuple[Ids, Numbers]:
        return self._raw.merge_words(words, unknown_id)

    def last_merges(self, words: list[bytes]) -> Numbers | None:
        return self._raw.last_merges(words)

    def decode(self, ids: Sequence[int], skipped: bytes) -> bytes:
        return self._raw.decode(ids, skipped)

    def decode_text(self, ids: Sequence[int], skipped: bytes, errors: str) -> str:
        return self._raw.decode_text(ids, skipped, errors)

    def decode_batch(self, rows: list[Sequence[int]], skipped: bytes, errors: str) -> list[str]:
        return self._raw.decode_batch(rows, skipped, errors)


def normalized_size(encoder: Encoder, text: bytes, options: Options) -> int:
    """Return the number of bytes of a text after the normalization of an encoder."""
    return encoder.normalized_size(text, options) if isinstance(encoder, NormalizingEncoder) else len(text)


def _character_sizes(text: str) -> Numbers:
    """Return the number of bytes of each character; a surrogate stands for one byte."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    sizes = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
    sizes[(codes >= 0xD800) & (codes < 0xE000)] = 1
    return sizes


def _split_rows(encoded: tuple[Ids, Numbers]) -> Iterator[Ids]:
    ids, offsets = encoded
    return iter(np.split(ids, offsets[1:-1]))
