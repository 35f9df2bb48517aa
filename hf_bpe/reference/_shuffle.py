"""The definition of the order of shuffled documents: sorted by keys that are hashes of a seed and of their numbers.

The key of a document depends on the seed and its number in the corpus, and on nothing else: neither on other documents
nor on the parts in which a corpus is read, encoded or written.
"""

from __future__ import annotations

from hf_bpe.reference._dropout import mix

__all__ = ["document_key", "shuffled_order"]

STEP = 0x9E3779B97F4A7C15
SHUFFLE = 0x73687566666C65  # keeps these keys apart from the numbers of dropout


def document_key(seed: int, number: int) -> int:
    """Return the key of the document with a number, counted from 0: a number of SplitMix64.

    Documents with different numbers have different keys, because `mix` is a bijection and `STEP` is odd: the order has
    no ties.

    Source: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014).

    >>> hex(document_key(0, 0)), hex(document_key(7, 1))
    ('0x401562ac5176e81f', '0x5104404bb52114df')
    """
    return mix(mix(seed ^ SHUFFLE) + number * STEP)


def shuffled_order(seed: int, documents: int) -> list[int]:
    """Return the numbers of documents in the order in which they are written.

    >>> shuffled_order(0, 5), shuffled_order(1, 5)
    ([1, 0, 2, 4, 3], [2, 0, 4, 1, 3])
    """
    return sorted(range(documents), key=lambda number: document_key(seed, number))
