"""StochasTok of arrays of ids; see `hf_bpe.reference._dropout.apply_stochastok`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from hf_bpe._native_core import require_core
from hf_bpe.core._characters import require_bytes
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Ids, Numbers
from hf_bpe.reference._dropout import split_tokens


class TokenSplits:
    """The pairs of tokens that each token of a model can be split into.

    Args:
        model: the model.
        whole: the ids of tokens that are neither split nor parts, such as special tokens.

    >>> from hf_bpe.core import BPEModel
    >>> splits = TokenSplits(BPEModel({1: b"a", 2: b"b", 4: b"ab"}, [(b"a", b"b")]), [])
    >>> ids, offsets = splits.apply(np.array([4, 4], np.uint32), np.array([0, 0, 2]), 0.5, 7, [0, 1])
    >>> ids.tolist(), offsets.tolist()
    ([1, 2, 4], [0, 0, 3])
    """

    def __init__(self, model: BPEModel, whole: Iterable[int]) -> None:
        require_bytes(model, "StochasTok")
        kept = {*whole, *(token_id for token_id, token in model.vocab.items() if token in _specials(model))}
        pairs_of = split_tokens({i: token for i, token in model.vocab.items() if i not in kept})
        counts = np.zeros(max(model.vocab, default=0) + 2, np.uint32)
        for token_id, pairs in pairs_of.items():
            counts[token_id + 1] = len(pairs)
        flat = [pair for token_id in sorted(pairs_of) for pair in pairs_of[token_id]]
        self._begins = np.cumsum(counts, dtype=np.uint32).tobytes()
        self._flat = np.array(flat, np.uint32).tobytes()

    def apply(
        self, ids: Ids, offsets: Numbers, proportion: float, seed: int, numbers: Sequence[int]
    ) -> tuple[Ids, Numbers]:
        """Return the ids of texts with random tokens split, and their offsets, like `Encoder.encode_to_numpy`.

        Args:
            ids, offsets: the ids of the texts.
            proportion, seed: see `apply_stochastok`.
            numbers: the numbers of the texts.
        """
        native = require_core("StochasTok's splits")
        exact = Fraction(proportion)
        steps = np.array([size * exact.numerator // exact.denominator for size in np.diff(offsets).tolist()], np.int64)
        places = np.array(numbers, np.int64)
        split, ends = native.split_tokens(ids, offsets, steps, places, begins=self._begins, pairs=self._flat, seed=seed)
        return split, ends


def _specials(model: BPEModel) -> set[bytes]:
    return {special.encode() for special in model.special_tokens}
