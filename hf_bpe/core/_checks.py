"""Checks of the vocabulary and merges of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, starmap
from operator import add, itemgetter
from typing import cast

from hf_bpe._utils.arguments import check_sequence, short_repr

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
