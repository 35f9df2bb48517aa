"""Encoding in plain Python."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from hf_bpe.core._model import BPEModel
from hf_bpe.pretokenizers._pattern import AnyPattern
from hf_bpe.reference._dropout import Dropout, merge_with_dropout
from hf_bpe.reference._splitting import PreToken, pre_tokens, split

Pair = tuple[int, int]

_MAX_CACHED = 1 << 8  # bytes of a pre-token


def pre_tokenize(text: bytes, pattern: AnyPattern) -> list[bytes]:
    """Cut text into pre-tokens; their concatenation is the text, unless a stage of a chain removes or adds some.

    >>> pre_tokenize(b"Hello world", "gpt2")
    [b'Hello', b' world']
    """
    # surrogateescape maps each invalid byte to a lone surrogate and back; it belongs to no character class of a
    # pattern.
    pieces, as_bytes = split(text.decode("utf-8", "surrogateescape"), pattern)
    return [as_bytes(piece) for piece, _, _ in pieces]


def count_pre_tokens(documents: Iterable[bytes], pattern: AnyPattern) -> Counter[bytes]:
    """Return how often each pre-token occurs in documents without special tokens."""
    return Counter(token for document in documents for token in pre_tokenize(document, pattern))


class Encoder:
    """Encode and decode with a model; holds a bounded cache of pre-tokens."""

    def __init__(self, model: BPEModel) -> None:
        self.model = model
        ids = {token: token_id for token_id, token in model.vocab.items()}
        # A byte without a token is -1 - byte until the end; no merge applies to it.
        self._byte_ids = [ids.get(bytes([byte]), -1 - byte) for byte in range(256)]
        self._ranks = {
            (ids[first], ids[second]): (rank, ids[first + second]) for rank, (first, second) in enumerate(model.merges)
        }
        self._whole_words = model.whole_words()
        self._cached_ids = lru_cache(maxsize=1 << 16)(self.encode_word)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.model,)  # the cache can't be pickled

    @property
    def lacks_bytes(self) -> bool:
        """True if the model is missing tokens for some bytes."""
        return min(self._byte_ids) < 0

    def encode(self, text: bytes, unknown_id: int | None = None) -> list[int]:
        """Encode text without special tokens.

        Args:
            text: UTF-8, or any bytes.
            unknown_id: the id to use for a byte without a token.

        Raises:
            ValueError: a byte has no token, `unknown_id` is None, and the model does not drop such bytes.
        """
        words = pre_tokenize(text, self.model.pre_tokenizer)
        return self.replace_missing([token_id for word in words for token_id in self._ids(word)], unknown_id)

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
        for token in pre_tokens(text.decode("utf-8", "surrogateescape"), self.model.pre_tokenizer):
            if dropout is None:
                yield token, self._ids(token.data)
                continue
            number, start = dropout.place(0)
            symbols, missing = self._byte_symbols(token.data)  # `ignore_merges` has no effect, as in `tokenizers`
            draws = dropout.draws((number, start + position + token.start))
            yield token, [*merge_with_dropout(symbols, self._ranks, draws), *missing]

    def _ids(self, word: bytes) -> list[int]:
        """Return the ids of `encode_word`, from the cache if they are there."""
        return self._cached_ids(word) if len(word) <= _MAX_CACHED else self.encode_word(word)

    def replace_missing(self, ids: list[int], unknown_id: int | None) -> list[int]:
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
        symbols, missing = self._byte_symbols(word)
        return [*merge_symbols(symbols, self._ranks), *missing]

    def _byte_symbols(self, word: bytes) -> tuple[list[int], list[int]]:
        """Return the symbols of the bytes of a word that stay, and the symbols of bytes that the model drops."""
        symbols = [self._byte_ids[byte] for byte in word]
        if not self.model.drop_missing_bytes:
            return symbols, []
        return [symbol for symbol in symbols if symbol >= 0], [symbol for symbol in symbols if symbol < 0]


def merge_symbols(symbols: list[int], ranks: Mapping[Pair, tuple[int, int]]) -> list[int]:
    """Merge the adjacent pair of lowest rank, leftmost first, until there is none, in O(n log n); `symbols` changes.

    The symbols are a linked list over their positions: a merge keeps the left position and drops the right one. The
    heap holds (rank, position of the left part); an entry may be stale.

    Args:
        symbols: ids of tokens; negative numbers for what merges with nothing.
        ranks: pair → its rank, and the id that it becomes.
    """
    end = len(symbols)
    following = list(range(1, end + 1))
    previous = list(range(-1, end - 1))
    heap = []
    for left in range(end - 1):
        merge = ranks.get((symbols[left], symbols[left + 1]))
        if merge is not None:
            heap.append((merge[0], left))
    heapq.heapify(heap)
    dropped = -1 << 62  # neither an id nor a negative number that is given
    while heap:
        rank, left = heapq.heappop(heap)
        right = following[left]
        merge = ranks.get((symbols[left], symbols[right])) if right < end else None
        if merge is None or merge[0] != rank:
            continue
        symbols[left], symbols[right] = merge[1], dropped
        after = following[left] = following[right]
        if after < end:
            previous[after] = left
            merge = ranks.get((symbols[left], symbols[after]))
            if merge is not None:
                heapq.heappush(heap, (merge[0], left))
        before = previous[left]
        if before >= 0:
            merge = ranks.get((symbols[before], symbols[left]))
            if merge is not None:
                heapq.heappush(heap, (merge[0], before))
    return [symbol for symbol in symbols if symbol != dropped]
