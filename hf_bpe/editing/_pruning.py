"""Which tokens to take away from a vocabulary: those used least, never one that a token which stays is made of.

Taking away only tokens that nothing else is made of, the least used first, is the leaf-based pruning of Purason et al.,
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
from hf_bpe.engine._dispatch import make_encoder
from hf_bpe.engine._encoder import Options


def count_tokens(model: BPEModel, counts: WordCounts) -> dict[int, int]:
    """Return how often each token is met in the counted text, for all ids of the model, in units of `counts.scale`.

    Raises:
        ValueError: counts by another pattern.
        OverflowError: counts past 63 bits.

    >>> model = BPEModel({97: b"a", 98: b"b", 256: b"ab"}, [(b"a", b"b")])
    >>> count_tokens(model, WordCounts({"ab": 5, "abb": 2}))
    {97: 0, 98: 2, 256: 7}
    """
    if counts.pattern != model.pattern:
        raise ValueError(
            f"counts: their pattern is {counts.pattern!r}, that of the model {model.pattern!r}; count the text by the "
            "pattern of the model"
        )
    # By place, not by id, for ids may be anything below 2**32; what is behind the last place stands for unknown bytes.
    dense = replace(model, vocab=dict(enumerate(model.vocab.values())), pattern=None, normalizer=None)
    encoder, options = make_encoder(dense), Options(unknown_id=model.vocab_size)
    totals, weight = np.zeros(model.vocab_size + 1, dtype=np.int64), 0
    for words, numbers in counts.batches():
        weight += sum(map(mul, map(len, words), numbers))
        if weight >= 2**63:
            raise OverflowError("counts: more tokens than 63 bits can count; give smaller weights when you count")
        ids, offsets = encoder.encode_to_numpy([*words], options, default_threads())
        np.add.at(totals, ids, np.repeat(np.array(numbers, dtype=np.int64), np.diff(offsets)))
    return dict(zip(model.vocab, totals.tolist(), strict=False))


class Pruning:
    """A vocabulary from which tokens are taken away.

    Args:
        parts: id → ids of the two tokens that it is made of, as `merge_trees.parts_of_tokens` has them.
        kept: the ids to begin with. With every token its parts are among them.
        fixed: those of them that stay, whatever they are made of.
        used: id → how often it is met.
        replacements: id → ids that are met instead where it is taken away; those of its parts need not be there.
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
        """Note a token among those that may be taken away, if it is one; what was noted before is out of date."""
        if token_id in self.kept and not self._parents[token_id] and token_id not in self._fixed:
            # Of tokens that are used alike the one of the highest id goes first.
            heapq.heappush(self._leaves, (self._used[token_id], -token_id))

    def take_least_used(self, below: int | None = None) -> bool:
        """Take away the least used token that no other is made of, if there is one, and one used less than `below`."""
        while self._leaves:
            used, negative_id = self._leaves[0]
            token_id = -negative_id
            is_current = token_id in self.kept and used == self._used[token_id]
            if is_current and below is not None and used >= below:
                return False
            heapq.heappop(self._leaves)
            if is_current:
                self._take(token_id)
                return True
        return False

    def _take(self, token_id: int) -> None:
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
        for each in changed:
            self._offer(each)
