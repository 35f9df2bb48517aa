"""Splitting of text into pre-tokens in plain Python, with the meanings that `tokenizers` gives to the stages.

The `regex` package matches expressions: with the classes of Unicode 16.0, and within a time limit.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import regex

from hf_bpe.pretokenizers._byte_level import from_printable, to_printable
from hf_bpe.pretokenizers._named_patterns import PATTERNS
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer
from hf_bpe.pretokenizers._stages import ByteLevel, Metaspace, Split

Span = tuple[int, int]

_TIMED_OUT = ("regex timed out",)  # what `regex` gives its TimeoutError
_SECONDS = 20.0  # for any text, however short
# A hundred times the cost of the named patterns: `regex` counts the time of all threads of the process.
_SECONDS_PER_CHARACTER = 2e-5

_GPT2 = Split(PATTERNS["gpt2"])

# Whether a part of a text joins the one before it, given whether each of the two is a match.
_JOINS: dict[str, Callable[[bool, bool], bool]] = {
    "MergedWithPrevious": lambda is_match, was_match: is_match and not was_match,
    "MergedWithNext": lambda is_match, was_match: was_match and not is_match,
    "Contiguous": lambda is_match, was_match: is_match == was_match,
}


class PreToken(NamedTuple):
    """A pre-token and its place.

    Attributes:
        data: its bytes, in which a `Metaspace` has written spaces as another character.
        start: the position in the text of its first byte; one less if that is a space that a stage put before it.
        lowest: the position of the first byte that is not such a space.
    """

    data: bytes
    start: int
    lowest: int


_Placed = tuple[str, int, int]
"""A pre-token as text, which may be in printable characters, and the other fields of `PreToken`."""


def pre_tokens(text: str, pattern: AnyPattern) -> list[PreToken]:
    """Cut a text, in which U+DC80 to U+DCFF stand for invalid bytes, by a pattern.

    >>> pre_tokens("a  12", "gpt2")[1:]
    [PreToken(data=b' ', start=1, lowest=1), PreToken(data=b' 12', start=2, lowest=2)]
    """
    pieces, as_bytes = split(text, pattern)
    return [PreToken(as_bytes(piece), start, lowest) for piece, start, lowest in pieces]


def split(text: str, pattern: AnyPattern) -> tuple[list[_Placed], Callable[[str], bytes]]:
    """Return the pieces of a text, and the function that turns a piece into bytes; see `pre_tokens`."""
    stages, matcher = Pattern.read(pattern).chain.stages, _Matcher(text)
    pieces: list[_Placed] = [(text, 0, 0)] if text else []
    is_mapped = False  # whether the pieces are in printable characters
    for stage in stages:
        if isinstance(stage, Metaspace):
            return _with_metaspace(text, stage), utf8
        if not isinstance(stage, ByteLevel):
            as_split = stage.as_split()
            pieces = [part for piece in pieces for part in _cut(piece, as_split, matcher, is_mapped)]
            continue
        if stage.add_prefix_space:
            pieces = [
                (text, start, lowest) if text.startswith(" ") else (f" {text}", start - 1, lowest)
                for text, start, lowest in pieces
            ]
        if stage.use_regex:
            pieces = [part for piece in pieces for part in _cut(piece, _GPT2, matcher, False)]
        if stage is not stages[-1]:  # the later ones see the printable characters
            pieces = [(to_printable(utf8(text)), start, lowest) for text, start, lowest in pieces]
            is_mapped = True
    return pieces, _from_printable if is_mapped else utf8


def apply_behavior(text: str, matches: Iterable[Span], behavior: str, *, invert: bool = False) -> list[Span]:
    """Return the spans of the pieces of a text, which may leave parts of it out.

    Args:
        text: the text.
        matches: the spans of matches, in order and without overlap, of which some may be empty.
        behavior: what becomes of matches, a name of `BEHAVIORS`.
        invert: take the text between matches for the matches.

    >>> from hf_bpe.pretokenizers._stages import BEHAVIORS
    >>> text, matches = "a-b--c", [(1, 2), (3, 4), (4, 5)]
    >>> {behavior: [text[slice(*span)] for span in apply_behavior(text, matches, behavior)] for behavior in BEHAVIORS}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'Removed': ['a', 'b', 'c'],
     'Isolated': ['a', '-', 'b', '-', '-', 'c'],
     'MergedWithPrevious': ['a-', 'b-', '-', 'c'],
     'MergedWithNext': ['a', '-b', '-', '-c'],
     'Contiguous': ['a', '-', 'b', '--', 'c']}
    """
    parts: list[tuple[int, int, bool]] = []
    end = 0
    for start, stop in [*matches, (len(text), len(text))]:
        if end < start:
            parts.append((end, start, invert))
        parts.append((start, stop, not invert))
        end = stop
    joins = _JOINS.get(behavior)
    if joins is None:
        removes = behavior == "Removed"
        return [(start, stop) for start, stop, is_match in parts if start < stop and not (is_match and removes)]
    spans: list[Span] = []
    was_match = False
    for start, stop, is_match in parts:
        if spans and joins(is_match, was_match):
            spans[-1] = spans[-1][0], stop
        else:
            spans.append((start, stop))
        was_match = is_match
    return [(start, stop) for start, stop in spans if start < stop]


def _cut(piece: _Placed, split: Split, matcher: _Matcher, is_mapped: bool) -> Iterator[_Placed]:
    text, start, lowest = piece
    if split.is_literal:
        matches = [match.span() for match in re.finditer(re.escape(split.expression), text)]
    else:
        matches = matcher.find(split.expression, text)
    at = 0  # the index whose byte is at `start`
    for begin, end in apply_behavior(text, matches, split.behavior, invert=split.invert):
        before = text[at:begin]
        start += begin - at if is_mapped or before.isascii() else len(utf8(before))
        at = begin
        yield text[begin:end], start, max(start, lowest)


def _with_metaspace(text: str, stage: Metaspace) -> list[_Placed]:
    puts, texts = apply_metaspace(stage, text, is_first=True) if text else (False, [])
    starts = [*([-1] if puts else []), *accumulate((len(utf8(char)) for char in text), initial=0)]
    ends = accumulate(map(len, texts))
    begins = [starts[end - len(part)] for part, end in zip(texts, ends, strict=True)]
    return [(part, begin, max(begin, 0)) for part, begin in zip(texts, begins, strict=True)]


def apply_metaspace(stage: Metaspace, text: str, *, is_first: bool) -> tuple[bool, list[str]]:
    """Return whether a character is put before a piece of text, and the pieces that the result is cut into.

    >>> apply_metaspace(Metaspace(), "a  b", is_first=True)
    (True, ['▁a', '▁', '▁b'])
    """
    text = text.replace(" ", stage.replacement)
    puts = stage.prepend_scheme == "always" or (stage.prepend_scheme == "first" and is_first)
    puts = puts and not text.startswith(stage.replacement)
    text = stage.replacement + text if puts else text
    if not stage.split:
        return puts, [text]
    first, *parts = text.split(stage.replacement)
    return puts, [first, *(stage.replacement + part for part in parts)][first == "" :]


def utf8(text: str) -> bytes:
    """Return the bytes of a text, in which U+DC80 to U+DCFF stand for invalid ones."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # other lone surrogates, which encoders have replaced
        return text.encode("utf-8", "surrogatepass")


