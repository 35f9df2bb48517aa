"""Texts of which some are encoded in one way, and the others in another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hf_bpe.encoding._encoder import Ids, Numbers, Options

Encoded = tuple[Ids, Numbers]
"""The ids of texts and their offsets, see `Encoder.encode_to_numpy`."""


def encode_each(
    number: int,
    changed: Numbers,
    options: Options,
    encode_changed: Callable[[Numbers, Options], Encoded],
    encode_others: Callable[[Numbers, Options], Encoded],
) -> Encoded:
    """Return the ids of texts in their order, some encoded in one way and the others in another.

    Args:
        number: the number of texts.
        changed: the numbers of those for `encode_changed`.
        options: the options of all.
        encode_changed, encode_others: called with the numbers of texts and their options.
    """
    is_changed = np.zeros(number, bool)
    is_changed[changed] = True
    sizes = np.empty(number, np.int64)
    results = []
    for which, encode in ((is_changed, encode_changed), (~is_changed, encode_others)):
        places = np.flatnonzero(which)
        in_text = [] if options.dropout is None else [*map(options.dropout.place, places.tolist())]
        ids, offsets = encode(places, options.at(in_text))
        sizes[which] = np.diff(offsets)
        results.append(ids)
    joined = np.empty(sizes.sum(), np.uint32)
    are_changed = np.repeat(is_changed, sizes)
    joined[are_changed], joined[~are_changed] = results
    return joined, np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
