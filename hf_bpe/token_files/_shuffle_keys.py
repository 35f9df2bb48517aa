"""The keys by which shuffled documents are sorted, and ranges of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe.reference._dropout import mix
from hf_bpe.reference._shuffle import SHUFFLE, STEP
from hf_bpe.token_files._shares import Share

Keys = npt.NDArray[np.uint64]


def document_keys(seed: int, first: int, count: int) -> Keys:
    """Return the keys of documents with consecutive numbers, as `hf_bpe.reference._shuffle` defines them.

    >>> [hex(key) for key in document_keys(0, 5, 2).tolist()]
    ['0xa1bbdd79373d42d3', '0x6c2c8a871023e4da']
    """
    keys = np.arange(first, first + count, dtype=np.uint64)
    keys *= np.uint64(STEP)
    keys += np.uint64(mix(seed ^ SHUFFLE))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        keys ^= keys >> np.uint64(shift)
        keys *= np.uint64(factor)
    keys ^= keys >> np.uint64(31)
    return keys


class KeyRange(NamedTuple):
    """The keys from `first` to `last`, both included."""

    first: int
    last: int

    @classmethod
    def of(cls, share: Share) -> KeyRange:
        """Return the keys of the documents of a share; those of all shares in their order are all keys.

        >>> KeyRange.of(Share(1, 4)) == (1 << 62, (1 << 63) - 1)
        True
        """
        first, end = ((part << 64) // share.parts for part in (share.part, share.part + 1))
        return cls(first, end - 1)

    def find(self, keys: Keys) -> tuple[int, int]:
        """Return where the keys of the range begin and end among keys in increasing order."""
        return (
            int(np.searchsorted(keys, np.uint64(self.first))),
            int(np.searchsorted(keys, np.uint64(self.last), "right")),
        )

    def holds(self, keys: Keys) -> npt.NDArray[np.bool_]:
        """Return which keys are in the range."""
        is_held: npt.NDArray[np.bool_] = (keys >= np.uint64(self.first)) & (keys <= np.uint64(self.last))
        return is_held
