r"""Split expressions of tiktoken: read as it reads them, written only if it reads them as we do.

tiktoken loses text between matches. `hf_bpe.pretokenizers._regex.dialects` has what it reads differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.pretokenizers._regex.checks import first_uncertain_character, may_be_empty
from hf_bpe.pretokenizers._regex.dialects import differences, translate
from hf_bpe.pretokenizers._regex.parser import parse
from hf_bpe.pretokenizers._regex.tree import ANYTHING, OneOf, Repeat
from hf_bpe.pretokenizers._stages import Split

_WHOLE_TEXT = Repeat(OneOf(ANYTHING), 1, None, True)
# tiktoken's expression of cl100k_base since 0.7. It cuts as the pattern of that name, except for white space at the end
# of a text: `\s++$` takes all of it, and the pattern cuts after the last line end. That gives other ids only if a token
# continues after a line end with white space, which none of OpenAI's does.
_CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]"
    r"|\s+(?!\S)|\s"
)
_AFTER_LINE_END = re.compile(
    rb"[\r\n](?:[\t\v\f ]|\xc2[\x85\xa0]?|\xe1(?:\x9a\x80?)?|\xe2(?:\x80[\x80-\x8a\xa8\xa9\xaf]?|\x81\x9f?)?"
    rb"|\xe3(?:\x80\x80?)?)+\Z"
)


def read_expression(expression: str, tokens: Iterable[bytes]) -> Pattern:
    r"""Return the pattern that cuts text as tiktoken does by its expression.

    It may depend on the tokens of the vocabulary whether a named pattern gives the same ids.

    >>> read_expression(r"\p{N}{1,3}+|\P{N}+$|\P{N}", []).canonical
    '(?>\\p{N}{1,3})|\\P{N}+\\z|\\P{N}'
    """
    if expression == _CL100K and not any(map(_AFTER_LINE_END.search, tokens)):
        return Pattern("cl100k")
    try:
        split = Split(translate(expression))
        tree = parse(split.expression)
        if may_be_empty(tree):
            raise ValueError("it may match no character, where tiktoken fails; expected + instead of *")
    except ValueError as error:
        raise ValueError(f"pattern {expression[:80]!r} cannot be used: {error}") from None
    pattern = Pattern.parse([split])
    if pattern.has_scanner:  # which match all text
        return pattern
    if tree == _WHOLE_TEXT:
        return Pattern(None)
    if first_uncertain_character(tree):  # matches may leave text out, which tiktoken drops
        return Pattern.parse([Split(split.expression, "Removed", invert=True)])
    return pattern


@lru_cache(maxsize=64)
def check_means_the_same(pattern: Pattern) -> None:
    r"""Raise a ValueError if tiktoken may split text differently by the expression of a pattern, which is no chain.

    >>> check_means_the_same(Pattern.parse(r"\p{L}+|\P{L}"))
    >>> check_means_the_same(Pattern.parse(r"\p{L}+"))  # doctest: +NORMALIZE_WHITESPACE
    Traceback (most recent call last):
    ValueError: the pattern '\\p{L}+' may leave text between its matches, such as ' ', which tiktoken loses; add an
    alternative
    >>> check_means_the_same(Pattern.parse(r"\w+|\W"))
    Traceback (most recent call last):
    ValueError: the pattern '\\w+|\\W' has '\\w', which tiktoken may read differently
    """
    expression = pattern.expression
    if expression is None or pattern.has_scanner:
        return
    if parts := differences(expression):
        raise ValueError(f"the pattern {expression!r:.80} has {parts[0].source!r}, which tiktoken may read differently")
    tree = parse(expression)
    if may_be_empty(tree):
        raise ValueError(f"the pattern {expression!r:.80} may match no character, where tiktoken cuts differently")
    if lost := first_uncertain_character(tree):
        raise ValueError(
            f"the pattern {expression!r:.80} may leave text between its matches, such as {lost!r}, which tiktoken "
            "loses; add an alternative"
        )
