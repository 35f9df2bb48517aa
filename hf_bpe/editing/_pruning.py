"""Choose the tokens to remove from a vocabulary: the least used ones, but never a part of a remaining token.

Removing only tokens that are not part of others, the least used first, is the leaf-based pruning of Purason et al.,
"Teaching Old Tokenizers New Words" (arXiv:2512.03989, 2025).
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from operator import mul

import numpy as np

from hf_bpe._utils.processes import default_threads
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.encoding._encoder import Options
from hf_bpe.encoding._factory import make_encoder


def count_tokens(model: BPEModel, counts: WordCounts) -> dict[int, int]:
    """Return how often each token occurs in the counted text, for all ids of the model, in units of `counts.scale`.

    It is a ValueError if the counts have another pattern, an OverflowError if a count exceeds 63 bits.

    >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ab"}, [(b"a", b"b")])
    >>> count_tokens(model, WordCounts({"ab": 5, "abb": 2}))
    {97: 0, 98: 2, 256: 7}
    """
    if counts.pattern != model.pattern:
        raise ValueError(
            f"counts: expected the model's pattern {model.pattern!r}, got {counts.pattern!r}; count the text with the "
            "pattern of the model"
        )
    # Indexed by position, not by id, because ids may be any number below 2**32; the last index is for unknown bytes.
    dense = replace(model, vocab=dict(enumerate(model.vocab.values())), pattern=None, normalizer=None)
    encoder, options = make_encoder(dense), Options(unknown_id=model.vocab_size)
    totals, weight = np.zeros(model.vocab_size + 1, dtype=np.int64), 0
    for words, numbers in counts.batches():
        weight += sum(map(mul, map(len, words), numbers))
        if weight >= 2**63:
            raise OverflowError("counts: the number of tokens exceeds 63 bits; count with smaller weights")
        ids, offsets = encoder.encode_to_numpy([*words], options, default_threads())
        np.add.at(totals, ids, np.repeat(np.array(numbers, dtype=np.int64), np.diff(offsets)))
    return dict(zip(model.vocab, totals.tolist(), strict=False))


class Pruning:
    """A vocabulary from which tokens are removed.

    It begins with `kept`, of which `fixed` are never removed. A token that is removed is replaced by `replacements`, or
    else by its two parts, which `parts_of_tokens` gives.
    """

    def __init__(
        self,
        parts: Mapping[int, tuple[int, int]],
        kept: set[int],
        fixed: Iterable[int],
        used: dict[int, int],
        replacements: Mapping[int, Sequence[int]],
    ) -> None:
        self.kept = kept
        self._replacements: dict[int, Sequence[int]] = {**parts, **replacements}
        self._parts, self._fixed, self._used = parts, {*fixed}, dict(used)
        self._parents = Counter(part for token_id in kept for part in {*parts.get(token_id, ())})
        self._leaves: list[tuple[int, int]] = []
        for token_id in kept:
            self._offer(token_id)

    def _offer(self, token_id: int) -> None:
        """Queue a token for removal if it may be removed; older queue entries of it become stale."""
        if token_id in self.kept and not self._parents[token_id] and token_id not in self._fixed:
            # Of equally used tokens the one with the highest id is removed first.
            heapq.heappush(self._leaves, (self._used[token_id], -token_id))

    def remove_least_used(self, below: int | None = None) -> bool:
        """Remove the least used token that is not part of another; return False if it is not used less than `below`."""
        while self._leaves:
            used, negative_id = self._leaves[0]
            token_id = -negative_id
            is_current = token_id in self.kept and used == self._used[token_id]
            if is_current and below is not None and used >= below:
                return False
            heapq.heappop(self._leaves)
            if is_current:
                self._remove(token_id)
                return True
        return False

    def _remove(self, token_id: int) -> None:
        self.kept.remove(token_id)
        parts = {*self._parts.get(token_id, ())}
        self._parents.subtract(parts)
        changed, replacements = parts, [*self._replacements[token_id]]
        while replacements:
            replacement = replacements.pop()
            if replacement in self.kept:
                self._used[replacement] += self._used[token_id]
                changed.add(replacement)
            else:
                replacements += self._replacements[replacement]
        for changed_id in changed:
            self._offer(changed_id)
