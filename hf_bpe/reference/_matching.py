"""Matches of split expressions by the `regex` package: with the classes of Unicode 16.0, and within a time limit."""

from __future__ import annotations

import time
from functools import lru_cache

import regex

from hf_bpe.pretokenizers._regex.newer_characters import hide_newer
from hf_bpe.pretokenizers._regex.parser import parse
from hf_bpe.pretokenizers._regex.translate import write

Span = tuple[int, int]

_TIMED_OUT = ("regex timed out",)  # what `regex` gives its TimeoutError
_SECONDS = 20.0  # for any text, however short
# A hundred times the cost of the named patterns: `regex` counts the time of all threads of the process.
_SECONDS_PER_CHARACTER = 2e-5


class Matcher:
    """Finds the matches of expressions in a text and in its pieces, all together within a time limit.

    Args:
        text: the text, for which there is one time limit, into however many pieces a chain cuts it.
    """

    def __init__(self, text: str) -> None:
        self._size = len(text)
        self._deadline = time.monotonic() + seconds_for(self._size)

    def find(self, expression: str, piece: str) -> list[Span]:
        """Return the spans of the matches in a piece of the text, as `tokenizers` finds them.

        Raises:
            ValueError: matching takes too long.
        """
        compiled, needs_mask = _compiled(expression)
        piece = hide_newer(piece) if needs_mask else piece
        try:
            spans = [match.span() for match in compiled.finditer(piece, timeout=self._left())]
            return spans if all(start < stop for start, stop in spans) else self._find_empty(compiled, piece)
        except TimeoutError as error:
            if error.args != _TIMED_OUT:  # raised by a signal handler of the caller
                raise
            raise ValueError(
                f"pattern {expression[:80]!r} took over {seconds_for(self._size):.0f} s for a text of {self._size} "
                "characters; expected an expression that backtracks little, such as a+ or (?>aa|a)+ instead of "
                "(?:a|aa)+"
            ) from None

    def _find_empty(self, compiled: regex.Pattern[str], piece: str) -> list[Span]:
        """Return the spans where some are empty: unlike `finditer`, none of these is at the end of another."""
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


def seconds_for(size: int) -> float:
    """Return the time limit in seconds for matching expressions in a text of some characters."""
    return _SECONDS + _SECONDS_PER_CHARACTER * size


@lru_cache(maxsize=64)
def _compiled(expression: str) -> tuple[regex.Pattern[str], bool]:
    """Return what matches an expression, and whether it must be given `hide_newer(text)`.

    Raises:
        ValueError: the expression is invalid, or `regex` would take too long to compile it.
    """
    try:
        written = write(parse(expression))
        return regex.compile(written.expression), written.needs_mask
    except RecursionError:  # the calling code may have left little room
        raise ValueError(f"pattern {expression[:80]!r} is nested too deeply for the rest of the stack") from None
    except (ValueError, regex.error) as error:
        raise ValueError(f"pattern {expression[:80]!r} cannot be used: {error}") from None