def _from_printable(text: str) -> bytes:
    return from_printable(text) or b""


class _Matcher:
    """Finds the matches of expressions in a text and in its pieces, all together within one time limit."""

    def __init__(self, text: str) -> None:
        self._size = len(text)
        self._deadline = time.monotonic() + _seconds_for(self._size)

    def find(self, expression: str, piece: str) -> list[Span]:
        """Return the spans of the matches in a piece of the text, as `tokenizers` finds them, or raise a ValueError."""
        compiled, needs_mask = _compiled(expression)
        piece = hide_newer(piece) if needs_mask else piece
        try:
            spans = [match.span() for match in compiled.finditer(piece, timeout=self._left())]
            return spans if all(start < stop for start, stop in spans) else self._find_empty(compiled, piece)
        except TimeoutError as error:
            if error.args != _TIMED_OUT:  # raised by a signal handler of the caller
                raise
            raise ValueError(
                f"pattern {expression[:80]!r} took over {_seconds_for(self._size):.0f} s for a text of {self._size} "
                "characters; expected an expression that backtracks little, such as a+ or (?>aa|a)+ instead of "
                "(?:a|aa)+"
            ) from None

    def _find_empty(self, compiled: regex.Pattern[str], piece: str) -> list[Span]:
        """Return the spans of matches that may be empty; unlike with `finditer`, no empty match ends another."""
        spans: list[Span] = []
        position, last = 0, -1
        while position <= len(piece) and (match := compiled.search(piece, position, timeout=self._left())) is not None:
            start, stop = match.span()
            if start == stop == last:
                position += 1
                continue
            spans.append((start, stop))
            position = last = stop
        return spans

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(*_TIMED_OUT)
        return left


def _seconds_for(size: int) -> float:
    """Return the time limit in seconds for matching expressions in a text of some characters."""
    return _SECONDS + _SECONDS_PER_CHARACTER * size


@lru_cache(maxsize=64)
def _compiled(expression: str) -> tuple[regex.Pattern[str], bool]:
    """Return what matches an expression, and whether it must be given `hide_newer(text)`, or raise a ValueError."""
    from hf_bpe.pretokenizers._regex.parser import parse  # these take time, and the native core does not need them
    from hf_bpe.pretokenizers._regex.translate import write

    try:
        written = write(parse(expression))
        return regex.compile(written.expression), written.needs_mask
    except RecursionError:  # the calling code may have left little room
        raise ValueError(f"pattern {expression[:80]!r} is nested too deeply for the rest of the stack") from None
    except (ValueError, regex.error) as error:
        raise ValueError(f"pattern {expression[:80]!r} cannot be used: {error}") from None
