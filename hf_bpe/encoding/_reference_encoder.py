"""The reference as an `Encoder`, for text that the native core does not encode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, count

import numpy as np

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
    make_splitter,
)
from hf_bpe.pretokenizers._byte_level import BYTE_TO_CHAR, to_printable
from hf_bpe.reference._characters import CharacterEncoder
from hf_bpe.reference._encoder import Encoder as ByteEncoder
from hf_bpe.reference._splitting import Span, utf8

PreTokenIds = tuple[list[int], list[Span]]
"""The ids of a pre-token, and for each the first byte of the repaired text and the byte after the last."""

_PRINTABLE_SIZES = [len(char.encode()) for char in BYTE_TO_CHAR]


class ReferenceEncoder(Encoder):
    """The `Encoder` of a model by the reference, which ignores the model's normalizer; pickle calls `rebuild`."""

    def __init__(
        self,
        model: BPEModel,
        rebuild: Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Encoder],
        added_tokens: tuple[AddedTokenTuple, ...] = (),
    ) -> None:
        self._model, self._rebuild = model, rebuild
        self._bytes = ByteEncoder(model) if model.alphabet.is_bytes else None
        self._characters = None if model.alphabet.is_bytes else CharacterEncoder(model)
        self._set_added_tokens(added_tokens)

    def _set_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> None:
        self.added_tokens, self._splitter = tokens, make_splitter(tokens)

    def __reduce__(self) -> tuple[object, ...]:
        return self._rebuild, (self._model, self.added_tokens)

    @property
    def model(self) -> BPEModel:
        """The model, without added tokens; see `Encoder` for all methods."""
        return self._model

    def with_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> ReferenceEncoder:
        other = object.__new__(ReferenceEncoder)
        vars(other).update(vars(self))  # what merges words is shared: it takes a tenth of a second to make
        other._set_added_tokens(tokens)
        return other

    def with_prefix_cache(self, store: object) -> Encoder:
        raise ValueError(
            "prefix_cache: this model is encoded by hf_bpe.reference, because its characters do not write spaces as a "
            "token that it has; expected another model, or no prefix_cache"
        )

    def encode(self, text: AnyText, options: Options) -> list[int]:
        if self._bytes is None or options.dropout is not None:
            return self._encode(text, options)[0]
        ids: list[int] = []  # without offsets, which take most of the time
        for part in self._splitter.split(as_str(text), split_special_tokens=options.split_special_tokens):
            if isinstance(part, int):
                ids.append(part)
            else:
                ids += self._bytes.encode(options.segment(utf8(part)), options.unknown_id)
        return ids

    def encode_to_numpy(self, texts: list[AnyText], options: Options, threads: int) -> tuple[Ids, Numbers]:
        return _in_arrays([self.encode(text, options.for_parts([(number, 0)])) for number, text in enumerate(texts)])

    def encode_with_offsets(self, texts: list[AnyText], options: Options) -> tuple[Ids, Numbers, Numbers]:
        rows = [self._encode(text, options.for_parts([(number, 0)])) for number, text in enumerate(texts)]
        places = [place for _, row in rows for place in row]
        return *_in_arrays([ids for ids, _ in rows]), np.array(places, np.int64).reshape(-1, 3)

    def _encode(self, text: AnyText, options: Options) -> tuple[list[int], list[tuple[int, int, int]]]:
        """Return the ids of a text, and the rows of `encode_with_offsets`."""
        ids: list[int] = []
        places: list[tuple[int, int, int]] = []  # in bytes of the repaired text
        repaired, parts = as_str(text), count()
        offsets = [0, *accumulate(len(utf8(char)) for char in repaired)]
        for start, stop, added in self._splitter.spans(repaired, split_special_tokens=options.split_special_tokens):
            pre_tokens: list[PreTokenIds] | Iterator[PreTokenIds]
            if added is not None:
                pre_tokens = [([added], [(offsets[start], offsets[stop])])]
            elif self._characters is not None:
                pre_tokens = self._character_pre_tokens(repaired[start:stop], start, offsets, options)
            else:
                pre_tokens = self._byte_pre_tokens(repaired[start:stop], offsets[start], options)
            for ids_of_part, spans in pre_tokens:
                part = next(parts)
                ids += ids_of_part
                places += [(begin, end, part) for begin, end in spans]
        if isinstance(text, str):
            begins, ends = characters_of_bytes(text)
            places = [(begins[begin], ends[end - 1], part) for begin, end, part in places]
        return ids, places

    def _byte_pre_tokens(self, text: str, lowest: int, options: Options) -> Iterator[PreTokenIds]:
        """Yield the pre-tokens of text between added tokens, whose first byte is at `lowest`."""
        assert self._bytes is not None
        data = utf8(text)
        segment = options.segment(data)
        at = lowest - (len(segment) - len(data))  # a prefix space has the position of the first character
        for pre_token, ids in self._bytes.pre_tokens(segment, options.dropout, at):
            begin, least = at + pre_token.start, max(at + pre_token.lowest, lowest)
            spans = self._byte_spans(pre_token.data, ids)
            spans = [(max(begin + first, least), max(begin + last + 1, least + 1)) for first, last in spans]
            yield self._bytes.replace_missing(ids, options.unknown_id), spans

    def _byte_spans(self, word: bytes, ids: list[int]) -> list[Span]:
        """Return the first and the last byte of each id in its word, without ids of dropped bytes.

        If bytes are dropped, `tokenizers` counts the bytes that stay from the beginning of the word, in the UTF-8 of
        its printable form: ids come too early, and an id that has part of a character there covers the whole.
        """
        tokens = [self._model.vocab[token_id] if token_id >= 0 else b"?" for token_id in ids]
        numbers: Sequence[int] = range(len(word))
        if self._model.drop_missing_bytes and min(ids) < 0:
            numbers = [number for number, byte in enumerate(word) for _ in range(_PRINTABLE_SIZES[byte])]
            tokens = [to_printable(self._model.vocab[token_id]).encode() for token_id in ids if token_id >= 0]
        ends = accumulate(map(len, tokens))
        return [(numbers[end - len(token)], numbers[end - 1]) for end, token in zip(ends, tokens, strict=True)]

    def _character_pre_tokens(
        self, text: str, start: int, offsets: list[int], options: Options
    ) -> Iterator[PreTokenIds]:
        """Yield the pre-tokens of text between added tokens, from the character `start` on."""
        assert self._characters is not None
        if options.dropout is not None:
            raise ValueError("dropout: is not available for a model whose alphabet is characters")
        for piece in self._characters.pieces(text, is_first=start == 0 and not options.continued):
            numbers = [number for number, char in enumerate(piece.text, piece.start) for _ in utf8(char)]
            ends = accumulate(sized.size for sized in piece.ids)
            chars = [(numbers[end - sized.size], numbers[end - 1]) for sized, end in zip(piece.ids, ends, strict=True)]
            # What is put before the text has the place of its first character.
            spans = [(offsets[start + max(first, 0)], offsets[start + max(last + 1, 1)]) for first, last in chars]
            yield [sized.id for sized in piece.ids], spans

    def merge_words(self, words: list[bytes], unknown_id: int) -> tuple[Ids, Numbers]:
        if self._characters is not None:
            pieces = (self._characters.encode_piece(word.decode("utf-8", "surrogateescape")) for word in words)
            return _in_arrays([[sized.id for sized in piece] for piece in pieces])
        encoder = ByteEncoder(self._model.with_checked(ignore_merges=False, drop_missing_bytes=False))
        return _in_arrays([encoder.replace_missing(encoder.encode_word(word), unknown_id) for word in words])

    def find_last_cut(self, data: bytes, options: Options) -> int:
        return 0  # no place is known, so `encode_iterable` holds the whole text


def _in_arrays(rows: list[list[int]]) -> tuple[Ids, Numbers]:
    """Return the ids of all rows, and the offsets of the rows with the end of the last."""
    arrays = [np.array(row, np.uint32) for row in rows]
    offsets = np.array([0, *accumulate(map(len, rows))], np.int64)
    return np.concatenate([np.empty(0, np.uint32), *arrays]), offsets
