r"""Split patterns, which cut text into pre-tokens before any merge.

A pattern is a name (`PATTERNS`), a regular expression of the `regex` package, or None for no pre-tokenization. Text
between two matches is a pre-token of its own, so no text is lost; an empty match is a cut.

Character classes are those of Unicode 16.0, whichever `regex` is installed, because a tokenizer must not change when a
library is upgraded. Code points that a newer `regex` knows and Unicode 16.0 does not are replaced by stand-ins.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import lru_cache

import regex

from hf_bpe.core._unicode import UNASSIGNED

__all__ = ["PATTERNS", "UNICODE_VERSION", "canonical_pattern", "find_safe_cuts", "pattern_expression", "split"]

UNICODE_VERSION = "16.0"

# The 25 characters of the Unicode property White_Space, which `\s` means here (Python's str.isspace has four more).
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"

# Sources: gpt2 from OpenAI's GPT-2 release, cl100k and o200k from tiktoken, llama3 and qwen2 from the tokenizer.json
# files of those models. cl100k and llama3 cut identically; both names exist because people look for both.
PATTERNS: dict[str, str] = {
    "gpt2": r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""",
    "cl100k": (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
        r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    "o200k": (
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
        r"""|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
        r"""|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    "llama3": (
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
        r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
    "qwen2": (
        r"""(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"""
        r"""|\s*[\r\n]+|\s+(?!\S)|\s+"""
    ),
}

# Other spellings of named patterns that occur in files. They cut every text identically: without `+` after the last
# `\s` no match differs, because `\s+(?!\S)` leaves one character; possessive quantifiers never had anything to give
# back.
_SPELLINGS: dict[str, str] = {
    # OpenAI's GPT-2 release and most tokenizer.json files; tiktoken since 0.7 and before.
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
    r"""'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+""": "gpt2",
    r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""": "gpt2",
    # tiktoken since 0.7; minbpe.
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"""
    r"""|\s*[\r\n]|\s+(?!\S)|\s""": "cl100k",
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"""
    r"""|\s+(?!\S)|\s+""": "cl100k",
}

# Where text may be cut without changing its pre-tokens. No named pattern looks back, and none matches a non-white-space
# character followed by a space, or a letter or number followed by any white space.
_SAFE_CUT = regex.compile(r"(?<=\S)(?= )|(?<=[\p{L}\p{N}])(?=\s)")

# The same for UTF-8, or any bytes, where ASCII is before the cut, or a space after it. The native core cuts at exactly
# these places, so either engine may read any part of a file.
SAFE_CUT_IN_BYTES = re.compile(
    rb"[\t-\r ](?:(?<=[0-9A-Za-z][\t-\r ])|(?<=[^\t-\r ] )"
    # The other characters of WHITE_SPACE: none of their bytes is part of a longer character.
    rb"(?<!\xc2[\x85\xa0] )(?<!\xe1\x9a\x80 )(?<!\xe2\x80[\x80-\x8a\xa8\xa9\xaf] )(?<!\xe2\x81\x9f )(?<!\xe3\x80\x80 ))"
)

# Unicode 17 moved U+0295 from Ll to Lo; U+0252 is Ll in both.
_RECATEGORIZED = {0x0295: 0x0252}
_ASSIGNED = regex.compile(r"\P{Cn}+")
_NONCHARACTER = 0xFDD0  # a noncharacter in every version of Unicode, so of category Cn like the hidden ones


def canonical_pattern(pattern: str | None) -> str | None:
    """Return the canonical form of a pattern: its name if it has one, None for "none", else the expression itself.

    Other spellings of a named pattern that are known to cut identically also return its name.

    Raises:
        TypeError: the pattern is neither str nor None.
        ValueError: the name is unknown, or the expression is invalid or searches backwards.

    >>> canonical_pattern(PATTERNS["gpt2"]), canonical_pattern("none")
    ('gpt2', None)
    """
    if pattern is None:
        return None
    if not isinstance(pattern, str):
        raise TypeError(f"pattern: expected a name, a regular expression or None, got {type(pattern).__name__}")
    if pattern == "none":
        return None
    if pattern in PATTERNS:
        return pattern
    for name, expression in PATTERNS.items():
        if pattern == expression:
            return name
    if pattern in _SPELLINGS:
        return _SPELLINGS[pattern]
    if re.fullmatch(r"[\w.-]*", pattern):
        known = ", ".join([*PATTERNS, "none"])
        raise ValueError(f"pattern {pattern!r} is not known: expected one of {known}, or a regular expression")
    try:
        compiled = regex.compile(pattern)
    except (regex.error, RecursionError) as error:
        raise ValueError(f"pattern {pattern[:80]!r} is not a regular expression: {error}") from None
    if compiled.flags & regex.REVERSE:
        raise ValueError(f"pattern {pattern!r} searches backwards because of (?r); expected one that searches forwards")
    return pattern


def pattern_expression(pattern: str | None) -> str | None:
    """Return the regular expression of a canonical pattern, None for no pre-tokenization."""
    return None if pattern is None else PATTERNS.get(pattern, pattern)


def split(text: str, pattern: str | None) -> list[str]:
    """Cut text into pre-tokens, whose concatenation is the text.

    Args:
        text: any text; a lone surrogate belongs to no character class, so U+DC80 to U+DCFF can stand for invalid bytes.
        pattern: a canonical pattern.

    >>> split("Hello, you're  here 42", "gpt2")
    ['Hello', ',', ' you', "'re", ' ', ' here', ' 42']
    """
    if not text:
        return []
    if pattern is None:
        return [text]
    compiled = _compile(pattern)
    masked = hide_newer(text)
    try:
        return _split(text, masked, compiled, None if pattern in PATTERNS else _seconds_for(text))
    except TimeoutError as error:
        if error.args != _TIMED_OUT:  # raised by a signal handler of the caller
            raise
        raise ValueError(
            f"pattern {pattern[:80]!r} took over {_seconds_for(text):.0f} s for a text of {len(text)} characters; "
            "expected an expression that backtracks little, such as a+ or (?>aa|a)+ instead of (?:a|aa)+"
        ) from None


def _split(text: str, masked: str, compiled: regex.Pattern[str], seconds: float | None) -> list[str]:
    """Cut text at the matches in `masked`; raise a TimeoutError after `seconds`."""
    if masked is text and compiled.groups == 0 and len(text) < _LONG:
        pieces: list[str] = compiled.findall(text, timeout=seconds)
        if sum(map(len, pieces)) == len(text) and "" not in pieces:
            return pieces
    # The slow path: for stand-ins, gaps and groups, and for long texts, where Ctrl-C must work between matches.
    pieces, end, position = [], 0, 0
    deadline = None if seconds is None else time.monotonic() + seconds
    while position <= len(text):
        if (match := compiled.search(masked, position, timeout=_left(deadline))) is None:
            break
        start, stop = match.span()
        if start > end:
            pieces.append(text[end:start])
        if stop > start:
            pieces.append(text[start:stop])
        end = stop
        # Unlike finditer, and like tokenizers, skip a second match at the position of an empty one.
        position = stop if stop > start else stop + 1
    if end < len(text):
        pieces.append(text[end:])
    return pieces


_LONG = 1 << 20
_TIMED_OUT = ("regex timed out",)  # what `regex` gives its TimeoutError
_SECONDS = 20.0  # for any text, however short
_SECONDS_PER_CHARACTER = 2e-5  # a hundred times the cost of the named patterns


def _seconds_for(text: str) -> float:
    """Return the time limit in seconds for matching an expression in a text."""
    return _SECONDS + _SECONDS_PER_CHARACTER * len(text)


def _left(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError(*_TIMED_OUT)
    return left


def find_safe_cuts(text: str, pattern: str | None) -> Iterator[int]:
    """Yield indices at which text can certainly be cut without changing its pre-tokens.

    Only the named patterns are analysed; any other pattern may look ahead or behind by any distance.

    >>> [*find_safe_cuts("Hello world, again", "gpt2")]
    [5, 12]
    """
    if pattern in PATTERNS:
        for match in _SAFE_CUT.finditer(hide_newer(text)):
            yield match.start()


def hide_newer(text: str) -> str:
    """Return text of the same length in which `regex` sees the classes of Unicode 16.0; the text itself if possible."""
    if text.isascii():
        return text
    finder, table = _stand_ins()
    return text.translate(table) if finder.search(text) else text


@lru_cache(maxsize=64)
def _compile(pattern: str) -> regex.Pattern[str]:
    return regex.compile(PATTERNS.get(pattern, pattern))


@lru_cache(maxsize=1)
def _stand_ins() -> tuple[re.Pattern[str], dict[int, int]]:
    """Return an expression for characters that the installed `regex` knows beyond Unicode 16.0, and their stand-ins."""
    table = dict(_RECATEGORIZED)
    members = "".join(map(chr, _RECATEGORIZED))
    for first, last in UNASSIGNED:
        for match in _ASSIGNED.finditer("".join(map(chr, range(first, last + 1)))):
            table.update((ord(char), _NONCHARACTER) for char in match.group())
            members += f"{chr(first + match.start())}-{chr(first + match.end() - 1)}"
    # `re` rather than `regex`, because it tests a class with a bitmap. No member of the class needs escaping.
    return re.compile(f"[{members}]"), table
