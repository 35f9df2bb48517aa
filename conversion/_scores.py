r"""Merges as scores of tokens, by which SentencePiece and llama.cpp merge.

They know no merges, as tiktoken knows none (see `_recover_merges`): of all neighbors that make a token together they
join those of the highest score, the leftmost first. A merge has no rank of its own; a token has.

Both ways are the same for any text if, for each token, both make it of the same last two parts, or neither makes it.
Proof: what happens inside a stretch of text whose ends nothing has crossed depends on that stretch alone, in either
way. So if two neighbors of a text make the token t together, they are a state of the stretch t that has two parts left.
There is one such state at most, since each step joins two, and it is the last one before t. Hence either way joins only
those two parts to t, in any text; and if the parts are the same and the order of the tokens is, too, both take the same
step whenever one is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.encoding._merge_trees import last_pair, parts_of_tokens
from hf_bpe.encoding._token_finder import TokenFinder


def merges_of_scores(tokens: Iterable[bytes], scores: Mapping[bytes, float]) -> dict[bytes, Merge]:
    """Return the last two parts of each token of two characters or more that scores make, the first to be made first.

    Args:
        tokens: the tokens, as UTF-8.
        scores: token → score, for all tokens of the vocabulary.

    Raises:
        ValueError: two tokens have the same score, so that their order depends on where they are in a text.

    >>> merges_of_scores([b"ab", b"abc", b"xy"], {b"ab": -1.0, b"bc": -2.0, b"abc": -3.0, b"a": 0, b"b": 0, b"c": 0})
    {b'ab': (b'a', b'b'), b'abc': (b'ab', b'c')}
    """

    def rank(first: bytes, second: bytes) -> float | None:
        score = scores.get(first + second)
        return None if score is None else -score

    found: dict[bytes, Merge] = {}
    of_score: dict[float, bytes] = {}
    for token in tokens:
        symbols = [*map(str.encode, token.decode())]
        pair = last_pair(symbols, rank) if len(symbols) > 1 and token in scores else None
        if pair is None:
            continue
        other = of_score.setdefault(scores[token], token)
        if other != token:
            raise ValueError(
                f"tokens {other.decode()!r} and {token.decode()!r} have the same score, {scores[token]}, so which is "
                "made first depends on the text; expected another score for each"
            )
        found[token] = pair
    return dict(sorted(found.items(), key=lambda entry: -scores[entry[0]]))


def scores_of_merges(model: BPEModel, others: Iterable[bytes], never: Iterable[bytes]) -> dict[bytes, float]:
    """Return token → score such that scores make what the merges of a model with characters make, in any text.

    The first merge gets 0, each other one 1 less, and all that merges do not make the lowest of all.

    Args:
        model: the model.
        others: further tokens that a reader of the scores might make.
        never: tokens that no text to merge holds, because text is split at them.

    Raises:
        ValueError: there are no such scores; the message names a token.

    >>> from hf_bpe.core import Characters
    >>> vocab = {0: b"<unk>", 1: b"a", 2: b"b", 3: b"ab", 4: b"ba"}
    >>> model = BPEModel(vocab, [(b"a", b"b")], pattern=None, characters=Characters(False, "<unk>"))
    >>> scores_of_merges(model, [], [b"<unk>"])
    Traceback (most recent call last):
    ValueError: token 'ba': readers of scores would make it of 'b' and 'a', which no merge does
    """
    parts = {
        model.vocab[token_id]: (model.vocab[first], model.vocab[second])
        for token_id, (first, second) in parts_of_tokens(model).items()
    }
    ranks = {merge: rank for rank, merge in enumerate(model.merges)}
    made = sorted(parts, key=lambda token: ranks[parts[token]])
    tokens = without_contents([*model.vocab.values(), *others], never)
    lowest = float(-len(made))
    scores = {**dict.fromkeys(tokens, lowest), **{token: float(-rank) for rank, token in enumerate(made)}}

    def rank_of(first: bytes, second: bytes) -> float | None:
        score = scores.get(first + second)
        return None if score is None else -score

    for token in tokens:
        symbols = [*map(str.encode, token.decode())]
        if len(symbols) == 1:
            continue
        pair = last_pair(symbols, rank_of)
        if pair != parts.get(token):
            shown = "nothing" if pair is None else " and ".join(repr(part.decode()) for part in pair)
            expected = "no merge does" if token not in parts else f"merges do of {_shown(parts[token])}"
            raise ValueError(f"token {token.decode()!r}: readers of scores would make it of {shown}, which {expected}")
    return scores


def without_contents(tokens: Iterable[bytes], contents: Iterable[bytes]) -> list[bytes]:
    """Return the tokens, each once, that hold none of the contents at which text is split."""
    finder = TokenFinder(content.decode() for content in contents)
    return [token for token in dict.fromkeys(tokens) if next(iter(finder.find_all(token.decode())), None) is None]


def _shown(pair: Merge) -> str:
    return " and ".join(repr(part.decode()) for part in pair)
