"""The tokens and merges of a model as arrays, of which objects are made when somebody asks for them."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import NamedTuple

from hf_bpe._native_core import native_core


class MergeIds(bytes):
    """The ids of both parts and of the result of each merge, as native 32-bit numbers.

    Who makes them has checked that the merges are distinct, and of ordinary tokens, none of which stands for bytes or
    unknown characters.
    """

    def pairs(self, vocab: Mapping[int, bytes]) -> list[tuple[bytes, bytes]]:
        """Return the merges as pairs of the tokens of a vocabulary."""
        ids = memoryview(self).cast("I")
        firsts, seconds = (map(vocab.__getitem__, ids[place::3]) for place in range(2))
        return list(zip(firsts, seconds, strict=True))


class TokenArrays(NamedTuple):
    """Tokens and their ids; those of a model are distinct, not empty and in the order of the ids."""

    data: bytes  # of all tokens
    sizes: bytes  # of each in bytes, as native 32-bit numbers, as the ids are
    ids: bytes

    @classmethod
    def of(cls, vocab: Mapping[int, bytes]) -> TokenArrays:
        """Return the arrays of id → token, in that order."""
        sizes, ids = array("I", map(len, vocab.values())), array("I", vocab)
        return cls(b"".join(vocab.values()), sizes.tobytes(), ids.tobytes())

    @property
    def lengths(self) -> list[int]:
        """The number of bytes of each token."""
        return memoryview(self.sizes).cast("I").tolist()

    @property
    def numbers(self) -> list[int]:
        """The id of each token."""
        return memoryview(self.ids).cast("I").tolist()

    def to_dict(self, step: int = 1) -> dict[int, bytes]:
        """Return id → token, of the tokens at regular intervals."""
        bounds = [*accumulate(self.lengths, initial=0)]
        places = map(slice, bounds[:-1:step], bounds[1::step])
        return dict(zip(self.numbers[::step], map(self.data.__getitem__, places), strict=True))


Tokens = TokenArrays | Mapping[int, bytes]


def change_tokens(tokens: TokenArrays | Mapping[int, bytes | None], changes: Mapping[int, bytes | None]) -> Tokens:
    """Return the tokens of a file with other bytes for some ids, or with none, which no model has."""
    if isinstance(tokens, TokenArrays):
        return TokenArrays(*native_core().change_tokens(tokens, changes))  # type: ignore[union-attr]
    return {token_id: token for token_id, token in {**tokens, **changes}.items() if token is not None}


def find_tokens(tokens: TokenArrays | Mapping[int, bytes | None], wanted: Iterable[bytes]) -> dict[bytes, int]:
    """Return the ids of the wanted tokens that exist."""
    wanted = {*wanted}
    if isinstance(tokens, TokenArrays):
        found: dict[bytes, int] = native_core().find_tokens(tokens, [*wanted])  # type: ignore[union-attr]
        return found
    return {token: token_id for token_id, token in tokens.items() if token in wanted}
