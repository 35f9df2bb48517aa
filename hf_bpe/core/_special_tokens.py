"""Checks of the special tokens of a model, and names for tokens without one."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set

from hf_bpe._utils.arguments import check_sequence, short_repr
from hf_bpe.pretokenizers._byte_level import from_printable


def refuse_roles(special_tokens: object) -> None:
    """Raise a TypeError if special tokens are given as a mapping of roles, as transformers has them elsewhere."""
    if isinstance(special_tokens, Mapping) and any(str(each).endswith("_token") for each in special_tokens):
        raise TypeError(
            f"special_tokens: expected a list of str, got {short_repr(special_tokens)}; roles are options of "
            "BPETokenizer.train, such as pad_token='<pad>'"
        )


def check_special_tokens(special_tokens: Iterable[str], *, are_bytes: bool = True) -> list[str]:
    """Return the special tokens as a list if they are valid for some model, of bytes or of characters.

    A ValueError names one that is empty, repeated or not encodable; or is a byte, or how files write one.
    """
    if isinstance(special_tokens, (str, bytes)):
        raise TypeError(
            f"special_tokens: expected a list of str, got {short_repr(special_tokens)}; "
            f"write [{short_repr(special_tokens)}]"
        )
    refuse_roles(special_tokens)
    if not isinstance(special_tokens, (Mapping, Set)):
        check_sequence("special_tokens", special_tokens, "a list of str")
    specials: dict[str, None] = {}  # in their order
    for special in special_tokens:
        if not isinstance(special, str):
            raise TypeError(f"special token {short_repr(special)}: expected str, got {type(special).__name__}")
        if not special:
            raise ValueError("special token '': expected at least one character")
        if special in specials:
            raise ValueError(f"special token {special!r:.80} is given twice")
        try:
            encoded = special.encode()
        except UnicodeEncodeError:
            raise ValueError(f"special token {special!r:.80} holds a lone surrogate, so it has no UTF-8 form") from None
        byte = encoded if len(encoded) == 1 else from_printable(special)
        if are_bytes and byte is not None and len(byte) == 1:
            raise ValueError(
                f"special token {special!r:.80} is how vocab.json writes the byte {byte!r}; choose another"
            )
        specials[special] = None
    return [*specials]


def check_special_tokens_in(specials: list[str], ids: Mapping[bytes, int], *, are_bytes: bool) -> None:
    """Raise a ValueError if a special token has no id, or the printable form of another token."""
    encoded = {special.encode() for special in specials}
    for special in specials:
        if special.encode() not in ids:
            raise ValueError(f"special token {special!r:.80} is not in the vocabulary")
        twin = from_printable(special) if are_bytes else None
        if twin is not None and twin in ids and twin not in encoded:
            raise ValueError(
                f"special token {special!r:.80} is how vocab.json writes token {ids[twin]}, {twin!r:.80}; "
                "choose another"
            )


def unused_name(names: Container[str], name: str) -> str:
    """Return a name that is not in use, derived from a given one."""
    while name in names:
        name = f"<{name}>"
    return name
