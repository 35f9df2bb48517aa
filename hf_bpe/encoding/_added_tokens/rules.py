"""Finding added tokens in text before it is split, by the rules of `tokenizers`, so that both give the same ids.

Source of the rules: `added_vocabulary.rs` of tokenizers 0.23. Tokens with `normalized=False` are found before the
others; of several that begin at one position the longest is taken; flags are checked only afterwards.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

from tokenizers import AddedToken

from hf_bpe._utils.cached_property import cached_property
from hf_bpe._utils.lazy_exports import compiled
from hf_bpe.core._arrays import WrittenVocab
from hf_bpe.encoding._added_tokens.finder import TokenFinder
from hf_bpe.pretokenizers._pattern import WHITE_SPACE
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer


class AddedTokenSplitter:
    """Split text at added tokens, given by their ids.

    >>> splitter = AddedTokenSplitter({7: AddedToken("<|x|>", special=True)})
    >>> splitter.split("a <|x|>b")
    ['a ', 7, 'b']
    """

    def __init__(self, added_tokens: Mapping[int, AddedToken]) -> None:
        self._added_tokens = dict(added_tokens)
        self._tokens = {token.content: (token_id, token) for token_id, token in added_tokens.items()}
        rounds = (
            [token.content for token in added_tokens.values() if token.normalized is normalized]
            for normalized in (False, True)
        )
        self._rounds = [TokenFinder(contents) for contents in rounds if contents]

    def __reduce__(self) -> tuple[type[AddedTokenSplitter], tuple[dict[int, AddedToken]]]:
        return AddedTokenSplitter, (self._added_tokens,)

    def split(self, text: str, *, split_special_tokens: bool = False) -> list[str | int]:
        """Return segments of text and ids of added tokens, in order; no segment is empty.

        With `split_special_tokens` special tokens are text; other added tokens are still found.
        """
        spans = self.spans(text, split_special_tokens=split_special_tokens)
        return [text[start:stop] if token_id is None else token_id for start, stop, token_id in spans]

    def spans(self, text: str, *, split_special_tokens: bool = False) -> list[tuple[int, int, int | None]]:
        """Return the (start, stop, id) of each segment of text and each added token; the id of text is None.

        The span of a token includes the white space that its flags strip.

        >>> AddedTokenSplitter({7: AddedToken("<|x|>", rstrip=True)}).spans("a<|x|> b")
        [(0, 1, None), (1, 7, 7), (7, 8, None)]
        """
        spans: list[tuple[int, int, int | None]] = [(0, len(text), None)] if text else []
        for finder in self._rounds:
            parts: list[tuple[int, int, int | None]] = []
            for start, stop, token_id in spans:
                if token_id is None:
                    # Text outside the segment is not considered.
                    inside = self._split(finder, text[start:stop], split_special_tokens)
                    parts += [(start + begin, start + end, token) for begin, end, token in inside]
                else:
                    parts.append((start, stop, token_id))
            spans = parts
        return spans

    def _split(
        self, finder: TokenFinder[str], text: str, split_special_tokens: bool
    ) -> Iterator[tuple[int, int, int | None]]:
        end = 0
        after_white_space = 0  # the end of the white space that rstrip stripped last
        for start, content in finder.find_all(text):
            token_id, token = self._tokens[content]
            stop = start + len(content)
            if (split_special_tokens and token.special) or (token.single_word and _in_word(text, start, stop)):
                continue
            # White space that rstrip of the preceding token stripped may be stripped or matched again, as in
            # `tokenizers`.
            if token.lstrip:
                while start > end and text[start - 1] in WHITE_SPACE:
                    start -= 1
                start = max(start, end)
            if token.rstrip:
                after_white_space = max(after_white_space, stop)
                while after_white_space < len(text) and text[after_white_space] in WHITE_SPACE:
                    after_white_space += 1
                stop = after_white_space
            if end < start:
                yield end, start, None
            if start < stop:
                yield start, stop, token_id
            end = stop
        if end < len(text):
            yield end, len(text), None

    def forbidden_cuts(self, text: str, start: int, stop: int) -> PositionSet:
        """Return the positions at which added tokens forbid a cut, because the parts would be split unlike the whole.

        An added token spans such a position, or touches it and strips white space or checks neighboring characters
        there. Positions from `start` to `stop` may be queried.

        >>> splitter = AddedTokenSplitter({7: AddedToken("<|x|>")})
        >>> [at for at in range(7) if at not in splitter.forbidden_cuts("<|x|>y", 0, 7)]
        [0, 5, 6]
        """
        ranges = []
        for finder in self._rounds:
            for begin, content in finder.find_begins(text, max(start - finder.longest, 0), min(stop, len(text))):
                # Of the tokens that begin here the longest forbids all that the others forbid, because they end before
                # it.
                _, token = self._tokens[content]
                end = begin + len(content)
                ranges.append(
                    (begin + (content not in self._looking_left), end - (not (token.rstrip or token.single_word)))
                )
        return PositionSet(ranges)

    @cached_property
    def _looking_left(self) -> set[str]:
        """The tokens that depend on the text before them, or begin with one that does."""
        looking = {content for content, (_, token) in self._tokens.items() if token.lstrip or token.single_word}
        sizes = {*map(len, looking)}
        return {content for content in self._tokens if any(content[:size] in looking for size in sizes)}


class PositionSet:
    """A set of integers, given as (first, last) ranges that may overlap or be empty.

    >>> 4 in PositionSet([(1, 5), (3, 2)]), 6 in PositionSet([(1, 5), (7, 9)])
    (True, False)
    """

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        for first, last in sorted(ranges):
            if self._lasts and first <= self._lasts[-1]:
                self._lasts[-1] = max(self._lasts[-1], last)
            elif first <= last:
                self._firsts.append(first)
                self._lasts.append(last)

    def __contains__(self, number: int) -> bool:
        at = bisect_right(self._firsts, number)
        return at > 0 and number <= self._lasts[at - 1]


def as_special(token: AddedToken, content: str | None = None) -> AddedToken:
    """Return a special token with the flags of an added token, and with its content unless another is given."""
    return AddedToken(**{**token.__getstate__(), "content": content or token.content, "special": True})


def special_tokens_in(settings: Mapping[str, Any]) -> list[str | AddedToken]:
    """Return the special tokens in a tokenizer's settings: all named `…_token`, and the extra special tokens."""
    named = [value for name, value in settings.items() if name.endswith("_token")]
    extra = settings.get("extra_special_tokens", settings.get("additional_special_tokens")) or []
    values = [*named, *(extra.values() if isinstance(extra, dict) else extra)]
    return [token for token in values if isinstance(token, (str, AddedToken))]


def check_added_ids(added: Mapping[int, str], vocab: WrittenVocab) -> None:
    """Raise a ValueError if an added token has the id of another token, or a different id than in the vocabulary."""
    by_content = {content: token_id for token_id, content in added.items()}
    known, taken = vocab.find(by_content), {*added}.intersection(vocab.ids)
    for token_id, content in added.items():
        if token_id in taken and known.get(content) != token_id:
            text = next(text for text, i in vocab.items() if i == token_id)
            raise ValueError(
                f"added_tokens_decoder: {content!r:.80} has the id {token_id}, which is the id of {text!r:.80}"
            )
        if (old_id := known.get(content, by_content[content])) != token_id:
            raise ValueError(
                f"added_tokens_decoder: {content!r:.80} has the id {token_id}, but is already token {old_id}"
            )


def _in_word(text: str, start: int, stop: int) -> bool:
    before, after = text[start - 1 : start] if start else "", text[stop : stop + 1]
    return any(compiled(_WORD).match(hide_newer(char)) for char in (before, after))


# Word characters by Rust's regex, as in Unicode's annex 18.
_WORD = r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]"
