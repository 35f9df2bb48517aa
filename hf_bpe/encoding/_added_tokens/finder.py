"""Find tokens in text in linear time, however long the tokens are and whatever they share.

A filter finds positions at which a token may begin, and the text there is looked up among the tokens. If that would
read many characters, a block of text from there is read by the automaton of Aho and Corasick ("Efficient string
matching", 1975) for the reversed tokens, backwards: so at each position it knows the longest token that begins there,
and it reads every character once. The native core does the same.
"""

from __future__ import annotations

import mmap
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, AnyStr, Generic

from hf_bpe._utils.cached_property import cached_property

_MAX_BEGINNINGS = 64  # the most distinct beginnings for which an expression is a good filter
_BLOCK = 16
_MAX_READ = 1024  # characters that may be read at a position to look up the tokens that begin there


class TokenFinder(Generic[AnyStr]):
    """Find tokens in text: str in str, or bytes in bytes; empty ones are never found.

    >>> [*TokenFinder(["ab", "abc", "cd"]).find_all("abcd abd")]
    [(0, 'abc'), (5, 'ab')]
    """

    def __init__(self, tokens: Iterable[AnyStr]) -> None:
        self._tokens: list[AnyStr] = [token for token in dict.fromkeys(tokens) if token]
        self.longest = max(map(len, self._tokens), default=0)
        self._filter: re.Pattern[AnyStr] | None = _make_filter(self._tokens)

    def __reduce__(self) -> tuple[type[TokenFinder[AnyStr]], tuple[list[AnyStr]]]:
        return type(self), (self._tokens,)

    def find_all(
        self, text: AnyStr | mmap.mmap, start: int = 0, stop: int | None = None
    ) -> Iterator[tuple[int, AnyStr]]:
        """Yield position and content of tokens that do not overlap: leftmost first, the longest at each position."""
        stop = len(text) if stop is None else stop
        at = start
        for begin, token in self.find_begins(text, start, stop, stop):
            if begin >= at:
                yield begin, token
                at = begin + len(token)

    def find_begins(
        self, text: AnyStr | mmap.mmap, start: int, stop: int, end: int | None = None
    ) -> Iterator[tuple[int, AnyStr]]:
        """Yield each position at which a token begins, from left to right, and the longest token there.

        All tokens must have ended at `end`, by default the end of the text.

        >>> [*TokenFinder(["ab", "abc", "cd"]).find_begins("abcd", 0, 4)]
        [(0, 'abc'), (2, 'cd')]
        """
        end = len(text) if end is None else end
        block = max(self.longest, _BLOCK)  # at most as much text has to be read after the block
        while start < stop and self._filter is not None:
            # The filter needs one character after `stop`.
            match = self._filter.search(text, start, min(stop + 1, end))  # type: ignore[arg-type]
            if match is None or match.start() >= stop:
                return
            start = match.start()
            if self._sizes:
                if (longest := self._token_at(text, start, end)) is not None:
                    yield start, longest
                start += 1
                continue
            last = min(start + block, stop)
            tokens = self._automaton.find(text[start : min(last + self.longest - 1, end)], last - start)
            for place, token in reversed(tokens):
                yield start + place, self._tokens[token]
            start = last

    def _token_at(self, text: Any, at: int, end: int) -> AnyStr | None:
        """Return the longest token that begins at a position."""
        for length in (2, 1):
            for size, tokens in self._sizes.get(text[at : at + length], ()):
                token: AnyStr = text[at : at + size]
                if at + size <= end and token in tokens:
                    return token
        return None

    @cached_property
    def _sizes(self) -> dict[AnyStr, list[tuple[int, set[AnyStr]]]]:
        """The tokens by their first two characters and sizes, from the longest; none if some take long to look up."""
        sizes: dict[AnyStr, dict[int, set[AnyStr]]] = {}
        for token in self._tokens:
            sizes.setdefault(token[:2], {}).setdefault(len(token), set()).add(token)
        if any(sum(of_beginning) > _MAX_READ for of_beginning in sizes.values()):
            return {}
        return {beginning: sorted(sizes[beginning].items(), reverse=True) for beginning in sizes}

    @cached_property
    def _automaton(self) -> _Automaton:
        return _Automaton(self._tokens)


