"""Reference implementation of byte-level BPE in plain Python.

Faster implementations must give exactly the same results. Text is bytes here: UTF-8, in which a byte that belongs to no
valid sequence is a character of no class. The algorithm is that of Sennrich, Haddow and Birch, "Neural Machine
Translation of Rare Words with Subword Units" (2016), over bytes as in GPT-2 (2019).
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from hf_bpe.core._byte_level import BYTE_TO_CHAR
from hf_bpe.core._dropout import Dropout, merge_with_dropout
from hf_bpe.core._merging import merge_symbols
from hf_bpe.core._model import BPEModel
from hf_bpe.core._superwords import is_allowed
from hf_bpe.core.pretokenizers import PreToken, split
from hf_bpe.core.pretokenizers import pre_tokens as cut_into_pre_tokens

__all__ = ["Encoder", "count_pre_tokens", "learn_merges", "pre_tokenize", "training_bytes"]

Pair = tuple[int, int]


def pre_tokenize(text: bytes, pattern: str | None) -> list[bytes]:
    """Cut text into pre-tokens; their concatenation is the text, unless a stage of a chain removes or adds some.

    >>> pre_tokenize(b"Hello world", "gpt2")
    [b'Hello', b' world']
    """
    # surrogateescape maps each invalid byte to a lone surrogate and back; it belongs to no character class of a
    # pattern.
    pieces = split(text.decode("utf-8", "surrogateescape"), pattern)
    return [piece.encode("utf-8", "surrogateescape") for piece in pieces]


def count_pre_tokens(documents: Iterable[bytes], pattern: str | None) -> Counter[bytes]:
    """Return how often each pre-token occurs in documents without special tokens."""
    counts: Counter[bytes] = Counter()
    for document in documents:
        # Counting str first avoids encoding every occurrence.
        for piece, count in Counter(split(document.decode("utf-8", "surrogateescape"), pattern)).items():
            counts[piece.encode("utf-8", "surrogateescape")] += count
    return counts


def learn_merges(
    counts: Mapping[bytes, int],
    *,
    max_merges: int,
    tie_break: str = "lexicographic",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    length_penalty: float = 0.0,
    max_words: int | None = None,
    colon_space: bool = True,
    initial: Sequence[tuple[bytes, bytes]] = (),
    progress: Callable[[list[tuple[bytes, bytes]], int], object] | None = None,
) -> list[tuple[bytes, bytes]]:
    """Learn merges from pre-tokens and how often each occurs.

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
        tie_break: among pairs of equal score take, by "lexicographic", the greatest as (bytes, bytes); by
            "huggingface", that of the smallest ids, where bytes are numbered in the order of their printable
            characters and tokens in the order learned, as `tokenizers.trainers.BpeTrainer` does.
        min_frequency: do not merge pairs that occur less often.
        max_token_bytes: the longest token that a merge may make.
        length_penalty: λ in score = count − λ·(bytes of both parts), a double unless λ is 0. It orders the pairs; it
            never ends the training.
        max_words, colon_space: limits on the words of a token that a merge makes; see `_superwords.is_allowed`.
        initial: existing merges, in the order of their ranks. They are not returned and do not count as `max_merges`;
            their tokens are numbered after the bytes, in the order of their first occurrence.
        progress: called after each merge with a list that holds it, and the number of its occurrences.

    Returns:
        The merges in the order learned.

    Raises:
        ValueError: an initial merge is given twice.

    >>> counts = {b"low": 5, b"lower": 2, b"widest": 3, b"newest": 6}
    >>> learn_merges(counts, max_merges=3)
    [(b's', b't'), (b'e', b'st'), (b'o', b'w')]
    >>> learn_merges(counts, max_merges=1, initial=[(b"s", b"t"), (b"e", b"st")])
    [(b'o', b'w')]
    """

    def encode(tokens: list[bytes], merges: list[tuple[bytes, bytes]]) -> tuple[list[list[int]], list[int]]:
        encoder = Encoder(BPEModel(dict(enumerate(tokens)), [*initial, *merges]))
        return [encoder.encode_word(word) for word in counts], list(counts.values())

    return learn_pairs(
        numbered_tokens(initial),
        encode,
        max_merges=max_merges,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_bytes=max_token_bytes,
        length_penalty=length_penalty,
        max_words=max_words,
        colon_space=colon_space,
        progress=progress,
    )


def numbered_tokens(merges: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    """Return the bytes and the tokens of merges in the order in which training numbers them."""
    alphabet = [bytes([byte]) for byte in sorted(range(256), key=BYTE_TO_CHAR.__getitem__)]
    parts_and_results = [token for first, second in merges for token in (first, second, first + second)]
    return list(dict.fromkeys(alphabet + parts_and_results))


def learn_pairs(
    tokens: list[bytes],
    encode: Callable[[list[bytes], list[tuple[bytes, bytes]]], tuple[list[list[int]], list[int]]],
    *,
    max_merges: int,
    tie_break: str,
    min_frequency: int,
    max_token_bytes: int | None,
    length_penalty: float,
    max_words: int | None,
    colon_space: bool,
    progress: Callable[[list[tuple[bytes, bytes]], int], object] | None,
) -> list[tuple[bytes, bytes]]:
    """Learn merges from sequences of tokens; see `learn_merges`.

    Args:
        tokens: the tokens so far; the new ones are appended.
        encode: returns the sequences, as indices of tokens, after the merges learned so far, and how often each occurs.
        max_merges, tie_break, min_frequency, max_token_bytes, length_penalty, max_words, colon_space, progress: see
            `learn_merges`.
    """
    symbol_of = {token: symbol for symbol, token in enumerate(tokens)}
    lexicographic = tie_break == "lexicographic"
    tie_keys: list[str | int] = [*map(_descending_key, tokens)] if lexicographic else [*range(len(tokens))]
    is_limited = max_words is not None or not colon_space
    weights: list[int] = []
    merges: list[tuple[bytes, bytes]] = []

    pair_counts: defaultdict[Pair, int] = defaultdict(int)
    where: defaultdict[Pair, set[int]] = defaultdict(set)  # pair → indices of the words that may hold it
    heap: list[tuple[float, str | int, str | int, int, Pair]] = []

    def push(pair: Pair) -> None:
        count, (first, second) = pair_counts[pair], pair
        length = len(tokens[first]) + len(tokens[second])
        if (
            count >= max(min_frequency, 1)
            and (max_token_bytes is None or length <= max_token_bytes)
            and (not is_limited or is_allowed(tokens[first] + tokens[second], max_words, colon_space))
        ):
            score = count - float(length_penalty) * length if length_penalty else count
            heapq.heappush(heap, (-score, tie_keys[first], tie_keys[second], count, pair))

    def encode_words() -> list[list[int]]:
        """Encode the words with all merges so far, and rebuild the index."""
        words, weights[:] = encode(tokens, merges)
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


def training_bytes(words: Iterable[bytes]) -> int:
    """Return an estimate of the memory in bytes that `learn_merges` needs for these pre-tokens.

    Measured on texts of all kinds: 130 to 205 for each byte of a distinct pre-token, most of them for the index.
    """
    return 210 * sum(map(len, words)) + 2**20


def _descending_key(token: bytes) -> str:
    """Return a key that sorts tokens in descending order."""
    # Complemented bytes reverse the order; the end mark sorts a token after those that it is a prefix of.
    return bytes(255 - byte for byte in token).decode("latin-1") + "\u0100"


def _merge_word(word: list[int], pair: Pair, merged: int) -> list[tuple[Pair, int]]:
    """Merge a pair in a word, in place, from left to right; return each pair whose count changes, and by how much."""
    changes: list[tuple[Pair, int]] = []
    done: list[int] = []
    rest = 0
    while rest < len(word):
        if word[rest] == pair[0] and rest + 1 < len(word) and word[rest + 1] == pair[1]:
            changes.append((pair, -1))
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


class Encoder:
    """Encode and decode with a model; holds a bounded cache of pre-tokens."""

    _CACHE_SIZE = 1 << 16  # pre-tokens
    _CACHE_BYTES = 1 << 8  # of one of them

    def __init__(self, model: BPEModel) -> None:
        self.model = model
        ids = {token: token_id for token_id, token in model.vocab.items()}
        # A byte without a token is -1 - byte until the end; no merge applies to it.
        self._byte_ids = [ids.get(bytes([byte]), -1 - byte) for byte in range(256)]
        self._ranks = {
            (ids[first], ids[second]): (rank, ids[first + second]) for rank, (first, second) in enumerate(model.merges)
        }
        self._whole_words = model.whole_words()
        self._cache: dict[bytes, list[int]] = {}

    @property
    def lacks_bytes(self) -> bool:
        """Whether the model is missing tokens for some bytes."""
        return min(self._byte_ids) < 0

    def encode(self, text: bytes, unknown_id: int | None = None) -> list[int]:
        """Encode text without special tokens.

        Args:
            text: UTF-8, or any bytes.
            unknown_id: the id to use for a byte without a token.

        Raises:
            ValueError: a byte has no token, `unknown_id` is None, and the model does not drop such bytes.
        """
        words = pre_tokenize(text, self.model.pattern)
        return self.known([token_id for word in words for token_id in self._ids_of(word)], unknown_id)

    def pre_tokens(
        self, text: bytes, dropout: Dropout | None = None, position: int = 0
    ) -> Iterator[tuple[PreToken, list[int]]]:
        """Yield each pre-token of a text with its ids, where -1 - byte stands for a byte that has no token.

        Bytes that the model drops come after the ids of their pre-token.

        Args:
            text: UTF-8, or any bytes.
            dropout: BPE-dropout of the text, if any.
            position: that of the first byte, if it is not the first of the text.
        """
        for token in cut_into_pre_tokens(text.decode("utf-8", "surrogateescape"), self.model.pattern):
            if dropout is None:
                yield token, self._ids_of(token.data)
            else:
                yield token, self.encode_word_with_dropout(token.data, dropout, position + token.start)

    def _ids_of(self, word: bytes) -> list[int]:
        """Return the ids of `encode_word`, from the cache if they are there."""
        ids = self._cache.get(word)
        if ids is None:
            ids = self.encode_word(word)
            if len(self._cache) >= self._CACHE_SIZE:
                self._cache.clear()
            if len(word) <= self._CACHE_BYTES:
                self._cache[word] = ids
        return ids

    def known(self, ids: list[int], unknown_id: int | None) -> list[int]:
        """Replace bytes without a token in the ids of `pre_tokens` by `unknown_id`; raise a ValueError if it is None.

        If the model drops such bytes, remove them.
        """
        if not ids or min(ids) >= 0:
            return ids
        if self.model.drop_missing_bytes:
            return [token_id for token_id in ids if token_id >= 0]
        if unknown_id is None:
            byte = -1 - next(token_id for token_id in ids if token_id < 0)
            raise ValueError(f"the vocabulary has no token for the byte 0x{byte:02X} of the text; set unk_token")
        return [token_id if token_id >= 0 else unknown_id for token_id in ids]

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of the ids, joined. Raises KeyError for an id that is not in the vocabulary."""
        return b"".join([self.model.vocab[token_id] for token_id in ids])

    def encode_word(self, word: bytes) -> list[int]:
        """Return the ids of a pre-token, where -1 - byte stands for a byte that has no token.

        If the model has `ignore_merges` and the pre-token is a token, that is the result. Otherwise merge the adjacent
        pair of lowest rank, leftmost first, until there is none; O(n log n) in len(word).
        """
        if word in self._whole_words:
            return [self._whole_words[word]]
        symbols, missing = self._symbols_of(word)
        return [*merge_symbols(symbols, self._ranks), *missing]

    def encode_word_with_dropout(self, word: bytes, dropout: Dropout, position: int) -> list[int]:
        """Return the ids of the pre-token at a position of the first text of `dropout`, like `encode_word`.

        As in `tokenizers`, `ignore_merges` has no effect.
        """
        number, start = dropout.place(0)
        symbols, missing = self._symbols_of(word)
        return [*merge_with_dropout(symbols, self._ranks, dropout.draws((number, start + position))), *missing]

    def _symbols_of(self, word: bytes) -> tuple[list[int], list[int]]:
        """Return the symbols of the bytes of a word, and those of the bytes that the model drops."""
        symbols = [self._byte_ids[byte] for byte in word]
        if not self.model.drop_missing_bytes:
            return symbols, []
        return [symbol for symbol in symbols if symbol >= 0], [symbol for symbol in symbols if symbol < 0]
