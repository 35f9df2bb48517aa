r"""The definition of superwords: tokens of several words, learned in a second stage of training.

Stage 1 is ordinary training on pre-tokens. For stage 2 the text is cut again, by a weak pattern that keeps the spaces
between words inside its pieces. The merges of stage 1 are applied to these pieces, and training continues on them: each
further merge is that of the most frequent pair that gives an allowed token. So stage 2 is `reference.learn_merges` on
pieces with the first merges as `initial`, within limits on the words of a token. A tokenizer then cuts text by the weak
pattern and applies all merges.

Source: Liu, Hayase and others, "SuperBPE: Space Travel for Language Models" (arXiv:2503.13423), with the pattern and
the limits of their published code.
"""

from __future__ import annotations

PATTERN = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"
"""The weak pattern: groups of up to three digits, runs of two or more punctuation marks, trailing spaces."""


def count_words(token: bytes) -> int:
    """Return the number of words of a token: of runs of bytes other than the space.

    >>> count_words(b" of the"), count_words(b"the  "), count_words(b"  ")
    (2, 1, 0)
    """
    return sum(map(bool, token.split(b" ")))


def is_allowed(token: bytes, max_words: int | None, colon_space: bool) -> bool:
    """Return whether a merge may make a token, for its number of words and whether it holds a colon and a space."""
    return (max_words is None or count_words(token) <= max_words) and (colon_space or b": " not in token)
