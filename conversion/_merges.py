"""Merges and the tokens that they make: each follows from the other, by the ids of merges or the ranks of tokens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from hf_bpe.core._checks import MAX_TOKEN_BYTES
from hf_bpe.core._model import Merge
from hf_bpe.encoding._merge_trees import last_pair


def tokens_of_merges(
    alphabet: Mapping[int, bytes], merges: Sequence[tuple[int, int, int]], place: Callable[[int], str]
) -> dict[int, bytes]:
    """Return the tokens of an alphabet, and the tokens that merges make from them.

    Args:
        alphabet: id → bytes.
        merges: ids of first part, second part and result, in any order.
        place: rank → location of the merge, for messages.

    Raises:
        ValueError: nothing makes a part, a result has other bytes already, or the tokens are too long for a vocabulary.

    >>> tokens_of_merges({97: b"a", 98: b"b"}, [(257, 98, 256), (97, 98, 257)], str)
    {97: b'a', 98: b'b', 257: b'ab', 256: b'abb'}
    """
    tokens = dict(alphabet)
    waiting: defaultdict[int, list[int]] = defaultdict(list)  # id → ranks of the merges that need it
    total = 0
    for first_rank in range(len(merges)):
        ranks = [first_rank]
        while ranks:
            rank = ranks.pop()
            *parts, merged = merges[rank]
            lacking = next((part for part in parts if part not in tokens), None)
            if lacking is not None:
                waiting[lacking].append(rank)
                continue
            first, second = map(tokens.__getitem__, parts)
            total += len(first) + len(second)
            if total > MAX_TOKEN_BYTES:  # every merge may double a token, so a small file could make a terabyte
                raise ValueError(
                    f"{place(rank)}: expected merges that make tokens of at most {MAX_TOKEN_BYTES} bytes in all, got "
                    f"{total} up to here, where token {merged} has {len(first) + len(second)}; no known vocabulary has "
                    "a tenth of that. Is the file damaged? If not, leave out the merges of the longest tokens"
                )
            if merged not in tokens:
                tokens[merged] = first + second
                ranks += waiting.pop(merged, ())
            elif tokens[merged] != first + second:
                raise ValueError(
                    f"{place(rank)}: expected parts of token {merged}, {tokens[merged][:80]!r}, got {first[:80]!r} and "
                    f"{second[:80]!r}"
                )
    if waiting:
        rank, lacking = min((rank, part) for part, ranks in waiting.items() for rank in ranks)
        raise ValueError(
            f"{place(rank)}: expected bytes or what other merges make of them, got {lacking}, which is neither"
        )
    return tokens


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
