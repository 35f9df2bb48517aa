"""Canonical ids: the ids that encoding gives, as opposed to other ids of the same text, which models also generate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe._native_core import require_core
from hf_bpe._utils.arguments import as_lists, check_flag, check_ids
from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.visible import with_noun
from hf_bpe.canonical._allowed import AllowedTokens
from hf_bpe.canonical._token_texts import decode_beginning
from hf_bpe.encoding._cuts.settled import SettledCuts
from hf_bpe.encoding._encoder import AddedTokenTuple, Encoder, Options
from hf_bpe.encoding._native_paths import lacks_bytes
from hf_bpe.encoding._token_bytes import byte_decoder, bytes_of_known
from hf_bpe.pretokenizers._byte_level import is_utf8

_MIN_UNCUT = 48  # bytes without a safe cut from which on a settled one is searched for


class Healing(NamedTuple):
    """The end of a prompt that is removed before generation.

    Attributes:
        removed: how many of the last ids to remove.
        data: the bytes of these, which the generated tokens must begin with.
    """

    removed: int
    data: bytes


class CanonicalIds:
    """Checks and repairs ids; what `BPETokenizer.canonical_ids` returns.

    Ids are *canonical* if `tokenizer.encode(text, add_special_tokens=False)` gives them for their own text; bytes that
    are not UTF-8 are no text. Ids are *viable* if they begin the canonical ids of some text. Canonical ids are viable;
    ids that end inside a character are not canonical, but they may be viable.

    Args:
        encoder: the encoder with added tokens.
        added_tokens: these tokens.
        options: the options of encoding.

    >>> from hf_bpe import BPETokenizer
    >>> canonical = BPETokenizer.train(["low lower lowest"], vocab_size=260).canonical_ids()
    >>> canonical.recanonicalize([108, 111, 119, 32, 108, 111, 119])  # as single bytes
    [257, 32, 257]
    >>> canonical.is_canonical([257, 32, 257]), canonical.first_noncanonical([257, 32, 108, 111, 119])
    (True, 2)
    """

    def __init__(self, encoder: Encoder, added_tokens: tuple[AddedTokenTuple, ...], options: Options) -> None:
        require_core("canonical ids")
        if not encoder.model.alphabet.is_bytes:
            raise ValueError("canonical ids: only for models of bytes, not for an alphabet of characters")
        self._encoder, self._added_tokens, self._options = encoder, added_tokens, options
        self._decoder = byte_decoder(encoder)

    def __reduce__(self) -> tuple[object, ...]:
        return CanonicalIds, (self._encoder, self._added_tokens, self._options)

    def __repr__(self) -> str:
        return f"<CanonicalIds of {self._encoder.model} with {with_noun(len(self._added_tokens), 'added token')}>"

    def is_canonical(self, ids: Sequence[int]) -> bool:
        """Say whether encoding the text of ids gives them."""
        return self.first_noncanonical(ids) is None

    def first_noncanonical(self, ids: Sequence[int]) -> int | None:
        """Return the index of the first id that differs from the canonical ids of the text; None if none does.

        If the text is not UTF-8, that may be the id with the first byte that is no text.
        """
        row = self._checked(ids)
        data = self._bytes(row)
        canonical = self._encoder.encode(data, self._options)
        places = [place for place, (old, new) in enumerate(zip(row, canonical, strict=False)) if old != new][:1]
        if not places and len(row) != len(canonical):
            places = [min(len(row), len(canonical))]
        try:
            data.decode()
        except UnicodeDecodeError as error:
            ends = accumulate(len(self._bytes([token_id])) for token_id in row)
            places.append(next(place for place, end in enumerate(ends) if end > error.start))
        return min(places, default=None)

    def canonical_prefix(self, ids: Sequence[int]) -> list[int]:
        """Return the longest beginning of ids that is canonical by itself.

        It may end before `first_noncanonical` or after it: what follows can change which ids are canonical. It takes
        time in proportion to the ids, and to the square of the ids between two places at which text may be cut, as in
        words of thousands of letters; without a pattern, in proportion to the ids and their logarithm.
        """
        row = self._checked(ids)
        if self._is_prefix_closed:
            return row[: self._bisected_prefix(row)]
        first = self.first_noncanonical(row)
        if first is None:
            return row
        # Before the last place at which the text up to there may be cut, nothing depends on what follows.
        data = self._bytes(row[:first])
        cut = self._encoder.find_last_cut(data, self._options)
        stop = longest = start = self._num_canonical(row[:first], data[:cut]) or 0
        while stop < len(row):
            stop += 1
            data = self._bytes(row[start:stop])
            decoded = decode_beginning(data)
            if decoded is None:
                break
            if self._encoder.encode(data, self._options) == row[start:stop] and is_utf8(data):
                longest = stop
            cut = self._encoder.find_last_cut(data, self._options)
            if cut == 0 and len(data) > _MIN_UNCUT:
                cut = len(decoded[0][: self._settled_cuts.find_last(decoded[0])].encode())
            if cut > 0:
                kept = self._num_canonical(row[start:stop], data[:cut])
                if kept is None:
                    break
                start += kept
        return row[:longest]

    @cached_property
    def _settled_cuts(self) -> SettledCuts:
        return SettledCuts(self._encoder, self._added_tokens, self._options)

    @cached_property
    def _is_prefix_closed(self) -> bool:
        """True if each beginning of canonical ids that is text is canonical.

        If there is one pre-token between added tokens, this is so for merges: none of them crosses a boundary of
        tokens, so the tokens before it are made without what follows.
        """
        model, options = self._encoder.model, self._options
        return (
            model.pattern is None
            and model.normalizer is None
            and not (model.ignore_merges or options.changes_segments or lacks_bytes(self._encoder))
            and not any(token.lstrip or token.rstrip or token.single_word for token in self._added_tokens)
        )

    def _bisected_prefix(self, ids: list[int]) -> int:
        """Return the length of the longest canonical beginning of ids by trying some lengths."""
        data = self._bytes(ids)
        try:
            data.decode()
            stop = len(data)
        except UnicodeDecodeError as error:
            stop = error.start
        ends = accumulate((len(self._bytes([token_id])) for token_id in ids), initial=0)
        sizes = [n for n, end in enumerate(ends) if end == stop or (end < stop and data[end] & 0xC0 != 0x80)]
        low, high = 0, len(sizes)  # the beginning of the first size is canonical, of the second not
        while high - low > 1:
            middle = (low + high) // 2
            is_canonical = self.is_canonical(ids[: sizes[middle]])
            low, high = (middle, high) if is_canonical else (low, middle)
        return sizes[low]

    def recanonicalize(self, ids: Sequence[int]) -> list[int]:
        """Return the canonical ids of the text of ids; bytes that are not UTF-8 are kept.

        Ordinary tokens that spell a special token become that token, as they do when the text is encoded.
        """
        return self._encoder.encode(self._bytes(self._checked(ids)), self._options)

    def heal(self, prompt_ids: Sequence[int]) -> Healing:
        """Return how many ids to remove at the end of a prompt, and the bytes that what is generated must begin with.

        The ids that remain begin the canonical ids of every text that continues the prompt, with NFC of every such text
        in the form, and as few as possible are removed. It takes time in proportion to the text after the last place at
        which text may be cut; without a pattern, to all text.

        Raises:
            ValueError: the ids are not viable; give what `recanonicalize` returns. Or the tokenizer is one that
                `allowed_next` refuses, for the reason in the message.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=260)
        >>> tokenizer.canonical_ids().heal(tokenizer.encode("low lo"))
        Healing(removed=3, data=b' lo')
        """
        row = self._checked(prompt_ids)
        allowed = self._allowed_or_error
        if isinstance(allowed, ValueError):
            raise ValueError(
                "prompts of this tokenizer cannot be healed, because it is not known which of the last ids every "
                f"continuation keeps ({allowed}); end prompts where a token is sure to end, as after a special token"
            )
        kept = _kept_in_all(allowed, row)
        data = self._bytes(row)
        for beginning in allowed.beginnings_at_end(row):  # an added token takes the text before its end
            before = self._encoder.encode(data[: len(data) - len(beginning)], self._options)
            same = (number for number, pair in enumerate(zip(row, before, strict=False)) if pair[0] != pair[1])
            kept = min(kept, next(same, min(len(row), len(before))))
        return Healing(len(row) - kept, self._bytes(row[kept:]))

    def allowed_next(self, ids: Sequence[int], *, packed: bool = False) -> npt.NDArray[Any]:
        """Return which tokens may follow ids and leave them viable.

        Only the last ids are looked at, from the last place at which the text may be cut; the others must be viable.
        Two tokens that would be merged never follow each other inside a pre-token. A token that ends inside a character
        is allowed if some character completes it, even if all of these have other tokens.

        Args:
            ids: the ids so far.
            packed: return one bit for each id, as `numpy.packbits` packs them.

        Returns:
            A mask of bool, as long as the highest id plus one; all False if ids are not viable.

        Raises:
            ValueError: the tokenizer has a normalizer other than NFC, a pattern without a name, added tokens that look
                at the text next to them, or merges in an unusual order. The message says which.

        >>> from hf_bpe import BPETokenizer
        >>> tokenizer = BPETokenizer.train(["low lower lowest"], vocab_size=260)
        >>> allowed = tokenizer.canonical_ids().allowed_next(tokenizer.encode("lo"))
        >>> bool(allowed[ord("w")]), bool(allowed[ord("x")])  # "low" is one token
        (False, True)
        """
        allowed = self._allowed_or_error
        if isinstance(allowed, ValueError):
            raise allowed
        bits = allowed.after(self._checked(ids))
        return bits.copy() if check_flag("packed", packed) else np.unpackbits(bits, count=allowed.size).view(bool)

    @cached_property
    def _allowed_or_error(self) -> AllowedTokens | ValueError:
        options = self._options
        if options.split_special_tokens or options.changes_segments:
            return ValueError("allowed tokens are not known with split_special_tokens or add_prefix_space")
        try:
            return AllowedTokens(self._encoder.model, self._added_tokens)
        except ValueError as error:
            return error

    def _num_canonical(self, ids: list[int], data: bytes) -> int | None:
        """Return how many of the first ids are the canonical ids of data; None if ids do not begin so."""
        kept = self._encoder.encode(data, self._options)
        # Added tokens may strip white space that ids have.
        return len(kept) if kept == ids[: len(kept)] and self._bytes(kept) == data else None

    def _checked(self, ids: Sequence[int]) -> list[int]:
        return [*check_ids("ids", as_lists("ids", ids))]

    def _bytes(self, ids: list[int]) -> bytes:
        return bytes_of_known(self._decoder, ids)


class _Cover(NamedTuple):
    """Sequences of tokens that cover a text."""

    ids: tuple[int, ...]  # the complete tokens
    prefix: bytes  # the bytes after them, which the next token begins with; b"" if there are none


def _kept_in_all(allowed: AllowedTokens, ids: list[int]) -> int:
    """Return how many of the ids begin the canonical ids of every text that continues theirs; they must be viable.

    A text is covered by every viable sequence of tokens whose last token may reach beyond its end. What all of these
    begin with stays. Sequences whose last token has begun at the same place differ in nothing else, so there are at
    most about as many as the longest token has bytes.
    """
    start = allowed.num_settled(ids)
    if start is None:
        raise ValueError("prompt_ids: expected canonical ids; give what recanonicalize returns")
    tail = ids[start:]
    data = b"".join(map(allowed.bytes_of, tail))
    covers = [_Cover((), b"")]
    for place in range(len(data)):
        byte = data[place : place + 1]
        covers = [longer for cover in covers for longer in _extended(allowed, ids[:start], cover, byte)]
        if not covers:
            raise ValueError(f"prompt_ids: no canonical ids cover byte {place} of {data[:40]!r}")
    kept = 0
    while kept < len(tail) and all(cover.ids[kept : kept + 1] == (tail[kept],) for cover in covers):
        kept += 1
    return start + kept


def _extended(allowed: AllowedTokens, before: list[int], cover: _Cover, byte: bytes) -> list[_Cover]:
    """Extend a cover by one byte, after the ids before, in every way that is allowed."""
    prefix = cover.prefix + byte
    start, stop = allowed.span(prefix)
    ids = allowed.sorted_ids[start:stop]
    if len(ids) == 0:
        return []
    bits = allowed.after([*before, *cover.ids])
    is_allowed = bits[ids >> 3] >> (7 - (ids & 7)) & 1 == 1
    is_whole = allowed.tokens[start] == prefix
    covers = []
    if is_allowed[is_whole:].any():
        covers.append(cover._replace(prefix=prefix))
    if is_whole and is_allowed[0]:
        covers.append(_Cover((*cover.ids, int(ids[0])), b""))
    return covers