class _Automaton:
    """The Aho-Corasick automaton of the reversed tokens.

    The nodes of the trie are numbered so that node n + 1 is a child of node n unless its character is `_NOTHING`.
    """

    _NOTHING = -1

    def __init__(self, tokens: Sequence[str | bytes]) -> None:
        self._codes = array("i", [self._NOTHING] * 2)  # node → the character that leads to it
        self._more_children: dict[int, dict[int, int]] = {}  # node → character → child, except node + 1
        self._tokens = array("i", [-1, -1])  # node → the longest token that begins there; -1 if none does
        for number, token in enumerate(tokens):
            self._tokens[self._insert(token)] = number
        self._fallbacks = array("i", [0]) * len(self._codes)  # node → the longest other node that is a suffix
        self._find_fallbacks()

    def find(self, text: Any, stop: int) -> list[tuple[int, int]]:
        """Return each position before `stop` at which a token begins, and the longest one, from right to left."""
        codes, more, fallbacks, tokens = self._codes, self._more_children, self._fallbacks, self._tokens
        begins = []
        node, at = 0, len(text)
        for code in reversed(_code_points(text)):
            at -= 1
            while codes[node + 1] != code:
                child = more[node].get(code) if node in more else None
                if child is not None:
                    node = child
                    break
                if node == 0:
                    break
                node = fallbacks[node]
            else:
                node += 1
            if tokens[node] >= 0 and at < stop:
                begins.append((at, tokens[node]))
        return begins

    def _child(self, node: int, code: int) -> int | None:
        if self._codes[node + 1] == code:
            return node + 1
        return self._more_children.get(node, {}).get(code)

    def _insert(self, token: str | bytes) -> int:
        codes = _code_points(token)[::-1]
        node = 0
        for depth, code in enumerate(codes):
            child = self._child(node, code)
            if child is None:
                first = len(self._codes)
                self._more_children.setdefault(node, {})[code] = first
                self._codes.extend([*codes[depth:], self._NOTHING])
                self._tokens.extend([-1] * (len(codes) - depth + 1))
                return first + len(codes) - depth - 1
            node = child
        return node

    def _find_fallbacks(self) -> None:
        """Compute the fallbacks level by level, because they depend on shorter nodes."""
        level = [0]
        while level:
            below = []
            for node in level:
                children = dict(self._more_children.get(node, {}))
                if self._codes[node + 1] != self._NOTHING:
                    children[self._codes[node + 1]] = node + 1
                for code, child in children.items():
                    fallback = self._next(self._fallbacks[node], code) if node != 0 else 0
                    self._fallbacks[child] = fallback
                    if self._tokens[child] < 0:
                        self._tokens[child] = self._tokens[fallback]
                    below.append(child)
            level = below

    def _next(self, node: int, code: int) -> int:
        while (child := self._child(node, code)) is None and node != 0:
            node = self._fallbacks[node]
        return child or 0


def _code_points(text: str | bytes) -> Sequence[int]:
    return text if isinstance(text, bytes) else array("I", text.encode("utf-32-le", "surrogatepass"))


def _make_filter(tokens: Sequence[AnyStr]) -> re.Pattern[AnyStr] | None:
    """Return an expression that matches where a token begins, and at few other positions; None without tokens."""
    if not tokens:
        return None
    starts = {token[:2] for token in tokens}
    if len(starts) > _MAX_BEGINNINGS:
        starts = {token[:1] for token in tokens}
    empty = tokens[0][:0]
    alternatives = (b"|" if isinstance(empty, bytes) else "|").join(map(re.escape, sorted(starts)))
    return re.compile(alternatives)
