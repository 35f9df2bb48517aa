"""Byte-level BPE in plain Python: what is right, to be read in one sitting.

Everything faster must give exactly what this file gives. Text is bytes here: UTF-8, in which any byte that belongs to
no valid sequence counts as a character of no class. The algorithm is that of Sennrich, Haddow and Birch, "Neural
Machine Translation of Rare Words with Subword Units" (2016), over bytes as in GPT-2 (2019).
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from hf_bpe.byte_level import BYTE_TO_CHAR
from hf_bpe.patterns import split

if TYPE_CHECKING:
    from hf_bpe.model import BPEModel

Pair = tuple[int, int]


def pre_tokenize(text: bytes, pattern: str | None) -> list[bytes]:
    """Cut text into pre-tokens, which joined give the text again.

    >>> pre_tokenize(b"Hello world", "gpt2")
    [b'Hello', b' world']
    """
    # surrogateescape makes one lone surrogate of each invalid byte and takes it back; no class of any pattern has it.
    pieces = split(text.decode("utf-8", "surrogateescape"), pattern)
    return [piece.encode("utf-8", "surrogateescape") for piece in pieces]


def count_pre_tokens(documents: Iterable[bytes], pattern: str | None) -> Counter[bytes]:
    """Return how often each pre-token occurs in documents that hold no special tokens."""
    counts: Counter[bytes] = Counter()
    for document in documents:
        # Counting str before encoding spares encoding every occurrence.
        for piece, count in Counter(split(document.decode("utf-8", "surrogateescape"), pattern)).items():
            counts[piece.encode("utf-8", "surrogateescape")] += count
    return counts


def learn_merges(
    counts: Mapping[bytes, int],
    *,
    max_tokens: int | None = None,
    max_merges: int | None = None,
    tie_break: str = "lexicographic",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    length_penalty: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> list[tuple[bytes, bytes]]:
    """Learn merges from pre-tokens and how often each occurs.

    Until `max_tokens` new tokens or `max_merges` merges are there, take the pair of adjacent tokens with the highest
    count and merge it in every pre-token, from left to right. An index from pair to words and a heap find the pair
    without counting anew: a pair's entry in the heap is never lower than its true score, and is corrected when it
    comes to the top.

    Args:
        counts: pre-token → number of occurrences.
        max_tokens: number of tokens to make; a merge whose bytes are already a token makes none.
        max_merges: number of merges to learn.
        tie_break: among pairs of equal score take, by "lexicographic", the greatest as (bytes, bytes); by
            "huggingface", the pair that `tokenizers.trainers.BpeTrainer` takes (see `_HuggingFaceTies`).
        min_frequency: leave pairs that occur less often.
        max_token_bytes: never make a longer token.
        length_penalty: λ in score = count − λ·(bytes of both parts). It orders the pairs; it never ends the training.
        progress: called with the number of merges learned, after each.

    Returns:
        The merges in the order learned, each pair once.

    >>> learn_merges({b"low": 5, b"lower": 2, b"widest": 3, b"newest": 6}, max_merges=3)
    [(b's', b't'), (b'e', b'st'), (b'o', b'w')]
    """
    ties = _HuggingFaceTies() if tie_break == "huggingface" else _LexicographicTies()
    symbols = ties.alphabet()  # a symbol is an index of this list, which holds its bytes
    symbol_of = {token: symbol for symbol, token in enumerate(symbols)}
    words = [[symbol_of[bytes([byte])] for byte in word] for word in counts]
    weights = list(counts.values())
    longest = max_token_bytes if max_token_bytes is not None else max(map(len, counts), default=0)

    pair_counts: defaultdict[Pair, int] = defaultdict(int)
    where: defaultdict[Pair, set[int]] = defaultdict(set)  # pair → words that may hold it
    heap: list[tuple[float, object, object, int, Pair, set[int]]] = []

    def push(pair: Pair) -> None:
        count, (first, second) = pair_counts[pair], pair
        if count > 0:
            length = len(symbols[first]) + len(symbols[second])
            score = count - length_penalty * length if length_penalty else count
            heapq.heappush(heap, (-score, ties.key(first), ties.key(second), count, pair, ties.entry_words(where, pair)))

    for index, word in enumerate(words):
        for pair in zip(word, word[1:]):  # noqa: B905 - the second is one shorter, which is the point
            if len(symbols[pair[0]]) + len(symbols[pair[1]]) <= longest:
                pair_counts[pair] += weights[index]
                where[pair].add(index)
    for pair in list(pair_counts):
        push(pair)

    merges: dict[tuple[bytes, bytes], None] = {}
    new_tokens = 0
    while heap and new_tokens != max_tokens and len(merges) != max_merges:
        *_, count, pair, word_indices = heapq.heappop(heap)
        if count != pair_counts[pair]:
            if count > pair_counts[pair] or ties.keeps_every_entry:
                where[pair] |= word_indices
                push(pair)
            continue
        if count < min_frequency:
            if length_penalty:
                continue  # a pair of lower score may still be frequent enough
            break
        parts = symbols[pair[0]], symbols[pair[1]]
        merged = b"".join(parts)
        if merged not in symbol_of:
            symbol_of[merged] = len(symbols)
            symbols.append(merged)
            ties.add(merged)
            new_tokens += 1
        ties.record(merges, parts)

        grown: dict[Pair, None] = {}
        affected = list(word_indices)
        word_indices.clear()
        for index in affected:
            for changed, sign in _merge_word(words[index], pair, symbol_of[merged], own_change=ties.own_change):
                if len(symbols[changed[0]]) + len(symbols[changed[1]]) <= longest:
                    pair_counts[changed] += sign * weights[index]
                    if sign > 0:
                        where[changed].add(index)
                        grown[changed] = None
        for changed in grown:
            push(changed)
        if progress is not None:
            progress(len(merges))
    return list(merges)


def _merge_word(word: list[int], pair: Pair, merged: int, *, own_change: int) -> list[tuple[Pair, int]]:
    """Merge a pair in a word, in place, from left to right; return each pair whose count changes, and by how much."""
    changes: list[tuple[Pair, int]] = []
    done: list[int] = []
    rest = 0
    while rest < len(word):
        if word[rest] == pair[0] and rest + 1 < len(word) and word[rest + 1] == pair[1]:
            if own_change:
                changes.append((pair, own_change))
            if done:
                changes += [((done[-1], pair[0]), -1), ((done[-1], merged), 1)]
            if rest + 2 < len(word):
                changes += [((pair[1], word[rest + 2]), -1), ((merged, word[rest + 2]), 1)]
            done.append(merged)
            rest += 2
        else:
            done.append(word[rest])
            rest += 1
    word[:] = done
    return changes


class _LexicographicTies:
    """Exact counts; among equals the greatest pair, compared as (bytes, bytes)."""

    own_change = -1  # each merge takes away one occurrence of the pair itself
    keeps_every_entry = False

    def __init__(self) -> None:
        self._keys = [self._key(bytes([byte])) for byte in range(256)]

    def alphabet(self) -> list[bytes]:
        return [bytes([byte]) for byte in range(256)]

    def add(self, token: bytes) -> None:
        self._keys.append(self._key(token))

    def key(self, symbol: int) -> object:
        """Return what sorts first, as a heap wants it, for the greatest token."""
        return self._keys[symbol]

    @staticmethod
    def _key(token: bytes) -> str:
        # Complemented bytes turn the order round; the end mark puts a token behind those it is a prefix of.
        return bytes(255 - byte for byte in token).decode("latin-1") + "\u0100"

    @staticmethod
    def entry_words(where: defaultdict[Pair, set[int]], pair: Pair) -> set[int]:
        return where[pair]  # shared by all entries of the pair, so whichever comes first merges everywhere

    @staticmethod
    def record(merges: dict[tuple[bytes, bytes], None], parts: tuple[bytes, bytes]) -> None:
        merges.setdefault(parts)


class _HuggingFaceTies(_LexicographicTies):
    """What BpeTrainer of tokenizers 0.23 does, to the letter; its ids are bytes in the order of their characters.

    Among equals it takes the smallest pair of ids. Where a merge makes a token that another merge made before, it
    departs from exact counts in three ways, which decide merges on real text and so are followed here: the count of a
    merged pair is not taken back; each entry of its queue holds only the words found since the entry before; and a
    pair merged again moves to its later rank.
    """

    own_change = 0
    keeps_every_entry = True

    def __init__(self) -> None:
        self._order = sorted(range(256), key=BYTE_TO_CHAR.__getitem__)

    def alphabet(self) -> list[bytes]:
        return [bytes([byte]) for byte in self._order]

    def add(self, token: bytes) -> None:
        pass

    def key(self, symbol: int) -> object:
        return symbol

    @staticmethod
    def entry_words(where: defaultdict[Pair, set[int]], pair: Pair) -> set[int]:
        return where.pop(pair)

    @staticmethod
    def record(merges: dict[tuple[bytes, bytes], None], parts: tuple[bytes, bytes]) -> None:
        merges.pop(parts, None)
        merges[parts] = None


class Encoder:
    """Encode and decode with a model; holds a cache of the commonest pre-tokens, and pickles without it."""

    _CACHE_SIZE = 1 << 16

    def __init__(self, model: BPEModel) -> None:
        self.model = model
        ids = {token: token_id for token_id, token in model.vocab.items()}
        # A byte the model lacks is -1 - byte until the end: no merge knows it.
        self._byte_ids = [ids.get(bytes([byte]), -1 - byte) for byte in range(256)]
        self._ranks = {
            (ids[first], ids[second]): (rank, ids[first + second]) for rank, (first, second) in enumerate(model.merges)
        }
        self._cache: dict[bytes, list[int]] = {}

    def __reduce__(self) -> tuple[type[Encoder], tuple[BPEModel]]:
        return Encoder, (self.model,)

    def encode(self, text: bytes, unknown_id: int | None = None) -> list[int]:
        """Encode text that holds no special tokens.

        Args:
            text: UTF-8, or any bytes.
            unknown_id: the id of a byte that the model has no token for.

        Raises:
            ValueError: such a byte, and no `unknown_id`.
        """
        encoded: list[int] = []
        for word in pre_tokenize(text, self.model.pattern):
            ids = self._cache.get(word)
            if ids is None:
                if len(self._cache) >= self._CACHE_SIZE:
                    self._cache.clear()
                ids = self._cache[word] = self._encode_word(word)
            encoded += ids
        if encoded and min(encoded) < 0:
            if unknown_id is None:
                byte = -1 - next(token_id for token_id in encoded if token_id < 0)
                raise ValueError(f"the vocabulary has no token for the byte 0x{byte:02X} of the text; set unk_token")
            encoded = [token_id if token_id >= 0 else unknown_id for token_id in encoded]
        return encoded

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of the ids, joined. Raises KeyError for an id that is not in the vocabulary."""
        return b"".join([self.model.vocab[token_id] for token_id in ids])

    def _encode_word(self, word: bytes) -> list[int]:
        """Merge the adjacent pair of lowest rank, leftmost first, until there is none; O(n log n) in len(word).

        The symbols are a linked list over the positions of the word's bytes: a merge keeps the left position and drops
        the right one. The heap holds (rank, position of the left part); an entry may be out of date.
        """
        symbols = [self._byte_ids[byte] for byte in word]
        end = len(symbols)
        following = list(range(1, end + 1))
        previous = list(range(-1, end - 1))
        ranks = self._ranks
        heap = []
        for left in range(end - 1):
            found = ranks.get((symbols[left], symbols[left + 1]))
            if found is not None:
                heap.append((found[0], left))
        heapq.heapify(heap)
        dropped = -1 - 256  # no id and no byte
        while heap:
            rank, left = heapq.heappop(heap)
            right = following[left]
            found = ranks.get((symbols[left], symbols[right])) if right < end else None
            if found is None or found[0] != rank:
                continue
            symbols[left], symbols[right] = found[1], dropped
            after = following[left] = following[right]
            if after < end:
                previous[after] = left
                found = ranks.get((symbols[left], symbols[after]))
                if found is not None:
                    heapq.heappush(heap, (found[0], left))
            before = previous[left]
            if before >= 0:
                found = ranks.get((symbols[before], symbols[left]))
                if found is not None:
                    heapq.heappush(heap, (found[0], before))
        return [symbol for symbol in symbols if symbol != dropped]
