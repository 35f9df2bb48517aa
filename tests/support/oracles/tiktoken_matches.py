"""The splitting of text by an expression in tiktoken, of which it shows nothing but ids."""

import tiktoken


def matches_of_tiktoken(text, expression):
    """Return the matches in a text that is not empty."""
    letters = sorted({*text.encode()})
    ranks = {bytes([byte]): i for i, byte in enumerate(letters)}
    for size in range(2, len(text.encode()) + 1):  # every part of the text is a token
        for start in range(len(text.encode()) - size + 1):
            ranks.setdefault(text.encode()[start : start + size], len(ranks))
    encoding = tiktoken.Encoding("x", pat_str=expression, mergeable_ranks=ranks, special_tokens={})
    return [encoding.decode([token]) for token in encoding.encode_ordinary(text)]
