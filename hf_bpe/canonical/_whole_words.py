"""Words that only `ignore_merges` makes one token, as in Llama 3: the merges make several of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, islice


class WholeWords:
    """Finds words among tokens.

    Args:
        words: the words.

    >>> words = WholeWords([b"abc", b"abd"])
    >>> words.find([b"x", b"ab", b"c"]), words.completions([b"x", b"ab"])
    ([(1, 4)], [b'c', b'd'])
    """

    def __init__(self, words: Iterable[bytes]) -> None:
        self._in_order = sorted(words)
        self._words = frozenset(self._in_order)
        self._longest = max(map(len, self._in_order), default=0)

    def find(self, tokens: Sequence[bytes]) -> list[tuple[int, int]]:
        """Return begins and ends, in bytes, of several tokens that are a word together."""
        text, places = b"".join(tokens), [*accumulate(map(len, tokens), initial=0)]
        spans = []
        for number, begin in enumerate(places):
            for end in islice(places, number + 2, None):
                if end - begin > self._longest:
                    break
                if text[begin:end] in self._words:
                    spans.append((begin, end))
        return spans

    def completions(self, tokens: Sequence[bytes]) -> list[bytes]:
        """Return what makes the last tokens a word, by different numbers of tokens."""
        completions: dict[bytes, None] = {}
        end = b""
        for token in reversed(tokens):
            end = token + end
            if len(end) >= self._longest:
                break
            for place in range(bisect_left(self._in_order, end), len(self._in_order)):
                if not self._in_order[place].startswith(end):
                    break
                completions.setdefault(self._in_order[place][len(end) :])
        return [*filter(None, completions)]
