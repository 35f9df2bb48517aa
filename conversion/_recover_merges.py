"""Which merges a vocabulary in order of ranks implies."""

from __future__ import annotations

from collections.abc import Mapping

from hf_bpe.engine._merge_trees import last_pair

Merge = tuple[bytes, bytes]


def recover_merges(ranks: Mapping[bytes, int]) -> list[Merge]:
    r"""Return the merges, first rank first, that encode as a vocabulary does in which two tokens merge to any third.

    That is how tiktoken encodes: of all neighbours that joined are a token, those merge first whose token has the
    lowest rank, the leftmost first. (Whole words that are tokens it does not merge at all; see `BPEModel`.)

    Why a merge a token is enough: what happens inside a stretch of text whose ends no merge has crossed depends on
    that stretch alone. So wherever two tokens merge to T, they are the two that the bytes of T alone come to last.
    T thus has one pair, or none, if its bytes alone do not come to T; and the pair has T's rank, so the order of the
    merges is that of the tokens.

    Args:
        ranks: token → rank. All that is not a single byte may get a merge.

    >>> recover_merges({b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5, b"ca": 7})
    [(b'b', b'c'), (b'a', b'b'), (b'a', b'bc'), (b'c', b'a')]
    >>> recover_merges({b"a": 0, b"b": 1, b"ab": 2, b"aab": 3, b"abba": 4})  # the last one cannot be reached
    [(b'a', b'b'), (b'a', b'ab')]
    """

    def rank_of(first: bytes, second: bytes) -> int | None:
        return ranks.get(first + second)

    pairs = (last_pair(token, rank_of) for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1)
    return [pair for pair in pairs if pair is not None and pair[0] in ranks and pair[1] in ranks]
