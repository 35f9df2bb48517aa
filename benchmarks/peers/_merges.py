"""The merges of peers that do not hand them out as pairs of bytes. Used after the timer has stopped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Merges = list[tuple[bytes, bytes]]


def from_printable_pairs(pairs: Iterable[Iterable[str]]) -> Merges:
    """Return merges whose tokens are written as in GPT-2's `vocab.json`."""
    from hf_bpe.pretokenizers import from_printable  # not at the top: it would count in the peer's memory

    merges = []
    for pair in pairs:
        first, second = map(from_printable, pair)
        if first is None or second is None:
            raise ValueError(f"{pair} is not written in the characters of vocab.json")
        merges.append((first, second))
    return merges


def from_ranks(ranks: Mapping[bytes, int]) -> Merges:
    """Return the merges of a peer that hands out tokens with ranks and not what each was merged from.

    The two parts of a token are what is left when the merges before it have been applied to its bytes: all its
    occurrences were made the same way, for no merge reached across its ends before.
    """
    merges: Merges = []
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        if len(token) > 1:
            parts = _apply(ranks, token, rank)
            if len(parts) != 2:
                raise ValueError(f"token {token!r} of rank {rank} cannot be made from two tokens of lower ranks")
            merges.append((parts[0], parts[1]))
    return merges


def _apply(ranks: Mapping[bytes, int], token: bytes, limit: int) -> list[bytes]:
    parts = [token[index : index + 1] for index in range(len(token))]
    while len(parts) > 2:
        rank, index = min((ranks.get(parts[index] + parts[index + 1], limit), index) for index in range(len(parts) - 1))
        if rank >= limit:
            break
        parts[index : index + 2] = [parts[index] + parts[index + 1]]
    return parts
