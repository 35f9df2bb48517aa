r"""Merges as scores of tokens, by which SentencePiece and llama.cpp merge.

They know no merges, as tiktoken knows none (see `_recover_merges`): of all neighbors that make a token together they
join the two of the highest score, the leftmost first. A merge has no rank of its own; a token has.

Both ways are the same for any text if, for each token, both make it of the same last two parts, or neither makes it.
Proof: what happens inside a stretch of text whose ends nothing has crossed depends on that stretch alone, in either
way. So if two neighbors of a text make the token t together, they are a state of the stretch t that has two parts left.
There is one such state at most, since each step joins two, and it is the last one before t. Hence either way joins only
those two parts to t, in any text; and if the parts are the same and the order of the tokens is, too, both take the same
step whenever one is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hf_bpe.core._model import Merge
from hf_bpe.encoding._merge_trees import last_pair
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


def without_contents(tokens: Iterable[bytes], contents: Iterable[bytes]) -> list[bytes]:
    """Return the tokens, each once, that hold none of the contents at which text is split."""
    finder = TokenFinder(content.decode() for content in contents)
    return [token for token in dict.fromkeys(tokens) if next(iter(finder.find_all(token.decode())), None) is None]
