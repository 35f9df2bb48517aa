"""Which tokens merges make of their own bytes, and which merges a vocabulary in order of ranks implies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from hf_bpe.encoding import Options
from hf_bpe.engine import make_encoder
from hf_bpe.model import BPEModel

Merge = tuple[bytes, bytes]
_NEVER = 2**64  # more than any rank


def unreachable(model: BPEModel) -> list[int]:
    """Return the ids of ordinary tokens that the merges do not make of these tokens' bytes, lowest first.

    Text never becomes such a token, but where it is a whole pre-token and the model has `ignore_merges`.

    >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ab", 257: b"ba"}, [(b"a", b"b")])
    >>> unreachable(model)
    [257]
    """
    specials = {special.encode() for special in model.special_tokens}
    ordinary = {token: token_id for token_id, token in model.vocab.items() if token not in specials}
    encoded = _encoded(model, ordinary)
    return [token_id for token_id, ids in zip(ordinary.values(), encoded, strict=True) if len(ids) > 1]


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
    pairs = {token: _last_pair(token, ranks) for token in sorted(ranks, key=ranks.__getitem__) if len(token) > 1}
    return [*filter(None, pairs.values())]


def _last_pair(token: bytes, ranks: Mapping[bytes, int]) -> Merge | None:
    """Return the two tokens that a token's bytes come to last, None if they come to more."""
    parts = [token[place : place + 1] for place in range(len(token))]
    ranks_of_pairs = [ranks.get(first + second, _NEVER) for first, second in pairwise(parts)]
    while len(parts) > 2:
        rank = min(ranks_of_pairs)
        if rank == _NEVER:
            return None
        place = ranks_of_pairs.index(rank)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        del ranks_of_pairs[place]
        for pair in (place - 1, place):
            if 0 <= pair < len(ranks_of_pairs):
                ranks_of_pairs[pair] = ranks.get(parts[pair] + parts[pair + 1], _NEVER)
    return (parts[0], parts[1]) if parts[0] in ranks and parts[1] in ranks else None


def _encoded(model: BPEModel, tokens: Iterable[bytes]) -> list[Sequence[int]]:
    """Return what the merges of a model make of each token's bytes; a byte that has no token counts as one."""
    plain = replace(model, pattern=None, ignore_merges=False, normalizer=None)
    ids, offsets = make_encoder(plain).encode_to_numpy([*tokens], Options(unknown_id=0), 1)
    flat, bounds = ids.tolist(), offsets.tolist()
    return [flat[start:stop] for start, stop in pairwise(bounds)]
