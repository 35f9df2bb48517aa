"""Checks of the vocabulary, merges and special tokens of a model, and of vocabularies in files; unused names."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Set
from itertools import chain, starmap
from operator import add, itemgetter
from typing import cast

from hf_bpe._utils.arguments import check_sequence, short_repr
from hf_bpe.pretokenizers._byte_level import from_printable

MAX_TOKEN_BYTES = 1 << 26
"""The largest total size in bytes of a model's tokens. The largest vocabularies in use have about 2 million bytes."""


def check_gaps(size: int, number: int) -> None:
    """Raise a ValueError if far more ids below `size` are unused than used."""
    if size > 2 * number + 1024:
        raise ValueError(f"the highest id is {size - 1} but there are only {number} tokens; renumber the ids first")


# A check of the whole shows whether all is valid; only if not, each element is checked to find the first offender.


def checked_ids(vocab: Mapping[int, bytes]) -> dict[bytes, int]:
    """Return a mapping of token to id, in the order of the ids."""
    if not isinstance(vocab, Mapping):
        raise TypeError(f"vocab: expected a dict of int to bytes, got {type(vocab).__name__}")
    if {*map(type, vocab)} <= {int} and {*map(type, vocab.values())} <= {bytes}:
        order = [*vocab]
        ordered = sorted(order)
        tokens = vocab.values() if order == ordered else map(vocab.__getitem__, ordered)
        ids = dict(zip(tokens, ordered, strict=True))
        if len(ids) == len(vocab) and b"" not in ids and (not ordered or 0 <= ordered[0] <= ordered[-1] < 2**32):
            _check_sizes(ids)
            return ids
    seen: dict[bytes, int] = {}
    for token_id, token in vocab.items():
        if not isinstance(token_id, int) or isinstance(token_id, bool):
            raise TypeError(f"vocab: id {short_repr(token_id)} is {type(token_id).__name__}, expected int")
        if not isinstance(token, bytes):
            raise TypeError(f"vocab: token {short_repr(token_id)} is {type(token).__name__}, expected bytes")
        if not 0 <= token_id < 2**32:
            raise ValueError(f"vocab: id {short_repr(token_id)} of token {token!r:.80} is not between 0 and 2**32 - 1")
        if not token:
            raise ValueError(f"vocab: token {token_id} is empty")
        if token in seen:
            raise ValueError(f"vocab: token {token!r:.80} has two ids, {seen[token]} and {token_id}")
        seen[token] = token_id
    _check_sizes(seen)
    return dict(sorted(seen.items(), key=itemgetter(1)))


def _check_sizes(ids: Mapping[bytes, int]) -> None:
    if (total := sum(map(len, ids))) > MAX_TOKEN_BYTES:
        longest = max(ids, key=len)
        raise ValueError(
            f"vocab: the tokens have {total} bytes in all, expected at most {MAX_TOKEN_BYTES}; the longest, token "
            f"{ids[longest]}, has {len(longest)}. Leave out the longest; `max_token_bytes` limits them in training"
        )


def checked_merges(
    merges: Iterable[tuple[bytes, bytes]], ids: Mapping[bytes, int], specials: set[bytes]
) -> list[tuple[bytes, bytes]]:
    """Return the merges of ordinary tokens as a list."""
    merges = list(check_sequence("merges", merges))
    if {*map(type, merges)} <= {tuple, list} and {*map(len, merges)} <= {2}:
        pairs = cast("list[tuple[bytes, bytes]]", list(map(tuple, merges)))
        are_distinct = {*map(type, chain.from_iterable(pairs))} <= {bytes} and len({*pairs}) == len(pairs)
        if are_distinct and (ids.keys() - specials).issuperset(chain(*pairs, starmap(add, pairs))):
            return pairs
    checked: dict[tuple[bytes, bytes], int] = {}
    for rank, merge in enumerate(merges):
        if not isinstance(merge, (tuple, list)) or [*map(type, merge)] != [bytes, bytes]:
            raise TypeError(f"merge {rank}: expected a pair of bytes, got {short_repr(merge)}")
        first, second = merge
        for place, token in (("first part", first), ("second part", second), ("result", first + second)):
            if token not in ids:
                raise ValueError(f"merge {rank}, {(first, second)!r}: its {place} is not a token of the vocabulary")
            if token in specials:
                raise ValueError(f"merge {rank}, {(first, second)!r}: its {place} is a special token")
        if (first, second) in checked:
            raise ValueError(f"merge {rank}, {(first, second)!r}: merge {checked[first, second]} is the same pair")
        checked[first, second] = rank
    return list(checked)


def check_vocab_ids(vocab: Mapping[str, object], where: str) -> None:
    """Raise a ValueError if a vocabulary has an id that is not an integer, or an id twice."""
    ids: dict[object, str] = {}
    for text, token_id in vocab.items():
        if type(token_id) is not int:
            raise ValueError(f"{where}: token {text!r:.80} has the id {token_id!r:.40}, expected an integer")
        if token_id in ids:
            raise ValueError(f"{where}: tokens {ids[token_id]!r:.80} and {text!r:.80} have the same id, {token_id}")
        ids[token_id] = text


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
