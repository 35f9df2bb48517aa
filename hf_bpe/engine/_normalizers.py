"""NFC normalization before text is split, as in `tokenizers`, as a wrapper of encoders.

Nearly all text is in NFC already and is passed on unchanged. In other text, each segment between the added tokens that
are found in the raw text (`normalized=False`) is normalized and encoded by itself.

`tokenizers` normalizes by Unicode 9.0, Python by a newer version. Normalization of assigned characters is stable, so
text that is normalized for Python is normalized for `tokenizers`; other text is left to `tokenizers`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
import regex

from hf_bpe._utils.arguments import check_choice
from hf_bpe.core._model import NORMALIZERS, BPEModel, CheckedMerges
from hf_bpe.core.pretokenizers import WHITE_SPACE
from hf_bpe.engine._added_tokens import AddedTokenSplitter
from hf_bpe.engine._encoder import (
    AddedTokenTuple,
    AnyText,
    Encoder,
    Ids,
    Numbers,
    Options,
    Padding,
    TemplateIds,
    as_str,
    characters_of_bytes,
    splitter_of,
)
from hf_bpe.engine._token_finder import TokenFinder

Part = bytes | int
"""A segment of normalized text, or the id of an added token."""

Rebuild = Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Encoder]

_NO_SURROGATES = re.compile("[^\ud800-\udfff]+")
# Characters that may compose or reorder with preceding ones: marks, vowels and finals of Korean syllables. Nothing
# composes across two segments.
_JOINED = r"[\p{M}\u1161-\u1175\u11a8-\u11c2]"
_IS_JOINED = regex.compile(_JOINED)
_SEGMENT = regex.compile(rf"(?s:.){_JOINED}*+")
_WINDOW = 1 << 16  # characters in which a cut is searched for first
_CHARACTER = 4  # the most bytes of a character


def to_nfc(text: str) -> str:
    r"""Normalize text to NFC as `tokenizers` does, which is by Unicode 9.0; surrogates stay unchanged.

    >>> to_nfc("e\u0301") == "\xe9"
    True
    """
    if _is_nfc(text):
        return text
    from tokenizers import normalizers  # takes time to import, and most text does not need it

    normalize = normalizers.NFC().normalize_str
    return _NO_SURROGATES.sub(lambda match: str(normalize(match[0])), text)


class NormalizedTexts:
    r"""An iterable of texts, or lists of texts, normalized to NFC except for their special tokens, to train on.

    Args:
        texts: str, or lists of str; other elements stay unchanged.
        special_tokens: the special tokens at which text will be split.

    >>> list(NormalizedTexts(["o\u0308<x>\u0308", ["u\u0308"]], ["<x>"])) == ["\xf6<x>\u0308", ["\xfc"]]
    True
    """

    def __init__(self, texts: Iterable[Any], special_tokens: Iterable[str] = ()) -> None:
        self._texts = texts
        self._special_tokens = TokenFinder(special_tokens)

    def __iter__(self) -> Iterator[Any]:
        for text in self._texts:
            yield [*map(self._normalized, text)] if isinstance(text, (list, tuple)) else self._normalized(text)

    def _normalized(self, text: Any) -> Any:
        if not isinstance(text, str):
            return text
        parts, end = [], 0
        for start, token in self._special_tokens.find_all(text):
            parts += [to_nfc(text[end:start]), token]
            end = start + len(token)
        return "".join([*parts, to_nfc(text[end:])])


def checked_normalizer(normalizer: str | None, texts: object) -> str | None:
    """Return the normalizer to train with; raise a ValueError if the texts are not normalized."""
    check_choice("normalizer", normalizer, NORMALIZERS)
    if normalizer is not None and not isinstance(texts, NormalizedTexts):
        raise ValueError(
            f"normalizer={normalizer!r}: counting does not normalize text, but encoding would; "
            "normalize the texts first, with hf_bpe.engine.NormalizedTexts(texts, special_tokens)"
        )
    return normalizer


def with_normalizer(model: BPEModel, normalizer: str | None) -> BPEModel:
    """Return the model with a normalizer."""
    if normalizer == model.normalizer:
        return model
    return replace(model, merges=CheckedMerges(model.merges), normalizer=normalizer)


class NormalizingEncoder(Encoder):
    """The `Encoder` of a model with a normalizer.

    Args:
        raw: the encoder of the same model without normalization.
        rebuild: what pickle calls, with the model and the added tokens.
    """

    def __init__(self, raw: Encoder, rebuild: Rebuild, added_tokens: tuple[AddedTokenTuple, ...] = ()) -> None:
        self._raw = raw.with_added_tokens(added_tokens)
        self._rebuild = rebuild
        self._added_tokens = added_tokens
        self._raw_tokens = tuple(token for token in added_tokens if not token.normalized)
        # `tokenizers` also normalizes the tokens that it searches in normalized text. Of tokens that become equal it
        # finds an arbitrary one; here it is the one with the lowest id.
        normalized: dict[str, AddedTokenTuple] = {}
        for token in sorted(added_tokens, key=lambda token: token.id):
            if token.normalized:
                content = to_nfc(token.content)
                normalized.setdefault(content, token._replace(content=content))
        self._stretches = raw.with_added_tokens(tuple(normalized.values()))
        self._whole = raw.with_added_tokens((*self._raw_tokens, *normalized.values()))
        # An encoder has one token for each content. If tokens of both kinds share one, all text is encoded in segments.
        self._is_clear = normalized.keys().isdisjoint(token.content for token in self._raw_tokens)
        self._longest_raw = max((len(token.content) for token in self._raw_tokens), default=0)
        self._longest_normalized = max((len(content.encode()) for content in normalized), default=0)

    def __reduce__(self) -> tuple[object, ...]:
        return self._rebuild, (self.model, self._added_tokens)

    @property
    def model(self) -> BPEModel:
        """As `Encoder` says, here and below."""
        return self._raw.model

    @property
    def lacks_bytes(self) -> bool:
        return self._raw.lacks_bytes

    def with_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> NormalizingEncoder:
        return NormalizingEncoder(self._raw, self._rebuild, tokens)

    # Text to ids.

    def encode(self, text: AnyText, options: Options) -> list[int]:
        parts = self._parts(text, options)
        if parts is None:
            return self._whole.encode(text, options)
        rows = [[part] if isinstance(part, int) else self._stretches.encode(part, options) for part in parts]
        return [token_id for row in rows for token_id in row]

    def encode_batch(self, texts: list[AnyText], options: Options, threads: int) -> list[list[int]]:
        rows = self._rows(texts, options, threads)
        if rows is None:
            return self._whole.encode_batch(texts, options, threads)
        return [row.tolist() for row in rows]

    def encode_to_numpy(self, texts: list[AnyText], options: Options, threads: int) -> tuple[Ids, Numbers]:
        rows = self._rows(texts, options, threads)
        if rows is None:
            return self._whole.encode_to_numpy(texts, options, threads)
        return np.concatenate(rows), np.array([0, *accumulate(map(len, rows))], np.int64)

    def count_tokens(self, texts: list[AnyText], options: Options, threads: int) -> list[int]:
        rows = self._rows(texts, options, threads)
        return self._whole.count_tokens(texts, options, threads) if rows is None else [*map(len, rows)]

    def encode_with_offsets(self, texts: list[AnyText], options: Options) -> tuple[Ids, Numbers, Numbers]:
        if all(map(self._is_whole, texts)):
            return self._whole.encode_with_offsets(texts, options)
        rows = [self._row_with_offsets(text, options) for text in texts]
        offsets = np.array([0, *accumulate(len(ids) for ids, _ in rows)], np.int64)
        return np.concatenate([ids for ids, _ in rows]), offsets, np.concatenate([places for _, places in rows])

    def _is_whole(self, text: AnyText) -> bool:
        """Whether a text gives the same ids without normalization: if it is normalized, so is each segment."""
        if not self._is_clear or not isinstance(text, (str, bytes)):
            return self._is_clear  # the encoder refuses anything that is not text
        return text.isascii() or _is_nfc(as_str(text))

    def _parts(self, text: AnyText, options: Options) -> list[Part] | None:
        """Return the normalized segments and the added tokens of a text; None if it may be encoded unchanged."""
        if self._is_whole(text):
            return None
        parts = self._splitter.split(as_str(text), split_special_tokens=options.split_special_tokens)
        return [part if isinstance(part, int) else _utf8(to_nfc(part)) for part in parts]

    def _rows(self, texts: list[AnyText], options: Options, threads: int) -> list[Ids] | None:
        """Return the ids of each text; None if all may be encoded unchanged."""
        parts = [self._parts(text, options) for text in texts]
        if all(each is None for each in parts):
            return None
        whole = [text for text, each in zip(texts, parts, strict=True) if each is None]
        stretches = [part for each in parts if each for part in each if isinstance(part, bytes)]
        # All in one batch, which threads may share.
        of_whole = _rows_of(self._whole.encode_to_numpy(whole, options, threads))
        of_stretches = _rows_of(self._stretches.encode_to_numpy([*stretches], options, threads))

        def row_of(parts: list[Part]) -> Ids:
            rows = [np.array([part], np.uint32) if isinstance(part, int) else next(of_stretches) for part in parts]
            return np.concatenate([np.empty(0, np.uint32), *rows])

        return [next(of_whole) if each is None else row_of(each) for each in parts]

    def _row_with_offsets(self, text: AnyText, options: Options) -> tuple[Ids, Numbers]:
        """Return the ids of a text and their offsets, see `Encoder.encode_with_offsets`."""
        if self._is_whole(text):
            ids, _, places = self._whole.encode_with_offsets([text], options)
            return ids, places
        repaired = as_str(text)
        offsets = [0, *accumulate(len(_utf8(char)) for char in repaired)]
        all_ids, all_places = [np.empty(0, np.uint32)], [np.empty((0, 3), np.int64)]  # in bytes of the repaired text
        part = 0
        for start, stop, added in self._splitter.spans(repaired, split_special_tokens=options.split_special_tokens):
            if added is not None:
                ids, places = np.array([added], np.uint32), np.array([[offsets[start], offsets[stop], 0]])
            else:
                data, begins, ends = _align(repaired[start:stop])
                ids, _, places = self._stretches.encode_with_offsets([data], options)
                places[:, 0] = offsets[start] + begins[places[:, 0]]
                places[:, 1] = offsets[start] + ends[places[:, 1] - 1]
            places[:, 2] += part
            part = int(places[-1, 2]) + 1
            all_ids.append(ids)
            all_places.append(places)
        places = np.concatenate(all_places)
        if isinstance(text, str):
            begins_of, ends_of = map(np.array, characters_of_bytes(text))
            places[:, 0], places[:, 1] = begins_of[places[:, 0]], ends_of[places[:, 1] - 1]
        return np.concatenate(all_ids), places

    @cached_property
    def _splitter(self) -> AddedTokenSplitter:
        return splitter_of(self._raw_tokens)

    # Where text may be cut.

    def find_last_cut(self, data: bytes, options: Options) -> int:
        text = as_str(data)
        # Later text may complete the last character and the last token, compose with the last segment, and be a token
        # that strips the preceding white space. The text before that is normalized and split as it is now.
        head = text[: _last_segment(text, len(text) - _CHARACTER - self._longest_raw)].rstrip(WHITE_SPACE)
        if self._is_clear and _is_nfc(head):
            return self._whole.find_last_cut(_utf8(head), options)
        spans = self._splitter.spans(text, split_special_tokens=options.split_special_tokens)
        forbidden = self._splitter.forbidden_cuts(text, 1, len(head))
        for start, stop, added in reversed(spans):
            cut = start if added is not None else start + self._cut_in(head[start:stop], options)
            if 0 < cut < len(head) and cut not in forbidden:
                return len(_utf8(text[:cut]))
        return 0

    def _cut_in(self, stretch: str, options: Options) -> int:
        """Return the last position at which a cut lets both parts be normalized alone; 0 if there is none."""
        width = _WINDOW
        while stretch:
            start = _last_segment(stretch, len(stretch) - width)
            data, begins, ends = _align(stretch[start:])
            # A token that begins before the window is not seen there.
            least = self._longest_normalized + _CHARACTER if start > 0 else 0
            cut = self._stretches.find_last_cut(data, options)
            while cut > least and ends[cut - 1] > begins[cut]:  # inside a part that normalization changed
                cut = self._stretches.find_last_cut(data[:cut], options)
            if cut > least:
                return start + len(as_str(_utf8(stretch[start:])[: begins[cut]]))
            if start == 0:
                break
            width *= 8
        return 0

    # Ids to rows and text.

    def rows_to_lists(self, ids: Ids, spans: Numbers, template_ids: TemplateIds) -> list[list[int]]:
        return self._raw.rows_to_lists(ids, spans, template_ids)

    def rows_to_arrays(
        self, ids: Ids, spans: Numbers, template_ids: TemplateIds, padding: Padding
    ) -> tuple[Numbers, Numbers]:
        return self._raw.rows_to_arrays(ids, spans, template_ids, padding)

    def decode(self, ids: Sequence[int], skipped: bytes) -> bytes:
        return self._raw.decode(ids, skipped)

    def decode_batch(self, rows: list[Sequence[int]], skipped: bytes, errors: str) -> list[str]:
        return self._raw.decode_batch(rows, skipped, errors)


def _is_nfc(text: str) -> bool:
    return text.isascii() or unicodedata.is_normalized("NFC", text)


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _rows_of(encoded: tuple[Ids, Numbers]) -> Iterator[Ids]:
    ids, offsets = encoded
    return iter(np.split(ids, offsets[1:-1]))


def _align(stretch: str) -> tuple[bytes, Numbers, Numbers]:
    """Return a segment in NFC, and the begin and end of the original bytes of each of its bytes.

    Unchanged text maps to itself, changed text to its whole segment.
    """
    data, begins, ends = bytearray(), [], []
    at = 0
    for match in _SEGMENT.finditer(stretch):
        old, new = _utf8(match[0]), _utf8(to_nfc(match[0]))
        end = at + len(old)
        begins += [*range(at, end)] if old == new else [at] * len(new)
        ends += [*range(at + 1, end + 1)] if old == new else [end] * len(new)
        data += new
        at = end
    return bytes(data), np.array(begins, np.int64), np.array(ends, np.int64)


def _last_segment(text: str, limit: int) -> int:
    """Return the beginning of the last segment that begins at `limit` or before, 0 if there is none."""
    at = max(limit, 0)
    while at > 0 and _IS_JOINED.match(text, at):
        at -= 1
    return at
