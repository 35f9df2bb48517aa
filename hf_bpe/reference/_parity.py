"""The definition of parity-aware training: merges for several languages, each for the one that is worst off."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from hf_bpe.core._model import Merge
from hf_bpe.pretokenizers._byte_level import to_printable
from hf_bpe.reference._options import LearningOptions


class ParityMerges(NamedTuple):
    """Merges of several languages."""

    merges: list[Merge]  # the merges in the order learned
    chosen: list[int]  # for each, the number of the language that it was learned for; the number of languages for all


@dataclass(frozen=True)
class ParityOptions:
    """The learning of merges for several languages."""

    max_merges: int  # number of merges to learn
    # How the pair of a language is chosen. By "huggingface" the greatest pair of printable characters is taken of
    # several with the highest count, as ParityBpeTrainer does. A pair that is rarer in the chosen language than the
    # options ask for is not merged. Penalties and limits on words have no effect
    learning: LearningOptions = field(default_factory=LearningOptions)
    # Of these, the number of first merges that are chosen by the sum of the counts of all languages
    global_merges: int = 0
    # The number of last choices in which a language may have `alpha` times its equal share; 0 for no limit
    window: int = 0
    alpha: float = 2.0  # see `window`
    # The compression that each language should have, relative to each other; or none. `dev` is not used then
    ratios: Sequence[float] = ()


def learn_parity_merges(
    languages: Sequence[Mapping[bytes, int]],
    dev: Sequence[Mapping[bytes, int]],
    options: ParityOptions,
) -> ParityMerges:
    """Learn merges from the pre-tokens of several languages and how often each occurs.

    At each step the language that is worst off is chosen, and its most frequent pair is merged in all languages. Worst
    off is the language of which the parallel `dev` texts take the most tokens; without them, that whose own texts do;
    with `ratios`, that whose texts were compressed least, relative to its ratio. Among equals it is the first. A
    language without pairs is not chosen again.

    Source: Foroutan, Meister and others, "Parity-Aware Byte-Pair Encoding" (arXiv:2508.04796), as
    `tokenizers.trainers.ParityBpeTrainer` implements it. Where all languages that have pairs left are beyond their
    share of a window, the last of them is taken here; there the training may not end.

    >>> learn_parity_merges([{b"aab": 9}, {b"ccd": 2}], [{b"aab": 1}, {b"ccd": 1}], ParityOptions(max_merges=2))
    ParityMerges(merges=[(b'a', b'b'), (b'c', b'd')], chosen=[0, 1])
    """
    ratios, window, learning = options.ratios, options.window, options.learning
    texts = [_Words(words, learning.max_token_bytes) for words in languages]
    measured = texts if ratios or not dev else [_Words(words, None) for words in dev]
    whole = _Words(sum(map(Counter, languages), Counter()), learning.max_token_bytes)
    first_lengths = [words.length for words in measured]
    left = [True] * len(texts)
    last: deque[int] = deque(maxlen=window or 1)
    learned = ParityMerges([], [])
    while len(learned.merges) < options.max_merges and any(left):
        if is_global := len(learned.merges) < options.global_merges:
            chosen, words = len(texts), whole
        else:
            if ratios:
                needs = [
                    -((first / words.length) / ratio) if first else -math.inf
                    for first, words, ratio in zip(first_lengths, measured, ratios, strict=True)
                ]
            else:
                needs = [words.length for words in measured]
            chosen = _worst_off(needs, left, last if window else None, options.alpha)
            words = texts[chosen]
        pair, count = words.best(learning.tie_break)
        if pair is None or count < learning.min_count:
            if is_global:
                break
            left[chosen] = False
            continue
        learned.merges.append(pair)
        learned.chosen.append(chosen)
        for counted in [whole, *texts, *(measured if measured is not texts else [])]:
            counted.merge(pair)
    return learned


def _worst_off(needs: Sequence[float], left: Sequence[bool], last: deque[int] | None, alpha: float) -> int:
    by_need = sorted((number for number in range(len(needs)) if left[number]), key=lambda number: -needs[number])
    if last is None:
        return by_need[0]
    share = alpha / len(needs)
    chosen = next((number for number in by_need if last.count(number) / (last.maxlen or 1) <= share), by_need[-1])
    last.append(chosen)
    return chosen


class _Words:
    """The words of a language as tokens."""

    def __init__(self, counts: Mapping[bytes, int], max_token_bytes: int | None) -> None:
        self._counts = {tuple(word[i : i + 1] for i in range(len(word))): count for word, count in counts.items()}
        self._limit = math.inf if max_token_bytes is None else max_token_bytes

    @property
    def length(self) -> int:
        """The number of tokens."""
        return sum(count * len(word) for word, count in self._counts.items())

    def best(self, tie_break: str) -> tuple[Merge | None, int]:
        """Return the pair of the highest count, the greatest of equals, and this count; or None and 0."""
        pairs: Counter[Merge] = Counter()
        for word, count in self._counts.items():
            for first, second in pairwise(word):
                if len(first) + len(second) <= self._limit:
                    pairs[first, second] += count
        shown: Callable[[bytes], bytes | str] = bytes if tie_break == "lexicographic" else to_printable
        best = max(pairs, key=lambda pair: (pairs[pair], *map(shown, pair)), default=None)
        return best, 0 if best is None else pairs[best]

    def merge(self, pair: Merge) -> None:
        """Replace a pair by one token everywhere, from left to right in each word."""
        self._counts = {_merged(word, pair): count for word, count in self._counts.items()}


def _merged(word: tuple[bytes, ...], pair: Merge) -> tuple[bytes, ...]:
    tokens: list[bytes] = []
    at = 0
    while at < len(word):
        size = 2 if word[at : at + 2] == pair else 1
        tokens.append(b"".join(word[at : at + size]))
        at += size
    return tuple(tokens)
