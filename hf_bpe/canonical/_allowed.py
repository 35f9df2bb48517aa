"""Which tokens may follow ids so that they are the beginning of the ids of some text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from hf_bpe._utils.arguments import short_repr
from hf_bpe.canonical._continuations import Continuations, find_context
from hf_bpe.canonical._neighbors import Bits, StableNeighbors
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import AddedTokenTuple, Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.encoding._merge_trees import some_unreachable
from hf_bpe.encoding._settled_cuts import SettledCuts
from hf_bpe.encoding._token_finder import TokenFinder
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER
from hf_bpe.pretokenizers._patterns import safe_cut_in_bytes

_REFUSED = "allowed tokens are not known for this tokenizer: "
_WINDOW = 32  # ids that are looked at first
_TAILS = 1 << 11  # results that are kept
_LONGEST_ADDED = 1000  # characters; all beginnings are kept
_LONG = 48  # bytes without a safe cut from which on a settled one is searched for


class AllowedTokens:
    """The tokens that may follow ids.

    Args:
        model: a model with a named pattern or none, without normalizer.
        added_tokens: the added tokens, without flags that look at other text.

    Attributes:
        size: the highest id plus one.
        tokens, sorted_ids: the ordinary tokens that text has, in order of their bytes, and their ids.
        added_ids: the ids of added tokens.

    Raises:
        ValueError: the tokenizer is one for which this is not known; the message says why.
    """

    def __init__(self, model: BPEModel, added_tokens: Sequence[AddedTokenTuple]) -> None:
        _check(model, added_tokens)
        self._model = model
        self._added = {token.id: token.content.encode() for token in added_tokens if token.content}
        if model.ignore_merges and some_unreachable(model, self._added) is not None:
            raise ValueError(f"{_REFUSED}ignore_merges makes tokens that its merges do not make")
        self._neighbors = StableNeighbors(model)
        self.size = max([self._neighbors.size, *(token_id + 1 for token_id in self._added)])
        specials = {special.encode() for special in model.special_tokens}
        contents = [*self._added.values()]
        known = self._neighbors.parts
        ordinary = {
            token_id: token
            for token_id, token in model.vocab.items()
            if (token_id in known or len(token) == 1) and token_id not in self._added and token not in specials
        }
        finder = TokenFinder(contents)
        ordinary = {token_id: token for token_id, token in ordinary.items() if not [*finder.find_all(token)]}
        self._ordinary = ordinary
        in_order = sorted((token, token_id) for token_id, token in ordinary.items())
        self.tokens = [token for token, _ in in_order]
        self.sorted_ids = np.array([token_id for _, token_id in in_order], np.int64)
        self.added_ids = np.array([*self._added], np.int64)
        self._continuations = Continuations(model, ordinary, self.size)
        self._safe_cut = safe_cut_in_bytes(model.pattern)
        self._settled_cuts = SettledCuts(make_encoder(model), (), Options())
        self._after = lru_cache(_TAILS)(self._after_tail)
        self._added_bits = self._bits(self._added)
        # The beginnings of added tokens, and the tokens that complete them, by the last byte of the beginning.
        self._beginnings: dict[int, list[tuple[bytes, bytes]]] = {}
        for content in contents:
            for size in range(1, len(content)):
                self._beginnings.setdefault(content[size - 1], []).append((content[:size], content[size:]))

    def bytes_of(self, token_id: int) -> bytes:
        """Return the bytes of a token, none of an unknown id."""
        if token_id in self._added:
            return self._added[token_id]
        return self._model.vocab.get(token_id, b"")

    def after(self, ids: Sequence[int]) -> Bits:
        """Return the tokens that may follow ids, as packed bits."""
        tail_ids = self._tail(ids)
        if tail_ids is None:
            return self._none()
        return self._without_completions(self._after(tuple(tail_ids)), ids)

    def _after_tail(self, tail_ids: tuple[int, ...]) -> Bits:
        tail = [*map(self._ordinary.__getitem__, tail_ids)]
        end, ends = 0, []
        for token, first, second in zip(tail, tail_ids, tail_ids[1:], strict=False):
            end += len(token)
            ends.append((end, self._neighbors.are_stable(first, second)))
        context = find_context(b"".join(tail), ends)
        if context is None:
            return self._none()
        found = self._continuations.after(context)
        allowed = found.apart
        if tail_ids:
            row = self._neighbors.row(tail_ids[-1])
            joined = found.joined.copy()
            joined[: len(row)] &= row
            joined[len(row) :] = 0
            allowed = allowed | joined
        if found.is_complete:
            allowed = allowed | self._added_bits
        return allowed

    def number_of_settled(self, ids: Sequence[int]) -> int | None:
        """Return how many ids precede a place at which text may be cut whatever follows; None if an id spans it."""
        if self._model.pattern is None:
            return next((at for at in range(len(ids), 0, -1) if ids[at - 1] in self._added), 0)
        tail = self._tail(ids)
        return None if tail is None else len(ids) - len(tail)

    def _tail(self, ids: Sequence[int]) -> Sequence[int] | None:
        """Return the last ids, which decide what may follow; None if text is cut inside of one of them."""
        start, wanted = len(ids), _WINDOW
        while True:
            while start > 0 and len(ids) - start < wanted and ids[start - 1] not in self._added:
                start -= 1
            tokens = [*map(self._ordinary.get, ids[start:])]
            if None in tokens:
                return None  # a token that no text has
            text = b"".join(tokens)  # type: ignore[arg-type]
            is_all = start == 0 or ids[start - 1] in self._added
            if self._model.pattern is None:  # then stable neighbors decide all but the end of a character
                begins = (at for at, token in enumerate(tokens) if token and token[0] & 0xC0 != 0x80)
                return ids[start + max(begins, default=0) :]
            cut = max((match.start() for match in self._safe_cut.finditer(text, 1)), default=0)
            if len(text) - cut > _LONG:
                # The first of the ids may begin inside a character, whose bytes are left out.
                lead = next((at for at, byte in enumerate(text[cut : cut + 4]) if byte & 0xC0 != 0x80), 0)
                rest = text[cut + lead :].decode("utf-8", "ignore")
                found = len(rest[: self._settled_cuts.find_last(rest)].encode())
                cut += lead + found if found else 0
            if cut > 0 or is_all:
                break
            wanted *= 4
        for number, token in enumerate(tokens):
            if cut <= 0:
                return ids[start + number :] if cut == 0 else None
            cut -= len(token or b"")
        return ids[len(ids) :] if cut == 0 else None

    def _without_completions(self, allowed: Bits, ids: Sequence[int]) -> Bits:
        """Leave out tokens that would complete the content of an added token which other tokens began."""
        if not ids or not self._beginnings:
            return allowed
        last = self.bytes_of(ids[-1])
        beginnings = self._beginnings.get(last[-1]) if last else None
        if beginnings is None:
            return allowed
        for beginning, rest in beginnings:
            if self._ends_with(ids, beginning):
                allowed = allowed & ~self._starting_with(rest)
        return allowed

    def beginnings_at_end(self, ids: Sequence[int]) -> list[int]:
        """Return the sizes of the beginnings of added tokens with which ids end."""
        last = self.bytes_of(ids[-1]) if ids else b""
        beginnings = self._beginnings.get(last[-1], ()) if last else ()
        return [len(beginning) for beginning, _ in beginnings if self._ends_with(ids, beginning)]

    def _ends_with(self, ids: Sequence[int], beginning: bytes) -> bool:
        """Say whether ids end with the beginning of an added token that does not begin inside another one.

        The text of an added token is taken, so none begins inside of it.
        """
        text = b""
        for token_id in reversed(ids):
            text = self.bytes_of(token_id) + text
            if len(text) > len(beginning) and token_id in self._added:
                return False
            if len(text) >= len(beginning):
                break
        return text.endswith(beginning)

    def span(self, data: bytes) -> tuple[int, int]:
        """Return the range of `tokens`, in order of bytes, that begin with data."""
        start = bisect_left(self.tokens, data)
        last = data.rstrip(b"\xff")
        after = last[:-1] + bytes([last[-1] + 1]) if last else None
        return start, len(self.tokens) if after is None else bisect_left(self.tokens, after, start)

    def _starting_with(self, data: bytes) -> Bits:
        start, stop = self.span(data)
        added = (token_id for token_id, content in self._added.items() if content.startswith(data))
        return self._bits([*self.sorted_ids[start:stop].tolist(), *added])

    def _bits(self, ids: Iterable[int]) -> Bits:
        marks = np.zeros(self.size, bool)
        marks[[*ids]] = True
        return np.packbits(marks)

    def _none(self) -> Bits:
        return np.zeros((self.size + 7) // 8, np.uint8)


def _check(model: BPEModel, added_tokens: Sequence[AddedTokenTuple]) -> None:
    if model.pattern is not None and model.pattern not in WITH_SCANNER:
        known = ", ".join(sorted(WITH_SCANNER))
        raise ValueError(f"{_REFUSED}its pattern is {short_repr(model.pattern)}, expected one of {known}, or None")
    if model.normalizer is not None:
        raise ValueError(f"{_REFUSED}it has the normalizer {short_repr(model.normalizer)}, expected none")
    if model.drop_missing_bytes:
        raise ValueError(f"{_REFUSED}its vocabulary lacks bytes")
    for token in added_tokens:
        if len(token.content) > _LONGEST_ADDED:
            raise ValueError(f"{_REFUSED}it has an added token of more than {_LONGEST_ADDED} characters")
        if token.lstrip or token.rstrip or token.single_word:
            raise ValueError(f"{_REFUSED}the added token {token.content!r} strips white space or must be a single word")
    _check_rounds(added_tokens)


def _check_rounds(added_tokens: Sequence[AddedTokenTuple]) -> None:
    """Refuse added tokens that overlap others which are looked for later, in what is left of the text."""
    rounds = [[token.content for token in added_tokens if bool(token.normalized) is later] for later in (False, True)]
    first, second = (frozenset(contents) for contents in rounds)
    for earlier, later in ((first, second), (second, first)):
        beginnings = {content[:size] for content in later for size in range(1, len(content))}
        for content in earlier:
            if any(content[start:] in beginnings for start in range(len(content))):
                raise ValueError(
                    f"{_REFUSED}the added token {content!r} overlaps others that are found at another time"
                )
    finder = TokenFinder(first)
    for content in second:
        if any(finder.find_all(content)):
            raise ValueError(f"{_REFUSED}the added token {content!r} contains another that is found before it")
