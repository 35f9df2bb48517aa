"""The definition of supermerges: merges of whole pre-tokens, as in BoundlessBPE.

Text is cut into pre-tokens and these are encoded as usual. Then, in each longest run of mergeable pre-tokens
(`_phrases`) that are one token each, the adjacent pair of tokens whose supermerge has the lowest rank is merged, the
leftmost first, until there is none. Whatever is not one token ends a run, as do added tokens and ends of text.

Unlike the merges inside pre-tokens, two supermerges may make the same bytes, which are the same token then.

Source: Schmidt and others, "Boundless Byte Pair Encoding" (arXiv:2504.00178); in two stages: Schmidt, Tanner and
Pinter, "Faster Superword Tokenization" (arXiv:2604.05192).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hf_bpe.core._merging import merge_symbols
from hf_bpe.core._model import BPEModel
from hf_bpe.core._phrases import is_mergeable

__all__ = ["Supermerges"]


class Supermerges:
    """The supermerges of a model, to be applied to encoded pre-tokens."""

    def __init__(self, model: BPEModel) -> None:
        ids = {token: token_id for token_id, token in model.vocab.items()}
        self._vocab = model.vocab
        self._ranks = {
            (ids[first], ids[second]): (rank, ids[first + second])
            for rank, (first, second) in enumerate(model.supermerges)
        }

    def apply(self, pre_tokens: Iterable[tuple[bytes, list[int]]]) -> Iterator[tuple[int, list[int]]]:
        """Yield the ids of pre-tokens after supermerges.

        Args:
            pre_tokens: each pre-token of a segment of text with its ids; a negative id is no token.

        Yields:
            A number of consecutive pre-tokens and their ids. It is 1, or the pre-tokens have become one token.
        """
        run: list[int] = []
        for pre_token, ids in pre_tokens:
            if len(ids) == 1 and ids[0] >= 0 and self._vocab[ids[0]] == pre_token and is_mergeable(pre_token):
                run += ids
                continue
            yield from self._merge(run)
            run = []
            yield 1, ids
        yield from self._merge(run)

    def _merge(self, run: list[int]) -> Iterator[tuple[int, list[int]]]:
        lengths = (len(self._vocab[token_id]) for token_id in [*run])
        for token_id in merge_symbols(run, self._ranks):
            number, left = 0, len(self._vocab[token_id])
            while left > 0:
                left -= next(lengths)
                number += 1
            yield number, [token_id]
