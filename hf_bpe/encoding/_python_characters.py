"""The `Encoder` in Python of models whose alphabet is characters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, count

from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import (
    AddedTokenTuple,
    AnyText,
    Encoder,
    Ids,
    Numbers,
    Options,
    PythonEncoder,
    as_str,
    characters_of_bytes,
    in_arrays,
    is_skipped,
    make_splitter,
)
from hf_bpe.encoding._token_bytes import token_bytes
from hf_bpe.reference._characters import CharacterEncoder, Piece

Place = tuple[int, int, int]


class PythonCharacterEncoder(PythonEncoder):
    """The `Encoder` of a model with characters, which ignores the model's normalizer.

    Args:
        characters: the encoder of text without added tokens.
        rebuild: the function that pickle calls with the model and the added tokens.
    """

    def __init__(
        self,
        characters: CharacterEncoder,
        rebuild: Callable[[BPEModel, tuple[AddedTokenTuple, ...]], Encoder],
        added_tokens: tuple[AddedTokenTuple, ...] = (),
    ) -> None:
        self._characters = characters
        self._rebuild = rebuild
        self._added_tokens = added_tokens
        self._splitter = make_splitter(added_tokens)
        self._added_bytes = {token.id: token.content.encode() for token in added_tokens}

    @property
    def model(self) -> BPEModel:
        """The model, without added tokens; see `Encoder` for all methods."""
        return self._characters.model

    @property
    def lacks_bytes(self) -> bool:
        return False

    def with_added_tokens(self, tokens: tuple[AddedTokenTuple, ...]) -> PythonCharacterEncoder:
        return PythonCharacterEncoder(self._characters, self._rebuild, tokens)

    def encode(self, text: AnyText, options: Options) -> list[int]:
        ids: list[int] = []
        for part in self._segments(as_str(text), options):
            ids += [part[2]] if isinstance(part[2], int) else [each.id for piece in part[2] for each in piece.ids]
        return ids

    def _segments(self, text: str, options: Options) -> Iterator[tuple[int, int, int | list[Piece]]]:
        """Yield begin, end, and the id of each added token, or the pieces of each segment of text."""
        if options.dropout is not None:
            raise ValueError("dropout: is not available for a model whose alphabet is characters")
        for start, stop, added in self._splitter.spans(text, split_special_tokens=options.split_special_tokens):
            if added is not None:
                yield start, stop, added
            else:
                is_first = start == 0 and not options.continued
                yield start, stop, [*self._characters.pieces(text[start:stop], is_first=is_first)]

    def _encode_with_offsets(self, text: AnyText, options: Options) -> tuple[list[int], list[Place]]:
        ids: list[int] = []
        places: list[Place] = []  # characters of the repaired text
        repaired, parts = as_str(text), count()
        for start, stop, found in self._segments(repaired, options):
            if isinstance(found, int):
                ids.append(found)
                places.append((start, stop, next(parts)))
                continue
            for piece in found:
                part = next(parts)
                numbers = [i for i, char in enumerate(piece.text) for _ in char.encode("utf-8", "surrogateescape")]
                ends = accumulate(each.size for each in piece.ids)
                for (token_id, size), end in zip(piece.ids, ends, strict=True):
                    first, last = (start + piece.start + numbers[at] for at in (end - size, end - 1))
                    ids.append(token_id)
                    places.append((max(first, start), max(last + 1, start + 1), part))
        return ids, _in_units(text, repaired, places)

    def merge_words(self, words: list[bytes], unknown_id: int) -> tuple[Ids, Numbers]:
        pieces = (self._characters.encode_piece(word.decode("utf-8", "surrogateescape")) for word in words)
        return in_arrays([[each.id for each in piece] for piece in pieces])

    def decode(self, ids: Sequence[int], skipped: bytes) -> bytes:
        known = self._added_bytes | token_bytes(self.model)
        return b"".join([known[token_id] for token_id in [*ids] if not is_skipped(token_id, skipped)])


def _in_units(text: AnyText, repaired: str, places: list[Place]) -> list[Place]:
    """Return places in characters of a str, or in bytes."""
    sizes = [len(char.encode("utf-8", "surrogateescape")) for char in repaired]
    offsets = [0, *accumulate(sizes)]
    if not isinstance(text, str):
        return [(offsets[begin], offsets[end], part) for begin, end, part in places]
    if repaired == text:
        return places
    begins, ends = characters_of_bytes(text)
    return [(begins[offsets[begin]], ends[offsets[end] - 1], part) for begin, end, part in places]
