"""Recovery of the merges that a ranked vocabulary implies."""

from __future__ import annotations

from collections.abc import Mapping

from hf_bpe.core._model import Merge
from hf_bpe.encoding._merge_trees import last_pair


def recover_merges(ranks: Mapping[bytes, int]) -> list[Merge]:
    r"""Return the merges, in rank order, that encode like a vocabulary in which any two tokens merge to a third.

    tiktoken encodes this way: of all neighbors whose concatenation is a token, the two whose token has the lowest rank
    merge first, the leftmost first. (Whole words that are tokens are not merged at all; see `BPEModel`.)

    One merge per token is enough: what happens inside a segment of text whose ends no merge has crossed depends on that
    segment alone. So wherever two tokens merge to T, they are the last two tokens to which the bytes of T alone are
    reduced. T therefore has one pair, or none if its bytes alone are not reduced to T; and the pair has T's rank, so
    the order of the merges is that of the tokens.

    Args:
        ranks: token → rank. Every token of several bytes may get a merge.

    >>> recover_merges({b"a": 0, b"b": 1, b"c": 2, b"bc": 3, b"ab": 4, b"abc": 5, b"ca": 7})
    [(b'b', b'c'), (b'a', b'b'), (b'a', b'bc'), (b'c', b'a')]
    >>> recover_merges({b"a": 0, b"b": 1, b"ab": 2, b"aab": 3, b"abba": 4})  # the last one cannot be reached
    [(b'a', b'b'), (b'a', b'ab')]
    """
    tokens = [token for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1]
    words = ([bytes([byte]) for byte in token] for token in tokens)
    pairs = (last_pair(word, lambda first, second: ranks.get(first + second)) for word in words)
    return [pair for pair in pairs if pair is not None and pair[0] in ranks and pair[1] in ranks]
