"""The literal algorithms, as slow and as plain as the definition: what `reference.py` is tested against."""

from collections import Counter
from itertools import pairwise

Token = bytes
Pair = tuple[Token, Token]


def merge(tokens: list[Token], pair: Pair) -> list[Token]:
    """Merge a pair everywhere, left to right."""
    merged = []
    while tokens:
        if tuple(tokens[:2]) == pair:
            merged.append(pair[0] + pair[1])
            tokens = tokens[2:]
        else:
            merged.append(tokens[0])
            tokens = tokens[1:]
    return merged


def learn_merges(counts, *, max_merges, min_frequency=1, max_token_bytes=None, length_penalty=0.0):
    """Count all pairs anew before each merge and take the best; lexicographic ties."""
    words = {word: [bytes([byte]) for byte in word] for word in counts}
    merges = []
    while len(merges) < max_merges:
        pairs = Counter()
        for word, parts in words.items():
            for pair in pairwise(parts):
                pairs[pair] += counts[word]
        candidates = [
            pair
            for pair, count in pairs.items()
            if count >= min_frequency and (max_token_bytes is None or len(pair[0] + pair[1]) <= max_token_bytes)
        ]
        if not candidates:
            break
        best = max(candidates, key=lambda pair: (pairs[pair] - length_penalty * len(pair[0] + pair[1]), pair))
        merges.append(best)
        words = {word: merge(parts, best) for word, parts in words.items()}
    return merges


def encode_word(word: bytes, merges: list[Pair]) -> list[Token]:
    """Apply the first merge that applies anywhere, at its leftmost place, and start again."""
    tokens = [bytes([byte]) for byte in word]
    while True:
        for first, second in merges:
            places = [i for i in range(len(tokens) - 1) if (tokens[i], tokens[i + 1]) == (first, second)]
            if places:
                tokens[places[0] : places[0] + 2] = [first + second]
                break
        else:
            return tokens
