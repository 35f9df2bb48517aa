"""The reference of learning supermerges (`_supermerges`), in plain Python.

It is that of `reference.learn_merges` on phrases (`_phrases`), where a symbol is the token of a whole pre-token, and a
phrase is cut at the pre-tokens that are several tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.core._phrases import SEPARATOR
from hf_bpe.core._supermerges import Supermerges
from hf_bpe.core.reference import Encoder, learn_pairs, numbered_tokens

__all__ = ["learn_supermerges"]


def learn_supermerges(
    phrases: Mapping[bytes, int],
    *,
    merges: Sequence[Merge],
    max_merges: int,
    tie_break: str = "lexicographic",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    length_penalty: float = 0.0,
    max_words: int | None = None,
    colon_space: bool = True,
    initial: Sequence[Merge] = (),
    progress: Callable[[list[Merge], int], object] | None = None,
) -> list[Merge]:
    r"""Learn supermerges from phrases and how often each occurs.

    At each step the phrases are encoded by the merges and all supermerges so far.

    Args:
        phrases: phrase → number of occurrences; see `_phrases`.
        merges: the merges inside pre-tokens.
        max_merges: number of supermerges to learn.
        tie_break, min_frequency, max_token_bytes, length_penalty, max_words, colon_space, progress: see
            `reference.learn_merges`. Tokens are numbered after those of `merges`.
        initial: existing supermerges, in the order of their ranks. They are not returned.

    >>> merges = [(b"o", b"f"), (b" ", b"t"), (b" t", b"o"), (b" ", b"of")]
    >>> learn_supermerges({b"of\xff to\xff of": 2, b" to\xff of\xff a": 1}, merges=merges, max_merges=2)
    [(b' to', b' of'), (b'of', b' to of')]
    """

    def encode(tokens: list[bytes], learned: list[Merge]) -> tuple[list[list[int]], list[int]]:
        encoder = Encoder(BPEModel(dict(enumerate(tokens)), [*merges]))
        supermerges = [*initial, *learned]
        of_runs = Supermerges(BPEModel(dict(enumerate(tokens)), [*merges], supermerges=supermerges))
        sequences, weights = [], []
        for phrase, count in phrases.items():
            words = [(word, encoder.encode_word(word)) for word in phrase.split(SEPARATOR)]
            run: list[int] = []
            for _, ids in [*of_runs.apply(words), (1, [])]:
                if len(ids) == 1:
                    run += ids
                elif run:
                    sequences.append(run)
                    weights.append(count)
                    run = []
        return sequences, weights

    return learn_pairs(
        numbered_tokens([*merges, *initial]),
        encode,
        max_merges=max_merges,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_bytes=max_token_bytes,
        length_penalty=length_penalty,
        max_words=max_words,
        colon_space=colon_space,
        progress=progress,
    )
