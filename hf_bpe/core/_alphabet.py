"""The alphabet of a model: what its merges begin with, bytes or characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, TypeAlias

from hf_bpe._utils.arguments import wrong_type
from hf_bpe.pretokenizers._byte_level import is_utf8, to_printable
from hf_bpe.pretokenizers._pattern import Pattern

BYTE_TOKENS: Mapping[bytes, int] = MappingProxyType({b"<0x%02X>" % byte: byte for byte in range(256)})
"""The tokens of bytes → the byte, as SentencePiece and `tokenizers` write them."""


@dataclass(frozen=True)
class ByteAlphabet:
    """The alphabet of a byte-level model, whose merges begin with bytes.

    Attributes:
        is_bytes: True; models of characters have other encoders, and other forms in files.
        byte_tokens: the tokens of single bytes → the byte.
        stand_ins: the tokens that stand for bytes, or for characters without a token.
        byte_fallback, unk_token, fuse_unk: see `CharacterAlphabet`; without meaning here.

    >>> ByteAlphabet().printable(b" the")
    'Ġthe'
    """

    is_bytes = True
    byte_tokens: ClassVar[Mapping[bytes, int]] = MappingProxyType({bytes([byte]): byte for byte in range(256)})
    stand_ins: ClassVar[frozenset[bytes]] = frozenset(byte_tokens)
    byte_fallback = False
    unk_token = None
    fuse_unk = False
    printable = staticmethod(to_printable)

    def check(self, pattern: Pattern, ids: Mapping[bytes, int], merges: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise a ValueError if a model cannot have this alphabet.

        Args:
            pattern: the pattern of the model.
            ids: token → id of the model.
            merges: its merges, as far as they are not checked.
        """
        if pattern.metaspace is not None:
            raise ValueError(f"pattern {str(pattern.canonical)[:80]!r}: expected one that is not Metaspace")

    def symbols(self, token: bytes) -> list[bytes]:
        """Return what the merges that make a token begin with."""
        return [token[place : place + 1] for place in range(len(token))]


@dataclass(frozen=True)
class CharacterAlphabet:
    """The alphabet of a model whose merges begin with characters; it has the methods of `ByteAlphabet`.

    A character of a text that is a token of the vocabulary is that token, to which merges apply. Any other becomes the
    tokens of its bytes, `<0x00>` to `<0xFF>`, or `unk_token`; these take part in no merge.

    Raises:
        TypeError: an argument of another type.
        ValueError: neither `byte_fallback` nor an `unk_token`.

    Args:
        byte_fallback: whether other characters become tokens of their bytes. The vocabulary then has the token of each
            byte, except of bytes whose own character it has, as Gemma 2 has the tab and no `<0x09>`.
        unk_token: without `byte_fallback`, the token of other characters.
        fuse_unk: whether other characters side by side become one `unk_token`.

    >>> CharacterAlphabet()
    CharacterAlphabet(byte_fallback=True, unk_token=None, fuse_unk=False)
    """

    is_bytes = False
    byte_fallback: bool = True
    unk_token: str | None = None
    fuse_unk: bool = False
    printable = staticmethod(bytes.decode)

    def __post_init__(self) -> None:
        for name in ("byte_fallback", "fuse_unk"):
            if not isinstance(getattr(self, name), bool):
                raise wrong_type(name, "True or False", getattr(self, name))
        if self.unk_token is not None and not isinstance(self.unk_token, str):
            raise wrong_type("unk_token", "a str or None", self.unk_token)
        if not self.byte_fallback and self.unk_token is None:
            raise ValueError(
                "alphabet: expected tokens of bytes or an unk_token, got neither, so that tokenizers drops "
                "characters that the vocabulary lacks"
            )

    @property
    def byte_tokens(self) -> Mapping[bytes, int]:
        """The tokens of single bytes → the byte; none without `byte_fallback`."""
        return BYTE_TOKENS if self.byte_fallback else {}

    @property
    def stand_ins(self) -> frozenset[bytes]:
        """The tokens that stand for characters without a token."""
        return frozenset([*self.byte_tokens, *([] if self.unk_token is None else [self.unk_token.encode()])])

    def check(self, pattern: Pattern, ids: Mapping[bytes, int], merges: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise a ValueError if a model cannot have this alphabet."""
        if pattern.canonical is not None and pattern.metaspace is None:
            raise ValueError(
                f"pattern {pattern.canonical[:80]!r}: expected None or a Metaspace, as the model has characters"
            )
        if not is_utf8(b"\0".join(ids)):
            token = next(token for token in ids if not is_utf8(token))
            raise ValueError(f"alphabet: token {ids[token]}, {token!r:.80}, is not text in UTF-8")
        if self.unk_token is not None and self.unk_token.encode() not in ids:
            raise ValueError(f"alphabet: unk_token {self.unk_token!r} is not a token of the vocabulary")
        missing = self.byte_tokens.keys() - ids.keys()
        # The byte of a character that is a token is never needed: Gemma 1 and 2 have "\t" in place of <0x09>.
        if needed := [token for token in missing if bytes([BYTE_TOKENS[token]]) not in ids]:
            raise ValueError(
                f"alphabet: byte_fallback needs the token of each byte whose character is not a token, and "
                f"{min(needed).decode()} is not in the vocabulary"
            )
        unmerged = self.stand_ins - missing
        for rank, (first, second) in enumerate(merges):
            for token in (first, second, first + second):
                if token in unmerged:
                    raise ValueError(
                        f"merge {rank}, {(first.decode(), second.decode())!r}: {token.decode()!r} stands for "
                        "characters without a token, which are merged with nothing"
                    )

    def symbols(self, token: bytes) -> list[bytes]:
        """Return the characters of a token."""
        return [character.encode() for character in token.decode()]


Alphabet: TypeAlias = ByteAlphabet | CharacterAlphabet

BYTES = ByteAlphabet()
