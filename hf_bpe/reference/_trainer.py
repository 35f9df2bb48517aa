"""Learning of merges in plain Python."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from hf_bpe.pretokenizers._byte_level import BYTE_TO_CHAR
from hf_bpe.reference._encoder import Pair, merge_symbols
from hf_bpe.reference._options import LearningOptions, is_allowed
from hf_bpe.reference._training_alphabet import TrainingAlphabet


def learn_merges(
    counts: Mapping[bytes, int],
    *,
    max_merges: int,
    initial: Sequence[tuple[bytes, bytes]] = (),
    alphabet: TrainingAlphabet | None = None,
    progress: Callable[[list[tuple[bytes, bytes]], int], object] | None = None,
    **options: Any,
) -> list[tuple[bytes, bytes]]:
    r"""Learn merges from pre-tokens and how often each occurs.

    Until `max_merges` are learned or no pair is left, take the pair of adjacent tokens with the highest count and
    merge it in every pre-token, from left to right. An index from pair to words and a heap find it without counting
    again: no entry of the heap is lower than the true score of its pair, and one that is higher is corrected when it
    comes to the top.

    Two merges never make the same bytes: what happens inside a stretch of text whose ends no merge has crossed
    depends on that stretch alone, so wherever it becomes one token, it does so by the same pair at the same step.

    At each step the pre-tokens consist of the tokens to which a model with the merges so far, `initial` ones first,
    encodes them. Usually a new merge makes a token that is in no merge yet, so only that pair has to be merged. But
    `initial` may hold a token that its own merges do not make of that token's bytes alone. A new merge may make it, and
    initial merges may apply to the result, so the pre-tokens are encoded again. Therefore, if the first merges of a
    training are given as `initial`, the merges learned are those that followed in that training.

    Args:
        counts: pre-token → number of occurrences.
        max_merges: number of merges to learn.
        initial: existing merges, in the order of their ranks. They are not returned and do not count as `max_merges`;
            their tokens are numbered after the bytes, in the order of their first occurrence.
        alphabet: the characters to learn from instead of bytes; they are numbered in their order. Tokens are their
            UTF-8.
        progress: called after each merge with a list that holds it, and the number of its occurrences.
        options: the fields of `LearningOptions`.

    Returns:
        The merges in the order learned.

    Raises:
        ValueError: an initial merge is given twice.

    >>> counts = {b"low": 5, b"lower": 2, b"widest": 3, b"newest": 6}
    >>> learn_merges(counts, max_merges=3)
    [(b's', b't'), (b'e', b'st'), (b'o', b'w')]
    >>> learn_merges(counts, max_merges=1, initial=[(b"s", b"t"), (b"e", b"st")])
    [(b'o', b'w')]
    >>> learn_merges({"née".encode(): 2}, max_merges=9, alphabet=TrainingAlphabet("né"))
    [(b'n', b'\xc3\xa9')]
    """
    learning, reserved = LearningOptions(**options), alphabet.reserved if alphabet is not None else frozenset()
    if len({*initial}) < len(initial):
        raise ValueError("initial: a merge is given twice")
    if alphabet is None:
        first_tokens = [bytes([byte]) for byte in sorted(range(256), key=BYTE_TO_CHAR.__getitem__)]
        runs = [([bytes([byte]) for byte in word], count) for word, count in counts.items()]
    else:
        first_tokens = [char.encode() for char in alphabet.characters]
        texts = ((word.decode(errors="surrogateescape"), count) for word, count in counts.items())
        runs = [([char.encode() for char in run], count) for text, count in texts for run in alphabet.runs(text)]
    made = [token for first, second in initial for token in (first, second, first + second)]
    tokens = [*dict.fromkeys([*first_tokens, *made])]
    weights = [count for _, count in runs]

    symbol_of = {token: symbol for symbol, token in enumerate(tokens)}
    lexicographic = learning.tie_break == "lexicographic"
    tie_keys: list[str | int] = [*map(_descending_key, tokens)] if lexicographic else [*range(len(tokens))]
    is_limited = learning.max_words is not None or not learning.colon_space
    merges: list[tuple[bytes, bytes]] = []

    pair_counts: defaultdict[Pair, int] = defaultdict(int)
    where: defaultdict[Pair, set[int]] = defaultdict(set)  # pair → indices of the words that may hold it
    heap: list[tuple[float, str | int, str | int, int, Pair]] = []

    def push(pair: Pair) -> None:
        count, (first, second) = pair_counts[pair], pair
        length = len(tokens[first]) + len(tokens[second])
        if (
            count >= learning.min_count
            and (learning.max_token_bytes is None or length <= learning.max_token_bytes)
            and (not reserved or tokens[first] + tokens[second] not in reserved)
            and (not is_limited or is_allowed(tokens[first] + tokens[second], learning.max_words, learning.colon_space))
        ):
            score = count - float(learning.length_penalty) * length if learning.length_penalty else count
            heapq.heappush(heap, (-score, tie_keys[first], tie_keys[second], count, pair))

    def encode_words() -> list[list[int]]:
        """Encode the words with all merges so far, and rebuild the index."""
        ranks = {
            (symbol_of[first], symbol_of[second]): (rank, symbol_of[first + second])
            for rank, (first, second) in enumerate([*initial, *merges])
        }
        words = [merge_symbols([symbol_of[token] for token in run], ranks) for run, _ in runs]
        pair_counts.clear()
        where.clear()
        heap.clear()
        for index, word in enumerate(words):
            for pair in pairwise(word):
                pair_counts[pair] += weights[index]
                where[pair].add(index)
        for pair in pair_counts:
            push(pair)
        return words

    words = encode_words()
    while heap and len(merges) < max_merges:
        *_, count, pair = heapq.heappop(heap)
        if count != pair_counts[pair]:
            if count > pair_counts[pair]:  # lower: a later entry has the true count
                push(pair)
            continue
        first, second = tokens[pair[0]], tokens[pair[1]]
        merges.append((first, second))
        if progress is not None:
            progress(merges[-1:], count)
        merged = symbol_of.setdefault(first + second, len(tokens))
        if merged < len(tokens):
            words = encode_words()
            continue
        tokens.append(first + second)
        tie_keys.append(_descending_key(tokens[merged]) if lexicographic else merged)

        grown: set[Pair] = set()
        for index in where.pop(pair):
            for changed, sign in _merge_word(words[index], pair, merged):
                pair_counts[changed] += sign * weights[index]
                if sign > 0:
                    where[changed].add(index)
                    grown.add(changed)
        for changed in grown:
            push(changed)
    return merges


def _descending_key(token: bytes) -> str:
    # Complemented bytes reverse the order; the end mark sorts a token after those that it is a prefix of.
    return bytes(255 - byte for byte in token).decode("latin-1") + "\u0100"


def _merge_word(word: list[int], pair: Pair, merged: int) -> list[tuple[Pair, int]]:
    """Merge a pair in a word, in place, from left to right; return each pair whose count changes, and by how much."""
    changes: list[tuple[Pair, int]] = []
    done: list[int] = []
    at = 0
    while at < len(word):
        if word[at] == pair[0] and at + 1 < len(word) and word[at + 1] == pair[1]:
            changes.append((pair, -1))
            if done:
                changes += [((done[-1], pair[0]), -1), ((done[-1], merged), 1)]
            if at + 2 < len(word):
                changes += [((pair[1], word[at + 2]), -1), ((merged, word[at + 2]), 1)]
            done.append(merged)
            at += 2
        else:
            done.append(word[at])
            at += 1
    word[:] = done
    return changes
