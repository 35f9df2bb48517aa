"""Measure how a tokenizer encodes counted text: each distinct pre-token, times its number of occurrences.

Only sums are kept, so memory does not grow with the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import regex

from hf_bpe.core._model import BPEModel
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder
from hf_bpe.pretokenizers._regex.newer_characters import hide_newer

Sums = npt.NDArray[np.float64]

# The columns of the sums.
BYTES, CHARACTERS, TOKENS, WORDS, WORD_TOKENS, ONE_TOKEN = range(6)

# The scripts in wide or limited modern use, by Unicode Standard Annex 31. Letters of all other scripts count as "other
# scripts".
_USED = (  # noqa: SIM905  # a list of strings would take a page
    "Latin Greek Cyrillic Armenian Hebrew Arabic Syriac Thaana Devanagari Bengali Gurmukhi Gujarati Oriya Tamil Telugu "
    "Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Georgian Hangul Ethiopic Cherokee Canadian_Aboriginal Khmer "
    "Mongolian Hiragana Katakana Bopomofo Han Yi Nko Samaritan Mandaic Limbu Tai_Le New_Tai_Lue Tai_Tham Balinese "
    "Sundanese Batak Lepcha Ol_Chiki Tifinagh Lisu Vai Bamum Syloti_Nagri Saurashtra Kayah_Li Javanese Cham Tai_Viet "
    "Meetei_Mayek Chakma Newa Osage Adlam Hanifi_Rohingya Miao Wancho Nyiakeng_Puachue_Hmong"
).split()
UNNAMED = ("other scripts", "no letter")
"""The names of groups that are not a script."""

SCRIPTS = (UNNAMED[1], *(script.replace("_", " ") for script in _USED), UNNAMED[0])
"""The names of the scripts by their numbers."""

LATIN = SCRIPTS.index("Latin")
_OTHER = len(SCRIPTS) - 1
_SCRIPT = regex.compile("|".join(rf"(\p{{Script={script}}})" for script in _USED))
_LETTER = regex.compile(r"\p{L}")
_LETTER_OR_NUMBER = regex.compile(r"[\p{L}\p{N}]")


class Totals:
    """Sums over a group of texts for one tokenizer.

    Numbers are float64, which is exact for integers up to 2**53.

    Attributes:
        sums: a row for each of `SCRIPTS`, and a column for each summed quantity.
        usage: how often each token occurs, in the order of the ids; the last element counts bytes without a token.
    """

    def __init__(self, vocab_size: int) -> None:
        self.sums: Sums = np.zeros((len(SCRIPTS), 6))
        self.usage: Sums = np.zeros(vocab_size + 1)

    def __add__(self, other: Totals) -> Totals:
        total = Totals(len(self.usage) - 1)
        total.sums = self.sums + other.sums
        total.usage = self.usage + other.usage
        return total


class Measure:
    """Encode the pre-tokens of counts with a model in several threads."""

    def __init__(self, model: BPEModel, threads: int) -> None:
        # Text was already split and normalized for counting.
        self._encoder = make_encoder(replace(model, pattern=None, normalizer=None))
        self._ids = np.array([*model.vocab], np.int64)
        self._unknown = max(model.vocab, default=-1) + 1
        self._threads = threads

    def add(self, totals: Totals, words: Sequence[bytes], counts: Sums, kinds: npt.NDArray[np.int64]) -> None:
        """Add the encodings of words to totals.

        Args:
            totals: the totals for a vocabulary of this size.
            words: pre-tokens.
            counts: how often each occurs.
            kinds: the result of `classify_all` for the words.
        """
        ids, offsets = self._encoder.encode_to_numpy([*words], Options(unknown_id=self._unknown), self._threads)
        lengths = np.diff(offsets)
        places = np.searchsorted(self._ids, ids.astype(np.int64))
        totals.usage += np.bincount(places, np.repeat(counts, lengths), len(totals.usage))
        size, characters, is_word, script = kinds.T
        for column, values in enumerate(
            (size, characters, lengths, is_word, is_word * lengths, is_word * (lengths == 1))
        ):
            totals.sums[:, column] += np.bincount(script, values * counts, len(SCRIPTS))


def measure(counts: WordCounts, measures: Sequence[Measure], all_totals: Sequence[Totals]) -> None:
    """Add counts to the totals of each model; properties of the words are computed once for all models."""
    for words, numbers in counts.batches():
        weights = np.array(numbers, np.float64) / counts.scale
        kinds = classify_all(words)
        for model, totals in zip(measures, all_totals, strict=True):
            model.add(totals, words, weights, kinds)


# Properties of a pre-token that do not depend on a tokenizer.


class Kind(NamedTuple):
    """The properties of a pre-token.

    Attributes:
        characters: number of characters; a byte that is not UTF-8 counts as one.
        is_word: whether the pre-token holds a letter or a number.
        script: the index in `SCRIPTS` of the script of its first letter.
    """

    characters: int
    is_word: bool
    script: int


def classify(word: bytes) -> Kind:
    r"""Return the properties of a pre-token.

    >>> classify(" caf\xe9".encode())
    Kind(characters=5, is_word=True, script=1)
    >>> classify(b" 42"), SCRIPTS[0]
    (Kind(characters=3, is_word=True, script=0), 'no letter')
    """
    if word.isascii():
        has_letter = word.upper() != word.lower()
        is_word = has_letter or _LETTER_OR_NUMBER.search(word.decode()) is not None
        return Kind(len(word), is_word, LATIN if has_letter else 0)
    text = word.decode("utf-8", "surrogateescape")
    seen = hide_newer(text)
    letter = _LETTER.search(seen)
    if letter is not None:
        return Kind(len(text), True, _script_index(letter[0]))
    return Kind(len(text), _LETTER_OR_NUMBER.search(seen) is not None, 0)


def classify_all(words: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Return an array with a row for each pre-token: its number of bytes, then the fields of `Kind`."""
    return np.array([(len(word), *classify(word)) for word in words], np.int64).reshape(-1, 4)


@lru_cache(maxsize=1 << 16)
def _script_index(letter: str) -> int:
    match = _SCRIPT.match(letter)
    return _OTHER if match is None else match.lastindex
