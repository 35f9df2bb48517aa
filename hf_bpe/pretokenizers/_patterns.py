r"""Split patterns, which cut text into pre-tokens before any merge.

A pattern is a name (`NAMES`), a regular expression, a chain of stages (`PreTokenizer`), or None for no
pre-tokenization. Text between two matches of an expression is a pre-token of its own, so no text is lost; an empty
match is a cut.

Expressions mean what they mean in `tokenizer.json`, which Oniguruma reads: `^` and `$` are the ends of lines, classes
nest, `a{2,3}+` is not possessive. They are compiled for the native core, and translated for the `regex` package, which
runs them in the reference; a construct that cannot be translated exactly (back-references, recursion, `\K`, …) is
refused.

Character classes are those of Unicode 16.0, whichever `regex` is installed, because a tokenizer must not change when a
library is upgraded. Code points that a newer `regex` knows and Unicode 16.0 does not are replaced by stand-ins.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeGuard

from hf_bpe.pretokenizers._chains import PreTokenizer
from hf_bpe.pretokenizers._named_patterns import NAMED_PATTERNS, PATTERNS, SPELLINGS, WITH_SCANNER, name_meant
from hf_bpe.pretokenizers._regex.dialects import FileExpression, check_is_clear, is_clear
from hf_bpe.pretokenizers._stages import MAX_LENGTH, ByteLevel, Metaspace, Split, Stage

AnyPattern = str | PreTokenizer | Metaspace | Sequence[Stage] | Mapping[str, Any] | None
"""A pattern: see `canonical_pattern`."""

UNICODE_VERSION = "16.0"

# The 25 characters of the Unicode property White_Space, which `\s` means here (Python's str.isspace has four more).
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"

# Where text may be cut without changing its pre-tokens, for a pattern that has a scanner. None of these looks back, and
# none has a pre-token with a non-white-space character followed by a space, or a letter or number followed by any white
# space. Nor has a chain, or its text between matches, because white space is always matched. This finds such places
# where ASCII is before the cut, or a space after it.
_SAFE_CUT_IN_BYTES = re.compile(
    rb"[\t-\r ](?:(?<=[0-9A-Za-z][\t-\r ])|(?<=[^\t-\r ] )"
    # The other characters of WHITE_SPACE: none of their bytes is part of a longer character.
    rb"(?<!\xc2[\x85\xa0] )(?<!\xe1\x9a\x80 )(?<!\xe2\x80[\x80-\x8a\xa8\xa9\xaf] )(?<!\xe2\x81\x9f )(?<!\xe3\x80\x80 ))"
)


def canonical_pattern(pattern: AnyPattern) -> str | None:
    r"""Return the canonical form of a pattern: its name, None for no split, an expression, or the JSON of a chain.

    Other spellings of a named pattern that are known to cut identically also return its name. An expression is read as
    in a `tokenizer.json`. One that tiktoken reads differently is refused, because it may have been copied from there;
    in a `Split`, and as the pattern of a tokenizer that was read from a file, it is clear.

    Args:
        pattern: a name, a regular expression, a `PreTokenizer` or a list of its stages, their JSON as in
            `tokenizer.json` (parsed or not), or None. Where a list has no `ByteLevel`, one that does not split is
            added.

    Raises:
        TypeError: the pattern is of another type.
        ValueError: the name is unknown, the expression is invalid, has a construct that is not supported or one that
            tiktoken reads differently, a stage is invalid, or the pattern is too long: over 10,000 characters of
            expressions, or 64 stages.

    >>> canonical_pattern(PATTERNS["gpt2"]), canonical_pattern("none")
    ('gpt2', None)
    >>> canonical_pattern([Split(PATTERNS["gpt2"])])
    'gpt2'
    >>> from hf_bpe.pretokenizers import Digits
    >>> canonical_pattern([Digits(), Split(r"\p{L}+")])  # doctest: +ELLIPSIS
    '{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":false},{"type":"Split",...
    """
    found = stored_pattern(pattern)
    is_given = isinstance(pattern, str) and not isinstance(pattern, FileExpression)
    if is_given and isinstance(found, FileExpression) and pattern == found:  # not the JSON of a chain
        try:
            check_is_clear(found)
        except ValueError as error:
            raise ValueError(f"pattern {found[:80]!r}: {error}") from None
    return found


def stored_pattern(pattern: AnyPattern) -> str | None:
    """Return the canonical form of a pattern that a file stores, where all expressions are read as in `tokenizer.json`.

    The result is a `FileExpression` if `canonical_pattern` would refuse it.

    Raises:
        TypeError, ValueError: as `canonical_pattern`.
    """
    if pattern is None or isinstance(pattern, FileExpression):
        return pattern
    try:
        return _stored_pattern(pattern)
    except RecursionError:  # the calling code may have left little room
        raise ValueError("pattern: nested too deeply for the rest of the stack; expected fewer levels") from None


def _stored_pattern(pattern: str | PreTokenizer | Metaspace | Sequence[Stage] | Mapping[str, Any]) -> str | None:
    if isinstance(pattern, str) and not _LIKE_JSON.match(pattern):
        return None if pattern == "none" else _canonical_expression(pattern)
    try:
        return _canonical_chain(_parse_chain(pattern))
    except (TypeError, ValueError) as error:
        raise type(error)(f"pattern: {str(error).removeprefix('pattern: ')}") from None


def _parse_chain(pattern: str | PreTokenizer | Metaspace | Sequence[Stage] | Mapping[str, Any]) -> PreTokenizer:
    if isinstance(pattern, str):
        return _chain(pattern)
    if isinstance(pattern, PreTokenizer):
        return pattern
    if isinstance(pattern, Mapping):
        return PreTokenizer.from_json(pattern)
    if isinstance(pattern, (list, tuple)):
        stages = tuple(pattern)
        is_complete = any(isinstance(stage, (ByteLevel, Metaspace)) for stage in stages)
        return PreTokenizer(stages if is_complete else (*stages, ByteLevel()))
    if isinstance(pattern, Metaspace):
        return PreTokenizer((pattern,))
    raise TypeError(
        "expected a name, a regular expression, a PreTokenizer, a list of stages, their JSON, or None; got "
        f"{type(pattern).__name__}"
    )


def _canonical_expression(pattern: str) -> str:
    if pattern in NAMES:
        return pattern
    if _LIKE_A_NAME.fullmatch(pattern) and len(pattern) <= MAX_LENGTH:
        known, meant = ", ".join([*NAMES, "none"]), name_meant(pattern)
        advice = "" if meant is None else f"did you mean {meant!r}? "
        raise ValueError(
            f"pattern {pattern!r:.80} is not known: {advice}{'Expected' if advice else 'expected'} one of {known}, or "
            "a regular expression"
        )
    if (name := _NAME_OF.get(pattern)) is not None:
        return name
    try:
        tree = _tree(pattern)
    except ValueError as error:
        raise ValueError(f"pattern {pattern[:80]!r} cannot be used: {error}") from None
    return _names_of_trees().get(tree) or _as_file_expression(pattern)


def _as_file_expression(expression: str) -> str:
    return expression if is_clear(expression) else FileExpression(expression)


def _canonical_chain(chain: PreTokenizer) -> str | None:
    for stage in chain.stages:
        if isinstance(stage, Split) and not stage.is_literal and stage.expression not in _NAME_OF:
            try:
                _tree(stage.expression)
            except ValueError as error:
                raise ValueError(f"Split: {stage.expression[:80]!r} cannot be used: {error}") from None
    if chain in _NAMES_OF_CHAINS:
        return _NAMES_OF_CHAINS[chain]
    *others, last = chain.stages
    if isinstance(last, Metaspace):
        return chain.canonical
    if not others and last in _BUILT_IN:
        return _BUILT_IN[last]
    only = others[0] if len(others) == 1 and last == ByteLevel() else None
    if isinstance(only, Split) and not only.is_literal:
        name = _NAME_OF.get(only.expression) or _names_of_trees().get(_tree(only.expression))
        # A named pattern matches all text, so keeping only the matches leaves nothing out.
        if name is not None and (only.behavior, only.invert) in (("Isolated", False), ("Removed", True)):
            # Files of cl100k and of Llama 3, which cut identically, have one expression and differ in this only.
            return "cl100k" if (name, only.invert) == ("llama3", True) else name
        if only == Split(only.expression) and not _LIKE_A_NAME.fullmatch(only.expression):
            return _as_file_expression(only.expression)
        return chain.canonical
    return _names_of_chains().get(_with_trees(chain), chain.canonical)


CHAINS: dict[str, PreTokenizer] = {
    name: PreTokenizer(each.cuts) for name, each in NAMED_PATTERNS.items() if not isinstance(each.cuts, str)
}
"""The chains with names, from the `tokenizer.json` files of StarCoder and others, MiniCPM5, and DeepSeek V3."""

NAMES = (*PATTERNS, *CHAINS)
"""The names of patterns."""

_NAME_OF = {**SPELLINGS, **{expression: name for name, expression in PATTERNS.items()}}
_NAMES_OF_CHAINS = {chain: name for name, chain in CHAINS.items()}
_LIKE_JSON = re.compile(r'\s*\{\s*"type"')
_LIKE_A_NAME = re.compile(r"[\w.-]*")
_BUILT_IN: dict[Stage, str | None] = {ByteLevel(use_regex=True): "gpt2", ByteLevel(): None}


def _tree(expression: str) -> object:
    r"""Return what is equal for expressions that differ only in notation, such as `\n` and a newline."""
    from hf_bpe.pretokenizers._regex.parser import parse  # takes time to import, and named patterns do not need it

    return parse(expression)


def _with_trees(chain: PreTokenizer) -> tuple[object, ...]:
    return tuple(
        (_tree(stage.expression), stage.behavior, stage.invert)
        if isinstance(stage, Split) and not stage.is_literal
        else stage
        for stage in chain.stages
    )


@lru_cache(maxsize=1)
def _names_of_trees() -> dict[object, str]:
    return {_tree(expression): name for expression, name in _NAME_OF.items()}


@lru_cache(maxsize=1)
def _names_of_chains() -> dict[tuple[object, ...], str]:
    return {_with_trees(chain): name for name, chain in CHAINS.items()}


@lru_cache(maxsize=64)
def _chain(pattern: str) -> PreTokenizer:
    if pattern in CHAINS:
        return CHAINS[pattern]
    try:
        return PreTokenizer.from_json(json.loads(pattern))
    except json.JSONDecodeError as error:
        raise ValueError(f"pattern {pattern[:80]!r}: expected the JSON of a pre-tokenizer: {error}") from None


def pre_tokenizer(pattern: str | None) -> PreTokenizer:
    """Return the chain of a canonical pattern.

    >>> pre_tokenizer("gpt2")
    PreTokenizer(stages=(ByteLevel(add_prefix_space=False, use_regex=True),))
    """
    if is_chain(pattern):
        return _chain(pattern)
    if pattern is None or pattern == "gpt2":
        return PreTokenizer((ByteLevel(use_regex=pattern is not None),))
    return PreTokenizer((Split(str(PATTERNS.get(pattern, pattern))), ByteLevel()))


def metaspace_of(pattern: str | None) -> Metaspace | None:
    """Return the `Metaspace` that a canonical pattern is; None if it is another."""
    if pattern is None or '"Metaspace"' not in pattern or not is_chain(pattern):
        return None
    first = _chain(pattern).stages[0]
    return first if isinstance(first, Metaspace) else None


def is_chain(pattern: str | None) -> TypeGuard[str]:
    """Return whether a canonical pattern is a chain of stages, which no expression is equivalent to."""
    return pattern is not None and (pattern in CHAINS or pattern.startswith('{"type"'))


def pattern_expression(pattern: str | None) -> str | None:
    """Return the regular expression of a canonical pattern, None for no pre-tokenization.

    Raises:
        ValueError: the pattern is a chain, which no expression is equivalent to.
    """
    if is_chain(pattern):
        raise ValueError(
            f"the pre-tokenizer {pattern:.200} is a chain of stages, which no regular expression can express"
        )
    return None if pattern is None else PATTERNS.get(pattern, pattern)


def safe_cut_in_bytes(pattern: str | None) -> re.Pattern[bytes]:
    """Return the expression of the places where UTF-8, or any bytes, can certainly be cut without changing pre-tokens.

    The native core cuts at exactly these places, so either engine may read any part of a file.
    """
    if pattern in WITH_SCANNER:
        return _SAFE_CUT_IN_BYTES
    return re.compile((_NO_CUT if pattern is None else _safe_cut(pattern)).encode())


_NO_CUT = "(?!)"


@lru_cache(maxsize=64)
def _safe_cut(pattern: str) -> str:
    """Return the expression of the places at which a pattern without scanner allows cuts: between ASCII characters."""
    from hf_bpe.pretokenizers._chain_programs import compile_chain  # which named patterns do not need
    from hf_bpe.pretokenizers._regex.program import TooComplexError

    try:
        cuts = compile_chain(pre_tokenizer(pattern)).cuts
    except TooComplexError:
        return _NO_CUT
    before: dict[str, str] = {}
    for left, right in cuts.items():
        before[right] = before.get(right, "") + left
    return "|".join(f"(?<=[{re.escape(left)}])(?=[{re.escape(right)}])" for right, left in before.items()) or _NO_CUT
