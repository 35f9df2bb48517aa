"""Offsets and words of ids, computed on demand; fast tokenizers store them for every call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import chain, pairwise
from typing import Any, NamedTuple, overload

import numpy as np
from tokenizers import AddedToken

from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.processes import default_threads
from hf_bpe.encoding._encoder import AnyText, Encoder, Ids, Numbers, Options, TemplateIds
from hf_bpe.encoding._layout import NO_ID, Layout, Value
from hf_bpe.pretokenizers._byte_level import to_printable
from hf_bpe.pretokenizers._pattern import WHITE_SPACE

Offsets = tuple[int, int]
Trim = bool | str
"""True if offsets leave white space out; "prefix" keeps one space at the beginning of the text."""
ToTokens = Callable[[list[int]], list[str]]
TypeIds = Callable[[Layout, int], list[int]]


@dataclass
class Encoding:
    """One row, with the attributes and methods of `tokenizers.Encoding` that `transformers.BatchEncoding` calls.

    Attributes:
        ids: the ids, special tokens and padding included; all lists here have one value for each.
        type_ids: the token type id of each id.
        offsets: (begin, end) in characters of the text, or of the word if the text was given in words; (0, 0) for
            special tokens and padding.
        word_ids: the index of the pre-token or added token, or of the given word; None for special tokens and padding.
        sequence_ids: 0 for the first text, 1 for the second; None for special tokens and padding.
        special_tokens_mask: 1 for special tokens and padding.
        attention_mask: 0 for padding.
        n_sequences: 1, or 2 for a pair.
    """

    ids: list[int]
    type_ids: list[int]
    offsets: list[Offsets]
    word_ids: list[int | None]
    sequence_ids: list[int | None]
    special_tokens_mask: list[int]
    attention_mask: list[int]
    n_sequences: int
    _to_tokens: ToTokens = field(repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # The tokenizer is not part of its encodings.
        return {name: value for name, value in vars(self).items() if name != "_to_tokens"} | {"tokens": self.tokens}

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def tokens(self) -> list[str]:
        """The tokens of the ids."""
        return self._to_tokens(self.ids)

    @property
    def overflowing(self) -> list[Encoding]:
        """Always empty, because overflowing windows are separate rows."""
        return []

    def token_to_sequence(self, token: int) -> int | None:
        """Return the sequence of a token."""
        return self.sequence_ids[token] if 0 <= token < len(self) else None

    def token_to_chars(self, token: int) -> Offsets | None:
        """Return the begin and end of a token in its text."""
        return None if self.token_to_sequence(token) is None else self.offsets[token]

    def token_to_word(self, token: int) -> int | None:
        """Return the word of a token."""
        return None if self.token_to_sequence(token) is None else self.word_ids[token]

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """Return the first token of a character of a sequence."""
        for token, (begin, end) in enumerate(self.offsets):
            if begin <= char < end and self.sequence_ids[token] == sequence:
                return token
        return None

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        """Return the word of a character of a sequence."""
        token = self.char_to_token(char, sequence)
        return None if token is None else self.word_ids[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> tuple[int, int] | None:
        """Return the first token of a word, and the one after its last."""
        tokens = [
            token
            for token, number in enumerate(self.word_ids)
            if number == word and self.sequence_ids[token] == sequence
        ]
        return (tokens[0], tokens[-1] + 1) if tokens else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Offsets | None:
        """Return the begin and end of a word in its text."""
        tokens = self.word_to_tokens(word, sequence)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])


class EncodedTexts(NamedTuple):
    """The input of a call, from which offsets are computed later."""

    encoder: Encoder
    texts: list[AnyText]
    options: Options
    # The index in `texts` at which each sequence begins, and the end of the last, if sequences were given in words;
    # else None
    bounds: list[int] | None

    def layout(self, per_row: int, template: TemplateIds) -> Layout:
        """Return the rows of a call, neither truncated nor padded, each of one or two sequences."""
        ids, offsets = self.encoder.encode_to_numpy(self.texts, self.options, default_threads())
        starts = offsets if self.bounds is None else offsets[self.bounds]
        return Layout.from_offsets(ids, starts, per_row, template)

    def places(self) -> Numbers:
        """Return (begin, end, word) of each id."""
        _, offsets, places = self.encoder.encode_with_offsets(self.texts, self.options)
        if self.bounds is not None:
            # Word ids refer to the given words.
            for first, last in pairwise(self.bounds):
                for number, text in enumerate(range(first, last)):
                    places[offsets[text] : offsets[text + 1], 2] = number
        return places

    def matched(self, added_tokens: Mapping[int, AddedToken], ids: Ids) -> dict[int, str]:
        """Return the text of added tokens that take the white space around them: number of the id → text."""
        stripping = [token_id for token_id, token in added_tokens.items() if token.lstrip or token.rstrip]
        numbers = np.flatnonzero(np.isin(ids, stripping))
        if not len(numbers):
            return {}
        _, offsets, places = self.encoder.encode_with_offsets(self.texts, self.options)
        matched = {}
        for number, text in zip(numbers.tolist(), np.searchsorted(offsets, numbers, "right").tolist(), strict=True):
            begin, end, _ = places[number].tolist()
            piece = self.texts[text - 1][begin:end]
            matched[number] = piece if isinstance(piece, str) else piece.decode("utf-8", "replace")
        return matched


@dataclass(eq=False, repr=False)
class Encodings(Sequence[Encoding]):
    """The `Encoding` of each row of a call, computed on demand.

    Args:
        layout: returns the layout.
        places: returns (begin, end, word) of each id of all sequences.
        type_ids: (layout, row) → token type ids.
        to_tokens: ids → tokens.
        trim: whether offsets leave white space out, see `trimmed`.
        matched: all ids → the text of those whose token is not the text; needed only for `trim` and `shows_matched`.
        contents: id → token of special tokens and padding, where it is not that of `to_tokens`.
        shows_matched: whether added tokens show the text that they match, with the white space that they take.
    """

    _make_layout: Callable[[], Layout]
    _make_places: Callable[[], Numbers]
    _type_ids: TypeIds
    _to_tokens: ToTokens
    _trim: Trim
    _make_matched: Callable[[Ids], dict[int, str]]
    _contents: Mapping[int, str]
    _shows_matched: bool
    _made: dict[int, Encoding] = field(init=False, default_factory=dict)

    def __reduce__(self) -> tuple[object, ...]:
        # Data loaders send batches between processes, so they pickle as arrays, without the tokenizer.
        layout = self._layout
        ids = [*{*layout.ids.tolist(), *chain.from_iterable(layout.template), layout.pad_id} - {NO_ID}]
        tokens = dict(zip(ids, self._to_tokens(ids), strict=True))
        type_ids = [self._type_ids(layout, row) for row in range(len(self))]
        return Encodings, (
            *(partial(_fixed_value, layout), partial(_fixed_value, self._places)),
            *(partial(_row_value, type_ids), partial(_look_up, tokens), self._trim),
            *(partial(_fixed_value, self._matched), dict(self._contents), self._shows_matched),
        )

    def __len__(self) -> int:
        return len(self._layout.spans)

    @overload
    def __getitem__(self, index: int) -> Encoding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Encoding]: ...
    def __getitem__(self, index: int | slice) -> Encoding | list[Encoding]:
        rows = range(len(self))[index]
        return [self._encoding(row) for row in rows] if isinstance(rows, range) else self._encoding(rows)

    def offsets(self, row: int) -> list[Offsets]:
        """Return the offsets of a row."""
        spans = self._layout.spans[row].tolist()
        pairs = [[*zip(*self._places[first:last, :2].T.tolist(), strict=True)] for first, last in spans]
        if self._trim:
            tokens = [self._to_tokens(self._layout.ids[first:last].tolist()) for first, last in spans]
            for row_tokens, (first, last) in zip(tokens, spans, strict=True):
                for number in self._matched.keys() & range(first, last):
                    row_tokens[number - first] = self._matched[number]
            keep_first = self._trim == "prefix"
            pairs = [trimmed(row, offsets, keep_first) for row, offsets in zip(tokens, pairs, strict=True)]
        return self._layout.column((0, 0), pairs, (0, 0))

    @cached_property
    def _layout(self) -> Layout:
        return self._make_layout()

    @cached_property
    def _places(self) -> Numbers:
        return self._make_places()

    @cached_property
    def _matched(self) -> dict[int, str]:
        return self._make_matched(self._layout.ids) if self._trim or self._shows_matched else {}

    def _row_tokens(self, row: int, ids: list[int]) -> list[str]:
        """Return the tokens of a row, whose ids are given."""
        tokens, matched = self._to_tokens(ids), self._matched if self._shows_matched else {}
        if not matched and not self._contents:
            return tokens
        spans = self._layout.spans[row].tolist()
        numbers = self._layout.column(-1, [[*range(begin, end)] for begin, end in spans], -1)
        return [
            self._contents.get(token_id, token) if number < 0 else matched.get(number, token)
            for token_id, token, number in zip(ids, tokens, numbers, strict=True)
        ]

    def _encoding(self, row: int) -> Encoding:
        if row not in self._made:
            layout = self._layout
            spans = layout.spans[row].tolist()
            words: list[list[int | None]] = [self._places[begin:end, 2].tolist() for begin, end in spans]
            sizes = [end - begin for begin, end in spans]
            numbers: list[list[int | None]] = [[number] * size for number, size in enumerate(sizes)]
            self._made[row] = Encoding(
                ids=layout.row(row),
                type_ids=self._type_ids(layout, row),
                offsets=self.offsets(row),
                word_ids=layout.column(None, words, None),
                sequence_ids=layout.column(None, numbers, None),
                special_tokens_mask=layout.column(1, [[0] * size for size in sizes], 1),
                attention_mask=layout.mask(row),
                n_sequences=len(spans),
                _to_tokens=partial(self._row_tokens, row),
            )
        return self._made[row]


class DeferredEncodings(Encodings):
    """Encodings that are made, like all their parts, only when somebody looks at them; few callers do.

    `complete` returns encodings whose parts these take; it is called again only where two threads look at once.
    """

    def __init__(self, complete: Callable[[], Encodings]) -> None:
        self._complete = complete

    def __getattr__(self, name: str) -> Any:
        if name not in _PARTS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        parts = vars(self._complete())
        # In one step, so that another thread sees all parts or none.
        self.__dict__.update({each: parts[each] for each in _PARTS})
        return self.__dict__[name]


_PARTS = tuple(each.name for each in fields(Encodings))


def trimmed(tokens: list[str], offsets: list[Offsets], keep_first: bool) -> list[Offsets]:
    """Return the offsets of tokens without the white space at their ends.

    Given are the printable tokens of a sequence, an added one as the text that it matched. With `keep_first` one space
    at the beginning of the text stays, as if it had been put there. Source: ByteLevel of `tokenizers` 0.23.

    >>> trimmed(["Ġlow", "Ġer"], [(0, 4), (4, 7)], keep_first=False)
    [(1, 4), (5, 7)]
    >>> trimmed(["Ġlow", "Ġer"], [(0, 3), (3, 6)], keep_first=True)
    [(0, 3), (4, 6)]
    """
    rows: list[Offsets] = []
    for number, (token, (begin, end)) in enumerate(zip(tokens, offsets, strict=True)):
        leading = len(token) - len(token.lstrip(_SPACES))
        trailing = len(token) - len(token.rstrip(_SPACES))
        if leading:
            is_first = number == 0 or begin == 0
            if not (is_first and keep_first and leading == 1):  # several spaces were not put there
                begin = min(begin + leading, end)
        if trailing and end >= trailing:
            end = max(end - trailing, begin)
        rows.append((begin, end))
    return rows


_SPACES = WHITE_SPACE + to_printable(b" ")


# What encodings that were pickled are made of, instead of functions of the tokenizer.


def _fixed_value(value: Value, *_: object) -> Value:
    return value


def _row_value(rows: list[list[int]], _: Layout, row: int) -> list[int]:
    return rows[row]


def _look_up(tokens: dict[int, str], ids: list[int]) -> list[str]:
    return [tokens[token_id] for token_id in ids]
