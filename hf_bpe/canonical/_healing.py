"""The ids of a prompt that every continuation keeps.

A text is covered by every viable sequence of tokens whose last token may reach beyond its end. What all of these begin
with stays. Sequences whose last token has begun at the same place differ in nothing else, so there are at most about as
many as the longest token has bytes.
"""

from __future__ import annotations

from typing import NamedTuple

from hf_bpe.canonical._allowed import AllowedTokens


class _Cover(NamedTuple):
    """Sequences of tokens that cover a text.

    Attributes:
        ids: the complete tokens.
        prefix: the bytes after them, which the next token begins with; b"" if there are none.
    """

    ids: tuple[int, ...]
    prefix: bytes


def kept_in_all(allowed: AllowedTokens, ids: list[int]) -> int:
    """Return how many of the ids begin the canonical ids of every text that continues theirs.

    Raises:
        ValueError: the ids are not viable.
    """
    start = allowed.number_of_settled(ids)
    if start is None:
        raise ValueError("prompt_ids: expected canonical ids; give what recanonicalize returns")
    tail = ids[start:]
    data = b"".join(map(allowed.bytes_of, tail))
    covers = [_Cover((), b"")]
    for place in range(len(data)):
        byte = data[place : place + 1]
        covers = [longer for cover in covers for longer in _extended(allowed, ids[:start], cover, byte)]
        if not covers:
            raise ValueError(f"prompt_ids: no canonical ids cover byte {place} of {data[:40]!r}")
    kept = 0
    while kept < len(tail) and all(cover.ids[kept : kept + 1] == (tail[kept],) for cover in covers):
        kept += 1
    return start + kept


def _extended(allowed: AllowedTokens, before: list[int], cover: _Cover, byte: bytes) -> list[_Cover]:
    """Return what covers one byte more, after the ids before."""
    prefix = cover.prefix + byte
    start, stop = allowed.span(prefix)
    ids = allowed.sorted_ids[start:stop]
    if len(ids) == 0:
        return []
    bits = allowed.after([*before, *cover.ids])
    is_allowed = bits[ids >> 3] >> (7 - (ids & 7)) & 1 == 1
    is_whole = allowed.tokens[start] == prefix
    covers = []
    if is_allowed[is_whole:].any():
        covers.append(cover._replace(prefix=prefix))
    if is_whole and is_allowed[0]:
        covers.append(_Cover((*cover.ids, int(ids[0])), b""))
    return covers
