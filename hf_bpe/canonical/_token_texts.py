"""Tokens of a vocabulary as text: the characters of all in one array, and words that several of them make."""

from __future__ import annotations

import codecs
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, compress, islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe.encoding._encoder import Numbers

_SEPARATOR = b"\xff"  # ends an incomplete character


class TokenTexts(NamedTuple):
    r"""Tokens as characters.

    >>> texts = TokenTexts.from_vocab({7: b"ab", 8: "\xe9".encode()[:1]})
    >>> texts.codes.tolist() == [ord("a"), ord("b"), 0xDCC3], texts.are_text.tolist()
    (True, [True, False])
    """

    # The tokens and their ids, in any order
    tokens: list[bytes]
    ids: Numbers
    # The code points of all tokens, and maybe of others, uint32; a byte that is no text is a surrogate
    codes: npt.NDArray[np.uint32]
    # Where each token begins in `codes`, and the number of its code points
    begins: Numbers
    sizes: Numbers
    are_text: npt.NDArray[np.bool_]  # whether each token is UTF-8

    @classmethod
    def from_vocab(cls, vocab: Mapping[int, bytes]) -> TokenTexts:
        """Return the characters of a vocabulary, by ids."""
        tokens = [*vocab.values()]
        text = _SEPARATOR.join([*tokens, b""]).decode("utf-8", "surrogateescape")
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
        is_byte = (codes >= 0xDC80) & (codes <= 0xDCFF)
        bytes_of = 1 + (codes >= 0x80).astype(np.int64) + (codes >= 0x800) + (codes >= 0x10000)
        bytes_of[is_byte] = 1
        ends_in_bytes = np.cumsum(np.fromiter(map(len, tokens), np.int64, len(tokens)) + 1)
        separators = np.searchsorted(np.cumsum(bytes_of), ends_in_bytes)
        is_kept = np.ones(len(codes), bool)
        is_kept[separators] = False
        kept, is_byte = codes[is_kept], is_byte[is_kept]
        ends = separators - np.arange(len(tokens))
        begins = np.concatenate([np.zeros(1, np.int64), ends])[: len(tokens)]
        number_of_bytes = np.concatenate([np.zeros(1, np.int64), np.cumsum(is_byte)])
        are_text = number_of_bytes[ends] == number_of_bytes[begins]
        return cls(tokens, np.fromiter(vocab, np.int64, len(tokens)), kept, begins, ends - begins, are_text)

    def without(self, ids: Collection[int]) -> TokenTexts:
        """Return the tokens without some ids."""
        is_kept = ~np.isin(self.ids, [*ids])
        tokens = [*compress(self.tokens, is_kept.tolist())]
        return TokenTexts(
            tokens, self.ids[is_kept], self.codes, self.begins[is_kept], self.sizes[is_kept], self.are_text[is_kept]
        )

    def have(self, code: int) -> npt.NDArray[np.bool_]:
        """Return whether each token has a character."""
        number = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.codes == code)])
        flags: npt.NDArray[np.bool_] = number[self.begins + self.sizes] > number[self.begins]
        return flags


class WholeWords:
    """Finds words that are one token by `ignore_merges` alone, as in Llama 3, because merges make several tokens.

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
        """Return the bytes that complete the last token, the last two, and so on, to a word."""
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


def decode_beginning(data: bytes) -> tuple[str, bytes] | None:
    """Return complete characters and the beginning of another one; None for what is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data)
    except UnicodeDecodeError:
        return None
    return text, decoder.getstate()[0]
