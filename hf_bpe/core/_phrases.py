r"""Phrases: the runs of mergeable pre-tokens in which BoundlessBPE learns and makes tokens of several pre-tokens.

A pre-token is mergeable if it is valid UTF-8 with a letter and without a newline. A phrase is a longest run of two or
more of them. It is written as their bytes with the byte 0xFF, which no UTF-8 has, between them, so phrases are counted
like pre-tokens: by the pattern `{"phrases": …}` of a pattern.

Text can be cut, without changing a phrase, where it can be cut for the pattern and one of the two pre-tokens there is
certainly not mergeable: next to a newline; and, by a pattern with a name, after an ASCII character that is no letter,
because no such pattern has a letter and that at the end of one pre-token.

Source: Schmidt, Tanner and Pinter, "Faster Superword Tokenization" (arXiv:2604.05192), and their published code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import lru_cache

import regex

from hf_bpe.core._newer_characters import hide_newer

__all__ = ["SEPARATOR", "is_mergeable", "join", "pattern_of_phrases", "phrases_pattern", "runs_of_mergeable"]

SEPARATOR = b"\xff"
"""The byte between the pre-tokens of a phrase."""

_PREFIX = '{"phrases"'
_LETTER = regex.compile(r"\p{L}")


@lru_cache(maxsize=1 << 16)
def is_mergeable(pre_token: bytes) -> bool:
    r"""Return whether a pre-token may be merged with its neighbours.

    >>> is_mergeable(b" of"), is_mergeable(b" 42"), is_mergeable(b"of\n"), is_mergeable(b"of\xff")
    (True, False, False, False)
    """
    if b"\n" in pre_token:
        return False
    try:
        text = pre_token.decode()
    except UnicodeDecodeError:
        return False
    return _LETTER.search(hide_newer(text)) is not None


def runs_of_mergeable(pre_tokens: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield each longest run of two or more mergeable pre-tokens of a text.

    >>> [*runs_of_mergeable([b"one", b" of", b",", b" the", b" 1", b"a", b" b", b" c"])]
    [[b'one', b' of'], [b'a', b' b', b' c']]
    """
    run: list[bytes] = []
    for pre_token in pre_tokens:
        if is_mergeable(pre_token):
            run.append(pre_token)
            continue
        if len(run) > 1:
            yield run
        run = []
    if len(run) > 1:
        yield run


def join(run: Iterable[bytes]) -> bytes:
    r"""Return the phrase of a run of mergeable pre-tokens.

    >>> join([b"one", b" of"])
    b'one\xff of'
    """
    return SEPARATOR.join(run)


def phrases_pattern(pattern: str | None) -> str:
    """Return the pattern of the phrases of a canonical pattern.

    >>> phrases_pattern("gpt2")
    '{"phrases":"gpt2"}'
    """
    return json.dumps({"phrases": pattern}, separators=(",", ":"))


def pattern_of_phrases(pattern: str | None) -> str | None:
    """Return the pattern whose phrases a pattern counts; None if it is no pattern of phrases.

    Raises:
        ValueError: the JSON is malformed.

    >>> pattern_of_phrases('{"phrases":"gpt2"}'), pattern_of_phrases("gpt2")
    ('gpt2', None)
    """
    if pattern is None or not pattern.startswith(_PREFIX):
        return None
    try:
        inner = json.loads(pattern)["phrases"]
    except (ValueError, KeyError, TypeError):
        inner = None
    if not isinstance(inner, str) or inner.startswith(_PREFIX):
        raise ValueError(f"pattern {pattern[:80]!r}: expected the phrases of a named pattern or an expression")
    return inner
