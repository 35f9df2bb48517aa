"""The characters that training begins with, for models whose alphabet is characters, in plain Python."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby

from hf_bpe.core._alphabet import BYTE_TOKENS


@dataclass(frozen=True)
class TrainingAlphabet:
    """The characters that merges are learned from.

    >>> [*TrainingAlphabet("ab").runs("abcba")], [*TrainingAlphabet("ab", drops_others=True).runs("abcba")]
    (['ab', 'ba'], ['abba'])
    """

    characters: str  # each once, in the order of their code points
    # Leave other characters out, so that those on either side become neighbors, as `tokenizers.trainers.BpeTrainer`
    # does. Otherwise no pair crosses them, because none does in a text that is encoded
    drops_others: bool = False
    reserved: frozenset[bytes] = frozenset(BYTE_TOKENS)  # tokens that no merge makes: those of bytes

    def runs(self, word: str) -> Iterator[str]:
        """Yield the parts of a word that consist of characters of the alphabet."""
        characters = {*self.characters}
        parts = ["".join(group) for is_known, group in groupby(word, characters.__contains__) if is_known]
        yield from [text for text in ["".join(parts)] if text] if self.drops_others else parts

    def codes(self) -> list[int]:
        """Return the code points of the characters."""
        return [*map(ord, self.characters)]

    @property
    def digest(self) -> str:
        """SHA-256, in hex, of all that decides merges."""
        content = [self.characters, self.drops_others, sorted(token.hex() for token in self.reserved)]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def count_characters(counts: Mapping[bytes, int]) -> Counter[str]:
    """Return how often each character occurs in counted pre-tokens; bytes that are not UTF-8 are left out."""
    counted: Counter[str] = Counter()
    for word, count in counts.items():
        for char in word.decode(errors="surrogateescape"):
            if not "\ud800" <= char <= "\udfff":
                counted[char] += count
    return counted


def choose_characters(counts: Mapping[str, int], coverage: float, limit: int | None = None) -> str:
    """Return the commonest characters that make up a share of a text, in the order of their code points.

    Source: `Trainer::LoadSentences` and `--character_coverage` of SentencePiece: characters are taken, the commonest
    first and those of lower code points first among equals, until `coverage` of all occurrences is reached. With 1 all
    are taken, but at most `limit`.

    >>> choose_characters({"b": 5, "a": 4, "c": 1}, 0.9)
    'ab'
    """
    total, taken, chosen = sum(counts.values()), 0, list[str]()
    for char, count in sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])):
        if taken >= coverage * total or len(chosen) == limit:
            break
        chosen.append(char)
        taken += count
    return "".join(sorted(chosen))
