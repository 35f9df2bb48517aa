"""Added tokens in text: found before any split, as `tokenizers` finds them, so that both give the same ids.

Source of the rules: `added_vocabulary.rs` of tokenizers 0.23. Tokens that are not normalized are found before those
that are; where several begin at one place the longest is taken; flags are looked at only then.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import regex
from tokenizers import AddedToken

from hf_bpe.patterns import WHITE_SPACE, hide_newer


class AddedTokenSplitter:
    """Split text at added tokens.

    Args:
        added_tokens: id → token.

    >>> splitter = AddedTokenSplitter({7: AddedToken("<|x|>", special=True)})
    >>> splitter.split("a <|x|>b")
    ['a ', 7, 'b']
    """

    def __init__(self, added_tokens: Mapping[int, AddedToken]) -> None:
        self._added_tokens = dict(added_tokens)
        self._tokens = {token.content: (token_id, token) for token_id, token in added_tokens.items()}
        self._rounds = [
            _finder([token.content for token in added_tokens.values() if token.normalized is normalized])
            for normalized in (False, True)
        ]

    def __reduce__(self) -> tuple[type[AddedTokenSplitter], tuple[dict[int, AddedToken]]]:
        return AddedTokenSplitter, (self._added_tokens,)

    def split(self, text: str, *, split_special_tokens: bool = False) -> list[str | int]:
        """Return stretches of text and ids of added tokens, in order; no stretch is empty.

        Args:
            text: any text.
            split_special_tokens: leave special tokens in the text; other added tokens are still found.
        """
        spans = self.spans(text, split_special_tokens=split_special_tokens)
        return [text[start:stop] if token_id is None else token_id for start, stop, token_id in spans]

    def spans(self, text: str, *, split_special_tokens: bool = False) -> list[tuple[int, int, int | None]]:
        """Return the same as where each begins and ends, and its id, None for text.

        That of a token includes the white space that its flags have eaten.

        >>> AddedTokenSplitter({7: AddedToken("<|x|>", rstrip=True)}).spans("a<|x|> b")
        [(0, 1, None), (1, 7, 7), (7, 8, None)]
        """
        spans: list[tuple[int, int, int | None]] = [(0, len(text), None)] if text else []
        for finder in self._rounds:
            if finder is None:
                continue
            found: list[tuple[int, int, int | None]] = []
            for start, stop, token_id in spans:
                if token_id is None:
                    # What is left and right of a stretch is not looked at.
                    inside = self._split(finder, text[start:stop], split_special_tokens)
                    found += [(start + begin, start + end, token) for begin, end, token in inside]
                else:
                    found.append((start, stop, token_id))
            spans = found
        return spans

    def _split(
        self, finder: regex.Pattern[str], text: str, split_special_tokens: bool
    ) -> Iterator[tuple[int, int, int | None]]:
        end = 0
        for match in finder.finditer(text):
            token_id, token = self._tokens[match.group()]
            start, stop = match.span()
            if (split_special_tokens and token.special) or (token.single_word and _in_word(text, start, stop)):
                continue
            # What rstrip of the token before has eaten may be eaten or found again: `tokenizers` does so, too.
            if token.lstrip:
                while start > end and text[start - 1] in WHITE_SPACE:
                    start -= 1
                start = max(start, end)
            while token.rstrip and stop < len(text) and text[stop] in WHITE_SPACE:
                stop += 1
            if end < start:
                yield end, start, None
            if start < stop:
                yield start, stop, token_id
            end = stop
        if end < len(text):
            yield end, len(text), None


def as_special(token: AddedToken, content: str | None = None) -> AddedToken:
    """Return a special token with the flags of an added token, and its content unless another is given."""
    return AddedToken(
        content or token.content,
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=token.normalized,
        special=True,
    )


def special_tokens_in(settings: Mapping[str, Any]) -> list[str | AddedToken]:
    """Return the special tokens that settings of a tokenizer give: any that is called `…_token`, and the extra ones."""
    named = [value for name, value in settings.items() if name.endswith("_token")]
    extra = settings.get("extra_special_tokens", settings.get("additional_special_tokens")) or []
    given = [*named, *(extra.values() if isinstance(extra, dict) else extra)]
    return [token for token in given if isinstance(token, (str, AddedToken))]


def _finder(contents: list[str]) -> regex.Pattern[str] | None:
    if not any(contents):
        return None
    return regex.compile(
        "|".join(regex.escape(content) for content in sorted(filter(None, contents), key=len, reverse=True))
    )


def _in_word(text: str, start: int, stop: int) -> bool:
    before, after = text[start - 1 : start] if start else "", text[stop : stop + 1]
    return any(_WORD.match(hide_newer(char)) for char in (before, after))


# What Rust's regex calls a word character, by Unicode's annex 18.
_WORD = regex.compile(r"[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]")
