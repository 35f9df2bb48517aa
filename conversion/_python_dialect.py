"""Expressions that other libraries read: do they split text by it as hf_bpe does?

Here an expression means what Oniguruma makes of it in a `tokenizer.json`. minbpe runs it with the `regex` package,
tiktoken with fancy-regex, and both lose text between matches. So only notation that means the same in all three is
written, and only if the matches leave no text out.
"""

from __future__ import annotations

from functools import lru_cache

import regex

from hf_bpe.core._expressions import parse
from hf_bpe.core._matching import seconds_for
from hf_bpe.core._newer_characters import hide_newer
from hf_bpe.core._regex_dialect import check_expansion
from hf_bpe.core.pretokenizers import PATTERNS, split
from hf_bpe.tokenizer._files.stress_texts import STRESS_TEXTS

_PROPERTY = r"\\[pP]\{(?:L[ultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|Han)\}"
_ESCAPE = r"\\(?:[sSdDwWrnt]|[^\w\s])"
_CLASS = rf"\[\^?(?:{_PROPERTY}|{_ESCAPE}|(?!&&|--|~~|\|\|)[^\[\]\\])+\]"
_ATOM = rf"{_PROPERTY}|{_ESCAPE}|{_CLASS}|\.|[^\^$\\.\[\]|()?*+{{}}]"
_QUANTIFIER = r"[*+?][+?]?|\{\d+(?:,\d*)?\}(?![+?])"
_COMMON = regex.compile(rf"(?:{_ATOM}|{_QUANTIFIER}|\(\?(?:[:=!>]|i:|<[=!])|\)|\|)*")


@lru_cache(maxsize=64)
def check_means_the_same(pattern: str | None, library: str) -> None:
    r"""Raise a ValueError if a library may split text differently by the expression of a pattern, which is no chain.

    >>> check_means_the_same(r"\p{L}+|\P{L}", "minbpe")
    >>> check_means_the_same(r"\w+", "minbpe")
    Traceback (most recent call last):
    ValueError: the pattern '\\w+' leaves text between its matches, such as ' ', which minbpe loses; add an alternative
    >>> check_means_the_same(r"[a-z&&[^x]]|(?s:.)", "minbpe")
    Traceback (most recent call last):
    ValueError: the pattern '[a-z&&[^x]]|(?s:.)' has '[a-z&&[^x', which minbpe may read differently
    """
    if pattern is None or pattern in PATTERNS:
        return
    common = _COMMON.match(pattern)
    assert common is not None  # it may be empty
    if common.end() < len(pattern):
        raise ValueError(
            f"the pattern {pattern!r} has {pattern[common.end() :][:9]!r}, which {library} may read differently"
        )
    compiled = compile_in_python(pattern)
    for text in (*STRESS_TEXTS, _all_characters()):
        masked = hide_newer(text)
        expected = split(masked, pattern)
        try:
            spans = [match.span() for match in compiled.finditer(masked, timeout=seconds_for(masked))]
        except TimeoutError:
            raise ValueError(f"the pattern {pattern!r} backtracks too much for {library}") from None
        end = 0
        for start, stop in spans:
            if start > end:
                break
            end = stop
        if end < len(text):
            raise ValueError(
                f"the pattern {pattern!r} leaves text between its matches, such as {text[end]!r}, which {library} "
                "loses; add an alternative"
            )
        if [masked[start:stop] for start, stop in spans if start < stop] != expected:
            raise ValueError(f"{library} would split text differently by the pattern {pattern!r}")


def compile_in_python(expression: str) -> regex.Pattern[str]:
    """Return what the package `regex` makes of an expression that is written for another library.

    Raises:
        ValueError: `regex` cannot compile it, or would take too long.
    """
    try:
        check_expansion(parse(expression))
        return regex.compile(expression)
    except (ValueError, regex.error) as error:
        raise ValueError(f"the pattern {expression!r} cannot be read in Python: {error}") from None


@lru_cache(maxsize=1)
def _all_characters() -> str:
    """Return every character of the first two planes, apart from each other by a letter or not."""
    characters = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    return "".join(characters) + "a".join(characters[::7])
