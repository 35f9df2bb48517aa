"""Tokens that may follow a text in normalization form C so that it stays in that form.

Text in the form is what encoding leaves as it is, so canonical ids have no other. Each part of a text in the form is in
it, and where a segment begins, which is a character with the marks that join it, two such parts make a text in the form
(docs/explanation/algorithm.md, section 13). So only the last segment of a text and the first characters of a token
decide, and tokens that no text in the form has can be left out at once.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hf_bpe.canonical._character_classes import span_of_beginning
from hf_bpe.canonical._neighbors import Bits
from hf_bpe.canonical._token_texts import TokenTexts, decode_beginning
from hf_bpe.normalizers._normalizer import NFC

_SEGMENTS = 1 << 11  # results that are kept
_LONGEST_KEPT = 64  # characters


class NormalForm:
    r"""The tokens that may follow a text in normalization form C, as `size` bits.

    Attributes:
        never: the ids of tokens that no text in the form has.

    >>> form = NormalForm(TokenTexts.from_vocab({0: b"e", 1: "\u0301".encode(), 2: "e\u0301".encode(), 3: b"\xcc"}), 4)
    >>> form.never, np.unpackbits(form.after(b"e"), count=4)
    ({2}, array([1, 0, 1, 1], dtype=uint8))
    """

    def __init__(self, tokens: TokenTexts, size: int) -> None:
        self._size = size
        self.never: set[int] = set()
        # The tokens that do not begin a segment, by their first characters, and tokens that begin inside a character.
        self._joining: dict[str, list[int]] = {}
        self._beginning: dict[bytes, list[int]] = {}  # tokens of one incomplete character
        self._continuing: dict[bytes, list[int]] = {}
        is_plain, joins = _kinds_of_characters(tokens.codes)
        not_plain = np.concatenate([np.zeros(1, np.int64), np.cumsum(~is_plain[tokens.codes])])
        # Each character of other tokens is a segment in the form.
        is_examined = not_plain[tokens.begins + tokens.sizes] > not_plain[tokens.begins]
        for number in np.flatnonzero(is_examined).tolist():
            token, token_id = tokens.tokens[number], int(tokens.ids[number])
            if not tokens.are_text[number]:
                self._add_parts(token, token_id)
                continue
            text = token.decode()
            if not _is_in_form(text):
                self.never.add(token_id)
            elif text[0] in joins:
                self._joining.setdefault(_lead(text), []).append(token_id)
        self._all = np.packbits(np.ones(size, bool))
        self._kept = lru_cache(_SEGMENTS)(self._after)

    def after(self, text: bytes) -> Bits:
        """Return the tokens that may follow a text in the form, which may end with a part of a character.

        Tokens of `never` are arbitrary. A token that ends inside a character may follow if some character completes it.
        """
        whole, partial = decode_beginning(text) or ("", b"")
        begin = NFC.last_segment(whole, len(whole) - 1)
        segment = whole[begin:]
        return (self._kept if len(segment) <= _LONGEST_KEPT else self._after)(segment, partial)

    def _after(self, segment: str, partial: bytes) -> Bits:
        left_out: list[int] = []
        if partial:
            for lead, ids in self._continuing.items():
                if not self._may_follow(segment, partial + lead):
                    left_out += ids
        else:
            if not segment:
                return self._all
            for joining, ids in self._joining.items():
                if not _is_in_form(segment + joining):
                    left_out += ids
            for part, ids in self._beginning.items():
                if not self._may_follow(segment, part):
                    left_out += ids
        marks = np.ones(self._size, bool)
        marks[left_out] = False
        return np.packbits(marks)

    def _may_follow(self, segment: str, data: bytes) -> bool:
        """Say whether a text in the form may go on with some bytes, and then some character that completes them."""
        decoded = decode_beginning(data)
        if decoded is None:
            return True  # no text has these bytes, so other rules leave the token out
        text, partial = decoded
        if not _is_in_form(segment + text):
            return False
        if not partial:
            return True
        begin = NFC.last_segment(segment + text, len(segment + text) - 1)
        return _some_completes((segment + text)[begin:], partial)

    def _add_parts(self, token: bytes, token_id: int) -> None:
        inside = next((at for at, byte in enumerate(token[:4]) if byte & 0xC0 != 0x80), min(len(token), 4))
        decoded = decode_beginning(token[inside:])
        if decoded is None:
            return  # no text has it
        text, partial = decoded
        joining = _lead(text)
        if not self._may_follow("", token[inside:]):
            self.never.add(token_id)
        elif inside:
            # The character that is completed, and the marks that join it.
            data = token[:inside] + joining.encode() + (partial if joining == text else b"")
            self._continuing.setdefault(data, []).append(token_id)
        elif joining == text:  # all of it, and maybe the incomplete character, join what precedes them
            self._beginning.setdefault(text.encode() + partial, []).append(token_id)
        elif joining:
            self._joining.setdefault(joining, []).append(token_id)


def has_segment(text: bytes) -> bool:
    """Say whether a segment begins in a text, which may end with a part of a character."""
    whole, _ = decode_beginning(text) or ("", b"")
    return any(map(NFC.begins_segment, reversed(whole)))


def is_separate(text: str) -> bool:
    """Say whether a text stays as it is after any other, and does not change that."""
    return _is_in_form(text) and NFC.begins_segment(text[:1])


def _is_in_form(text: str) -> bool:
    # Python knows more characters than `tokenizers`, which decides.
    return unicodedata.is_normalized("NFC", text) or NFC.apply(text) == text


def _kinds_of_characters(codes: npt.NDArray[np.uint32]) -> tuple[npt.NDArray[np.bool_], frozenset[str]]:
    """Return which characters are a segment in the form wherever they stand, and which do not begin a segment.

    Only the given characters are looked at. Surrogates are not plain.
    """
    is_plain = np.ones(0x110000, bool)
    is_plain[0xD800:0xE000] = False
    is_given = np.zeros(0x110000, bool)
    is_given[codes] = True
    is_given[:0x80] = is_given[0xD800:0xE000] = False
    text = "".join(map(chr, np.flatnonzero(is_given).tolist()))
    joins = frozenset(char for char in text if not NFC.begins_segment(char))
    is_plain[[ord(char) for char in text if char in joins or not _is_in_form(char)]] = False
    return is_plain, joins


def _lead(text: str) -> str:
    """Return the first characters of a text that do not begin a segment."""
    return text[: next((at for at, char in enumerate(text) if NFC.begins_segment(char)), len(text))]


@lru_cache(maxsize=1 << 14)
def _some_completes(segment: str, partial: bytes) -> bool:
    """Say whether a text stays in the form with some character whose UTF-8 begins with `partial`."""
    first, stop = span_of_beginning(partial)
    for code in range(first, stop):
        if not 0xD800 <= code <= 0xDFFF:
            char = chr(code)
            if _is_in_form(char if NFC.begins_segment(char) else segment + char):
                return True
    return False
