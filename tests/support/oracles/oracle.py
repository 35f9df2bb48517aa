"""The literal algorithms, as slow and as plain as the definition: what `hf_bpe.reference` is tested against."""

import re
from collections import Counter
from itertools import pairwise

from hf_bpe.pretokenizers import to_printable

Token = bytes
Pair = tuple[Token, Token]


def learn_merges(
    counts,
    *,
    max_merges,
    tie_break="lexicographic",
    min_frequency=1,
    max_token_bytes=None,
    length_penalty=0.0,
    max_words=None,
    colon_space=True,
    initial=(),
    alphabet=None,
):
    """Count all pairs again before each merge, in words encoded with all merges so far, and take the best."""
    if alphabet is None:
        symbols = sorted(map(to_printable, (bytes([byte]) for byte in range(256))))
        words = {word: encode_word(word, initial) for word in counts}
        numbers = counts
    else:
        symbols = [to_printable(char.encode()) for char in alphabet.characters]
        runs = [(run, number) for word, number in counts.items() for run in runs_of(word, alphabet)]
        words = {place: apply_merges([*map(str.encode, run)], initial) for place, (run, _) in enumerate(runs)}
        numbers = [number for _, number in runs]
    symbols += [to_printable(token) for first, second in initial for token in (first, second, first + second)]
    merges = []
    while len(merges) < max_merges:
        pairs = Counter()
        for word, tokens in words.items():
            for pair in pairwise(tokens):
                pairs[pair] += numbers[word]

        def order(pair, pairs=pairs):
            first, second = pair
            score = pairs[pair] - length_penalty * len(first + second)
            if tie_break == "lexicographic":
                return score, pair
            return score, -symbols.index(to_printable(first)), -symbols.index(to_printable(second))

        candidates = [
            pair
            for pair, count in pairs.items()
            if count >= min_frequency
            and (max_token_bytes is None or len(pair[0] + pair[1]) <= max_token_bytes)
            and (max_words is None or len(re.findall(b"[^ ]+", pair[0] + pair[1])) <= max_words)
            and (colon_space or not re.search(b": ", pair[0] + pair[1]))
            and (alphabet is None or pair[0] + pair[1] not in alphabet.reserved)
        ]
        if not candidates:
            break
        merges.append(max(candidates, key=order))
        symbols.append(to_printable(b"".join(merges[-1])))
        # The new merge applies only where no other does, so this continues where the encoding so far ended.
        words = {word: apply_merges(tokens, [*initial, *merges]) for word, tokens in words.items()}
    return merges


def runs_of(word: bytes, alphabet) -> list[str]:
    """Return the runs of characters of an alphabet in a word, or all of these as one."""
    outside = f"[^{re.escape(alphabet.characters)}]" if alphabet.characters else "(?s:.)"
    text = word.decode(errors="surrogateescape")
    return [re.sub(outside, "", text)] if alphabet.drops_others else re.split(outside, text)


def encode_word(word: bytes, merges: list[Pair]) -> list[Token]:
    return apply_merges([bytes([byte]) for byte in word], merges)


def encode(words: list[bytes], model) -> list[Token]:
    """Return the tokens of pre-tokens, each the whole of an ordinary token if the model ignores merges for those."""
    ordinary = {*model.vocab.values()}.difference(map(str.encode, model.special_tokens))
    return [
        token
        for word in words
        for token in ([word] if model.ignore_merges and word in ordinary else encode_word(word, model.merges))
    ]


def apply_merges(tokens: list[Token], merges: list[Pair]) -> list[Token]:
    """Apply the first merge that applies anywhere, at its leftmost place, and start again."""
    tokens = [*tokens]
    while True:
        for first, second in merges:
            places = [i for i in range(len(tokens) - 1) if (tokens[i], tokens[i + 1]) == (first, second)]
            if places:
                tokens[places[0] : places[0] + 2] = [first + second]
                break
        else:
            return tokens
