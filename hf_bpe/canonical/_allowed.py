"""Tokens that may follow ids so that they are the beginning of the ids of some text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._utils.arguments import short_repr
from hf_bpe._utils.cached_property import cached_property
from hf_bpe.canonical._character_classes import find_last_boundary
from hf_bpe.canonical._continuations import Continuations, find_context
from hf_bpe.canonical._neighbors import Bits, StableNeighbors, has_bit
from hf_bpe.canonical._normal_form import NormalForm, has_segment, is_separate
from hf_bpe.canonical._token_texts import TokenTexts, WholeWords
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._added_tokens.finder import TokenFinder
from hf_bpe.encoding._encoder import AddedTokenTuple
from hf_bpe.pretokenizers._named_patterns import WITH_SCANNER

_REFUSED = "allowed tokens are not known for this tokenizer: "
_WINDOW = 32  # ids that are looked at first
_TAILS = 1 << 11  # results that are kept
_CONTENTS = 1 << 8  # results that are kept
_LONGEST_ADDED = 1000  # characters; all beginnings are kept
_SEGMENT = 4  # ids that are looked at first for the beginning of a segment


class AllowedTokens:
    """Answers which tokens may follow ids, for a named pattern or none, and the normalizer NFC or none.

    The added tokens have no flags that look at other text. It is a ValueError if this is not known for the tokenizer.

    Attributes:
        size: the highest id plus one.
        tokens, sorted_ids: the ordinary tokens that text has, in order of their bytes, and their ids.
    """

    def __init__(self, model: BPEModel, added_tokens: Sequence[AddedTokenTuple]) -> None:
        _check(model, added_tokens)
        self._model = model
        self._added = {token.id: token.content.encode() for token in added_tokens if token.content}
        # Text between these is normalized by itself.
        self._separators = {token.id for token in added_tokens if not token.normalized}
        self._neighbors = StableNeighbors(model)
        self.size = max([self._neighbors.size, *(token_id + 1 for token_id in self._added)])
        specials = {special.encode() for special in model.special_tokens}
        excluded = {token_id for token_id, token in model.vocab.items() if token in specials} | self._added.keys()
        made = self._neighbors.is_made.tolist()
        ordinary = {
            token_id: token
            for token_id, token in model.vocab.items()
            if token_id not in excluded and (made[token_id] or model.ignore_merges)
        }
        for token_id in _ids_with_contents(ordinary, self._added.values()):
            del ordinary[token_id]
        texts = TokenTexts.from_vocab(ordinary)
        self._form = None if model.normalizer is None else NormalForm(texts, self.size)
        if self._form is not None and self._form.never:
            texts = texts.without(self._form.never)
            for token_id in self._form.never:
                del ordinary[token_id]
        self._ordinary = ordinary
        words = {token: token_id for token_id, token in ordinary.items() if not made[token_id]}
        self._whole_words = WholeWords(words) if words else None
        if words and model.pattern is None:
            raise ValueError(
                f"{_REFUSED}ignore_merges makes tokens that its merges do not make, of whole texts; expected a pattern"
            )
        self._continuations = Continuations(model.pre_tokenizer, texts, self.size)
        self._after_tail = lru_cache(_TAILS)(self._find_after_tail)
        self._starting_with = lru_cache(_CONTENTS)(self._tokens_starting_with)
        self._added_bits = self._bits(self._added)
        # The beginnings of added tokens with what completes them, and their sizes by their last byte.
        self._beginnings: dict[bytes, set[bytes]] = {}
        self._sizes: dict[int, set[int]] = {}
        for content in self._added.values():
            for size in range(1, len(content)):
                self._beginnings.setdefault(content[:size], set()).add(content[size:])
                self._sizes.setdefault(content[size - 1], set()).add(size)

    @cached_property
    def tokens(self) -> list[bytes]:
        return sorted(self._ordinary.values())

    @cached_property
    def sorted_ids(self) -> npt.NDArray[np.int64]:
        return np.array([*map(self._ids_of_tokens.__getitem__, self.tokens)], np.int64)

    def bytes_of(self, token_id: int) -> bytes:
        """Return the bytes of a token, none of an unknown id."""
        if token_id in self._added:
            return self._added[token_id]
        return self._model.vocab.get(token_id, b"")

    def after(self, ids: Sequence[int]) -> Bits:
        """Return the tokens that may follow ids, as packed bits."""
        after = self._after_ids(ids)
        bits = after.bits
        for token_id in after.to_be_continued:
            if has_bit(bits, token_id) and not self._may_continue([*ids, token_id]):
                bits = bits.copy()
                bits[token_id >> 3] &= ~np.uint8(1 << (7 - (token_id & 7)))
        return bits

    def _may_continue(self, ids: Sequence[int]) -> bool:
        """Say whether some text has ids that begin with these, whose last pre-token is not yet complete."""
        after = self._after_ids(ids)
        return (
            after.is_complete
            or bool((after.bits & ~self._bits(after.to_be_continued)).any())
            or bool(self.after(ids).any())
        )

    def _after_ids(self, ids: Sequence[int]) -> _NextTokens:
        tail_ids = self._tail(ids)
        if tail_ids is None:
            return _NextTokens(self._none(), False, ())
        after = self._after_tail(tuple(tail_ids))
        bits = self._without_completions(after.bits, ids)
        if self._form is not None:
            bits = bits & (self._form.after(self._last_segment(ids)) | self._added_bits)
        return after._replace(bits=bits)

    def _find_after_tail(self, tail_ids: tuple[int, ...]) -> _NextTokens:
        tail = [*map(self._ordinary.__getitem__, tail_ids)]
        end, ends = 0, []
        for token, first, second in zip(tail, tail_ids, tail_ids[1:], strict=False):
            end += len(token)
            ends.append((end, self._neighbors.are_stable(first, second)))
        words = () if self._whole_words is None else self._whole_words.find(tail)
        context = find_context(b"".join(tail), ends, words)
        if context is None:
            return _NextTokens(self._none(), False, ())
        after = self._continuations.after(context)
        allowed = after.apart
        to_be_continued: tuple[int, ...] = ()
        if tail_ids:
            row = self._neighbors.row(tail_ids[-1])
            joined = after.joined.copy()
            joined[: len(row)] &= row
            joined[len(row) :] = 0
            allowed = allowed | joined
            if self._whole_words is not None:
                only_joined = joined & ~after.apart
                to_be_continued = tuple(
                    token_id
                    for token_id in map(self._ids_of_tokens.get, self._whole_words.completions(tail))
                    if token_id is not None and has_bit(only_joined, token_id)
                )
        if after.is_complete:
            allowed = allowed | self._added_bits
        return _NextTokens(allowed, after.is_complete, to_be_continued)

    @cached_property
    def _ids_of_tokens(self) -> dict[bytes, int]:
        return {token: token_id for token_id, token in self._ordinary.items()}

    def _last_segment(self, ids: Sequence[int]) -> bytes:
        """Return the text of the last ids, from a place on where a segment begins or separate normalization does."""
        text = b""
        for start, is_all in _starts(ids, _SEGMENT, self._separators):
            text = b"".join(map(self.bytes_of, ids[start:]))
            if is_all:
                break
            text = text[next((at for at, byte in enumerate(text[:4]) if byte & 0xC0 != 0x80), 4) :]
            if has_segment(text):
                break
        return text

    def num_settled(self, ids: Sequence[int]) -> int | None:
        """Return how many ids precede a place at which text may be cut whatever follows; None if an id spans it."""
        if self._model.pattern is None:
            return next((at for at in range(len(ids), 0, -1) if ids[at - 1] in self._added), 0)
        tail = self._tail(ids)
        return None if tail is None else len(ids) - len(tail)

    def _tail(self, ids: Sequence[int]) -> Sequence[int] | None:
        """Return the last ids, which alone decide what may follow; None if text is cut inside an id."""
        for start, is_all in _starts(ids, _WINDOW, self._added):
            tokens = [*map(self._ordinary.get, ids[start:])]
            if None in tokens:
                return None  # a token that no text has
            text = b"".join(tokens)  # type: ignore[arg-type]
            if self._model.pattern is None:  # then stable neighbors decide all but the end of a character
                begins = (at for at, token in enumerate(tokens) if token and token[0] & 0xC0 != 0x80)
                return ids[start + max(begins, default=0) :]
            cut = find_last_boundary(text)
            if cut > 0 or is_all:
                break
        for number, token in enumerate(tokens):
            if cut <= 0:
                return ids[start + number :] if cut == 0 else None
            cut -= len(token or b"")
        return ids[len(ids) :] if cut == 0 else None

    def _without_completions(self, allowed: Bits, ids: Sequence[int]) -> Bits:
        """Leave out tokens that would complete the content of an added token which other tokens began."""
        for beginning in self.beginnings_at_end(ids):
            for completion in self._beginnings[beginning]:
                allowed = allowed & ~self._starting_with(completion)
        return allowed

    def beginnings_at_end(self, ids: Sequence[int]) -> list[bytes]:
        """Return the beginnings of added tokens with which ids end."""
        last = self.bytes_of(ids[-1]) if ids else b""
        sizes = self._sizes.get(last[-1], ()) if last else ()
        if not sizes:
            return []
        text, start, longest = b"", len(ids), max(sizes)
        while start > 0 and len(text) < longest:
            start -= 1
            text = self.bytes_of(ids[start]) + text
        ends = (text[-size:] for size in sizes if size <= len(text))
        return [end for end in ends if end in self._beginnings and self._ends_with(ids, end)]

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

    def _tokens_starting_with(self, data: bytes) -> Bits:
        start, stop = self.span(data)
        added = (token_id for token_id, content in self._added.items() if content.startswith(data))
        return self._bits([*self.sorted_ids[start:stop].tolist(), *added])

    def _bits(self, ids: Iterable[int]) -> Bits:
        marks = np.zeros(self.size, bool)
        marks[[*ids]] = True
        return np.packbits(marks)

    def _none(self) -> Bits:
        return np.zeros((self.size + 7) // 8, np.uint8)


class _NextTokens(NamedTuple):
    """Answers for the last ids: the tokens that may follow, and whether the text may end there."""

    bits: Bits
    is_complete: bool  # whether the text may end
    # The tokens after which the last pre-token has to go on, because with them it is a whole word, which has one token
    to_be_continued: tuple[int, ...]


def _starts(ids: Sequence[int], size: int, stops: Container[int]) -> Iterator[tuple[int, bool]]:
    """Yield the starts of ever longer suffixes of ids, back to the last stop, each with whether it is the longest."""
    start, is_all = len(ids), False
    while not is_all:
        while start > 0 and len(ids) - start < size and ids[start - 1] not in stops:
            start -= 1
        is_all = start == 0 or ids[start - 1] in stops
        yield start, is_all
        size *= 4


def _ids_with_contents(vocab: Mapping[int, bytes], contents: Iterable[bytes]) -> list[int]:
    """Return the ids of tokens that have the content of an added token inside."""
    text = b"\xff".join(vocab.values())  # which is in no content
    begins = [begin for begin, _ in TokenFinder(contents).find_begins(text, 0, len(text))]
    if not begins:
        return []
    ends = np.cumsum(np.fromiter((len(token) + 1 for token in vocab.values()), np.int64, len(vocab)))
    ids = [*vocab]
    return [ids[number] for number in np.unique(np.searchsorted(ends, begins, "right")).tolist()]


def _check(model: BPEModel, added_tokens: Sequence[AddedTokenTuple]) -> None:
    if model.pattern is not None and not model.pre_tokenizer.has_scanner:
        names = ", ".join(sorted(WITH_SCANNER))
        raise ValueError(f"{_REFUSED}its pattern is {short_repr(model.pattern)}, expected one of {names}, or None")
    if not (model.normalization.is_identity or model.normalization.is_nfc):
        raise ValueError(f"{_REFUSED}it has the normalizer {short_repr(model.normalizer)}, expected 'NFC' or none")
    for token in added_tokens if model.normalization.is_nfc else ():
        if token.normalized and not is_separate(token.content):
            raise ValueError(
                f"{_REFUSED}the added token {token.content!r} is found in normalized text, where it changes or joins "
                "what precedes it; expected normalized=False"
            )
    if model.drop_missing_bytes:
        raise ValueError(f"{_REFUSED}its vocabulary lacks bytes")
    for token in added_tokens:
        if len(token.content) > _LONGEST_ADDED:
            raise ValueError(f"{_REFUSED}it has an added token of more than {_LONGEST_ADDED} characters")
        if token.lstrip or token.rstrip or token.single_word:
            raise ValueError(f"{_REFUSED}the added token {token.content!r} strips white space or must be a single word")
    _check_rounds(added_tokens)


def _check_rounds(added_tokens: Sequence[AddedTokenTuple]) -> None:
    """Refuse added tokens that overlap added tokens of a later round, which is for the rest of the text."""
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
