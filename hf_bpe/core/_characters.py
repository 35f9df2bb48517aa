"""The alphabet of models in the manner of SentencePiece: characters, and tokens for the bytes of all others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hf_bpe._utils.arguments import wrong_type
from hf_bpe.pretokenizers._byte_level import is_utf8

BYTE_TOKENS: dict[bytes, int] = {b"<0x%02X>" % byte: byte for byte in range(256)}
"""The tokens of bytes → the byte, as SentencePiece and `tokenizers` write them."""


@dataclass(frozen=True)
class Characters:
    """The alphabet of a model whose merges begin with characters instead of bytes.

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

    >>> Characters()
    Characters(byte_fallback=True, unk_token=None, fuse_unk=False)
    """

    byte_fallback: bool = True
    unk_token: str | None = None
    fuse_unk: bool = False

    def __post_init__(self) -> None:
        for name in ("byte_fallback", "fuse_unk"):
            if not isinstance(getattr(self, name), bool):
                raise wrong_type(name, "True or False", getattr(self, name))
        if self.unk_token is not None and not isinstance(self.unk_token, str):
            raise wrong_type("unk_token", "a str or None", self.unk_token)
        if not self.byte_fallback and self.unk_token is None:
            raise ValueError(
                "characters: expected tokens of bytes or an unk_token, got neither, so that tokenizers drops "
                "characters that the vocabulary lacks"
            )

    @property
    def stand_ins(self) -> frozenset[bytes]:
        """The tokens that stand for characters without a token."""
        tokens = BYTE_TOKENS.keys() if self.byte_fallback else set[bytes]()
        return frozenset(tokens) | (frozenset() if self.unk_token is None else {self.unk_token.encode()})

    def check(
        self, ids: Mapping[bytes, int], merges: Iterable[tuple[bytes, bytes]], merge_ids: bytes | None = None
    ) -> None:
        """Raise a ValueError if a model cannot have this alphabet.

        Args:
            ids: token → id of the model, each token as the UTF-8 of its text.
            merges: its merges.
            merge_ids: their ids, see `CheckedMerges.ids`; None if they are not known.
        """
        if not is_utf8(b"\0".join(ids)):
            token = next(token for token in ids if not is_utf8(token))
            raise ValueError(f"characters: token {ids[token]}, {token!r:.80}, is not text in UTF-8")
        unknown = set() if self.unk_token is None else {self.unk_token.encode()}
        if missing := unknown - ids.keys():
            raise ValueError(f"characters: unk_token {missing.pop().decode()!r} is not a token of the vocabulary")
        if self.byte_fallback:
            missing = BYTE_TOKENS.keys() - ids.keys()
            # The byte of a character that is a token is never needed: Gemma 1 and 2 have "\t" in place of <0x09>.
            if needed := [token for token in missing if bytes([BYTE_TOKENS[token]]) not in ids]:
                raise ValueError(
                    f"characters: byte_fallback needs the token of each byte whose character is not a token, and "
                    f"{min(needed).decode()} is not in the vocabulary"
                )
            unknown |= BYTE_TOKENS.keys() - missing
        used = None if merge_ids is None else {*memoryview(merge_ids).cast("I")}
        if used is None or not used.isdisjoint(map(ids.__getitem__, unknown)):
            for rank, (first, second) in enumerate(merges):
                for token in (first, second, first + second):
                    if token in unknown:
                        raise ValueError(
                            f"merge {rank}, {(first.decode(), second.decode())!r}: {token.decode()!r} stands for "
                            "characters without a token, which are merged with nothing"
                        )
