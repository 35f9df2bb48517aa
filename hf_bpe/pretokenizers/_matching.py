"""Matching of split expressions by the `regex` package: with the classes of Unicode 16.0, and within a time limit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache

import regex

from hf_bpe.pretokenizers._named_patterns import PATTERNS, WITH_SCANNER
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer
from hf_bpe.pretokenizers._stages import Span, cut

Left = Callable[[], float | None]
"""What returns the seconds that are left, None for no limit, or raises a TimeoutError."""

_LONG = 1 << 20  # characters from which on Ctrl-C must work between matches, as it does not in findall
_TIMED_OUT = ("regex timed out",)  # what `regex` gives its TimeoutError
_SECONDS = 20.0  # for any text, however short
# A hundred times the cost of the named patterns: `regex` counts the time of all threads of the process.
_SECONDS_PER_CHARACTER = 2e-5
_NAMED = frozenset(expression for name, expression in PATTERNS.items() if name in WITH_SCANNER)


class Matcher:
    """What matches expressions in a text and in its pieces.

    All matches together have a time limit, except those of named patterns, which take linear time.

    Args:
        text: the text, for which there is one time limit, into however many pieces a chain cuts it.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._deadline: float | None = None  # begins with the first expression that needs it

    def split(self, expression: str) -> list[str]:
        """Return the matches in the text and what is between them."""
        text = self._text
        if len(text) < _LONG:  # a quick way, for expressions without gaps and groups
            compiled, needs_mask = _compiled(expression)
            if compiled.groups == 0 and (not needs_mask or hide_newer(text) is text):
                with self._in_time(expression) as left:
                    pieces: list[str] = compiled.findall(text, timeout=left())
                if sum(map(len, pieces)) == len(text) and "" not in pieces:
                    return pieces
        return [text[start:stop] for start, stop in cut(text, self.find(expression, text), "Isolated")]

    def find(self, expression: str, piece: str) -> list[Span]:
        """Return the spans of the matches in a piece of the text.

        Raises:
            ValueError: matching takes too long.
        """
        compiled, needs_mask = _compiled(expression)
        masked = hide_newer(piece) if needs_mask else piece
        with self._in_time(expression) as left:
            return find_matches(masked, compiled, left)

    @contextmanager
    def _in_time(self, expression: str) -> Iterator[Left]:
        """Yield what returns the seconds that are left for an expression, and raise a ValueError if there are none."""
        if expression in _NAMED:
            yield lambda: None
            return
        if self._deadline is None:
            self._deadline = time.monotonic() + seconds_for(self._text)
        try:
            yield self._left
        except TimeoutError as error:
            if error.args != _TIMED_OUT:  # raised by a signal handler of the caller
                raise
            raise ValueError(
                f"pattern {expression[:80]!r} took over {seconds_for(self._text):.0f} s for a text of "
                f"{len(self._text)} characters; expected an expression that backtracks little, such as a+ or (?>aa|a)+ "
                "instead of (?:a|aa)+"
            ) from None

    def _left(self) -> float:
        assert self._deadline is not None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(*_TIMED_OUT)
        return left


def seconds_for(text: str) -> float:
    """Return the time limit in seconds for matching expressions in a text."""
    return _SECONDS + _SECONDS_PER_CHARACTER * len(text)


def check_expression(expression: str) -> None:
    """Raise a ValueError if an expression is invalid, or has a construct that is not supported.

    `regex` does not compile it here: the native core runs most expressions that `regex` takes too long to compile.
    """
    if expression not in _NAMED:
        from hf_bpe.pretokenizers._regex.parser import parse  # takes time to import, and named patterns do not need it

        parse(expression)


def find_matches(text: str, compiled: regex.Pattern[str], left: Left) -> list[Span]:
    """Return the spans of the matches that `tokenizers` finds; `left` returns the seconds left, None for no limit."""
    spans = [match.span() for match in compiled.finditer(text, timeout=left())]
    if all(start < stop for start, stop in spans):
        return spans
    spans = []
    position, last = 0, -1
    while position <= len(text) and (match := compiled.search(text, position, timeout=left())) is not None:
        start, stop = match.span()
        if start == stop == last:  # unlike finditer, skip an empty match at the end of another
            position += 1
            continue
        spans.append((start, stop))
        position = last = stop
    return spans


@lru_cache(maxsize=64)
def _compiled(expression: str) -> tuple[regex.Pattern[str], bool]:
    """Return what matches an expression, and whether it must be given `hide_newer(text)`.

    Raises:
        ValueError: the expression is invalid, or `regex` would take too long to compile it.
    """
    if expression in _NAMED:  # `regex` reads them as Oniguruma does
        return regex.compile(expression), True
    from hf_bpe.pretokenizers._regex.parser import parse  # takes time to import, and named patterns do not need it
    from hf_bpe.pretokenizers._regex.translate import write

    try:
        written = write(parse(expression))
        return regex.compile(written.expression), written.needs_mask
    except RecursionError:  # the calling code may have left little room
        raise ValueError(f"pattern {expression[:80]!r} is nested too deeply for the rest of the stack") from None
    except (ValueError, regex.error) as error:
        raise ValueError(f"pattern {expression[:80]!r} cannot be used: {error}") from None
