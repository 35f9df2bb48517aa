"""Merge trees: whether the merges make a token from its own bytes, and the two parts that they join last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, chain, pairwise

from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._native_paths import last_merges

_NEVER = 2**64  # more than any rank
_AT_ONCE = 4096  # tokens


def first_tokens(model: BPEModel) -> set[int]:
    """Return the ids of the tokens that merges begin with, and of stand-ins for characters without a token.

    >>> first_tokens(BPEModel({97: b"a", 98: b"b", 256: b"ab"}, [(b"a", b"b")])) == {97, 98}
    True
    """
    stand_ins, is_bytes = model.alphabet.stand_ins, model.alphabet.is_bytes
    return {i for i, token in model.vocab.items() if token in stand_ins or not (is_bytes or len(token.decode()) > 1)}


def unreachable(model: BPEModel) -> list[int]:
    """Return the ids of ordinary tokens that the merges do not make from the tokens' own bytes, lowest first.

    Such a token never occurs, except as a whole pre-token if the model has `ignore_merges`.

    >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ab", 257: b"ba"}, [(b"a", b"b")])
    >>> unreachable(model)
    [257]
    """
    return sorted(chain.from_iterable(_all_unreachable(model)))


def makes_all_tokens(model: BPEModel) -> bool:
    """Return whether the merges make all ordinary tokens from the tokens' own bytes."""
    return not any(_all_unreachable(model))


def _all_unreachable(model: BPEModel) -> Iterator[list[int]]:
    """Yield lists of unreachable ids, the highest first, because most unreachable ids are high."""
    never_made = model.alphabet.stand_ins.union(map(str.encode, model.special_tokens))
    encoder = make_encoder(model)
    arrays = model.token_arrays
    ids, sizes, stop = arrays.numbers, arrays.lengths, len(arrays.data)
    while ids:
        some, lengths = ids[-_AT_ONCE:], sizes[-_AT_ONCE:]
        del ids[-_AT_ONCE:], sizes[-_AT_ONCE:]
        bounds = accumulate(lengths, initial=stop - sum(lengths))
        tokens, stop = [arrays.data[begin:end] for begin, end in pairwise(bounds)], stop - sum(lengths)
        made, offsets = encoder.merge_words(tokens, 0)
        flat, ends = made.tolist(), offsets.tolist()
        if flat == some and ends == [*range(len(ends))]:
            continue
        # One id need not be the token's: characters without a token side by side may become one unk_token.
        yield [
            i
            for i, token, (start, end) in zip(some, tokens, pairwise(ends), strict=True)
            if (end != start + 1 or flat[start] != i) and end > start and token not in never_made
        ]


def parts_of_tokens(model: BPEModel) -> dict[int, tuple[int, int]]:
    """Return the two tokens merged last for each token that the merges make from its own bytes.

    Followed down to the bytes, this is the merge tree of a token. Wherever the token occurs, exactly the merges of this
    tree have made it: what happens inside a segment of text whose ends no merge has crossed depends on that segment
    alone. A token may have several merges; only one of them is the last in its tree.

    Returns:
        id → ids of the two parts, without bytes, special tokens and unreachable tokens.

    >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ab", 257: b"abb"}, [(b"a", b"b"), (b"ab", b"b")])
    >>> parts_of_tokens(model)
    {256: (97, 98), 257: (256, 98)}
    """
    ids = {token: token_id for token_id, token in model.vocab.items()}
    ranks = {merge: rank for rank, merge in enumerate(model.merges)}
    number = Counter(first + second for first, second in model.merges)
    lost = {*unreachable(model)}
    several = [token for token, merges in number.items() if merges > 1]
    last = last_merges(make_encoder(model), several)
    last_of = {} if last is None else dict(zip(several, last.tolist(), strict=True))
    parts: dict[int, tuple[int, int]] = {}
    for first, second in model.merges:
        token_id = ids[first + second]
        if token_id in lost or token_id in parts:
            continue
        if first + second in last_of:
            first, second = model.merges[last_of[first + second]]
        elif number[first + second] > 1:
            pair = last_pair(model.alphabet.symbols(first + second), lambda first, second: ranks.get((first, second)))
            assert pair is not None  # or it would be unreachable
            first, second = pair
        parts[token_id] = ids[first], ids[second]
    return parts


def last_pair(symbols: Iterable[bytes], rank_of: Callable[[bytes, bytes], float | None]) -> Merge | None:
    """Return the last two parts to which the merges reduce a token's symbols; None if more than two remain."""
    parts = [*symbols]

    def rank(place: int) -> float:
        merge_rank = rank_of(parts[place], parts[place + 1])
        return _NEVER if merge_rank is None else merge_rank

    ranks = [*map(rank, range(len(parts) - 1))]
    while len(parts) > 2:
        lowest = min(ranks)
        if lowest == _NEVER:
            return None
        place = ranks.index(lowest)
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
        del ranks[place]
        for pair in (place - 1, place):
            if 0 <= pair < len(ranks):
                ranks[pair] = rank(pair)
    return (parts[0], parts[1]) if len(parts) == 2 else None


def merged(model: BPEModel, tokens: Iterable[bytes], unknown_id: int = 0) -> list[Sequence[int]]:
    """Return the ids that the merges of a model make from each token's bytes, as if it were a pre-token."""
    ids, offsets = make_encoder(model).merge_words([*tokens], unknown_id)
    flat, bounds = ids.tolist(), offsets.tolist()
    return [flat[start:stop] for start, stop in pairwise(bounds)]
