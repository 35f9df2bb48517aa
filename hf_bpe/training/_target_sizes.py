"""Target sizes, and the ids of growing models: one new id per merge; old ids never change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hf_bpe._utils.arguments import MAX_INT64, check_int, short_repr
from hf_bpe._utils.messages import warn_caller
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.core._provenance import learned


class Goal:
    """The sizes of models that training must reach."""

    def __init__(self, vocab_size: int | Sequence[int] | None, num_merges: int | Sequence[int] | None) -> None:
        sizes = num_merges if vocab_size is None else vocab_size
        if sizes is None or (vocab_size is not None and num_merges is not None):
            raise ValueError(
                f"give either vocab_size or num_merges, got vocab_size={short_repr(vocab_size)}, "
                f"num_merges={short_repr(num_merges)}"
            )
        self._is_total = vocab_size is not None
        self.is_sequence = isinstance(sizes, (list, tuple, range))
        self._sizes: list[int] = [*sizes] if self.is_sequence else [sizes]  # type: ignore[misc,list-item]
        name, minimum = ("vocab_size", 1) if self._is_total else ("num_merges", 0)
        if not self._sizes:
            raise ValueError(f"{name}: expected at least one size, got {sizes!r}")
        self._sizes = [check_int(name, size, minimum, MAX_INT64) for size in self._sizes]

    def check_room(self, base: BPEModel) -> None:
        """Raise a ValueError if a size is too small for the base model."""
        if self._is_total and min(self._sizes) < base.vocab_size:
            specials = len(base.special_tokens)
            symbols = "bytes" if base.alphabet.is_bytes else "bytes and characters"
            raise ValueError(
                f"vocab_size {min(self._sizes)} is too small: {base.vocab_size - specials} {symbols} and {specials} "
                f"special tokens need at least {base.vocab_size}"
            )

    def num_merges_for(self, base: BPEModel, choose: Callable[[list[int]], int] = max) -> int:
        """Return the number of merges of the largest model, or by `min` of the smallest, if each makes a new token."""
        return choose(self._sizes) - (base.vocab_size if self._is_total else 0)

    def build_models(self, base: BPEModel, learn: Callable[[int], list[Merge]]) -> list[BPEModel]:
        """Return a model for each size; `learn` returns the first n merges, or fewer if there are no more."""
        maximum, wanted = max(self._sizes), self.num_merges_for(base)
        merges = learn(wanted)
        if self._is_total:
            largest = grow(base, merges, maximum)
            while largest.vocab_size < maximum and len(merges) == wanted:  # some merges made existing tokens
                wanted += maximum - largest.vocab_size
                merges = learn(wanted)
                largest = grow(base, merges, maximum)
            models = [largest if size == maximum else grow(base, merges, size) for size in self._sizes]
        else:
            models = [grow(base, merges[:size]) for size in self._sizes]
        if len(merges) < wanted:
            warn_caller(
                f"the text gives {len(merges)} of the {wanted} requested merges: no pair is left to merge; train on "
                "more text, or change min_frequency or max_token_bytes",
            )
        return models


def grow(base: BPEModel, merges: Sequence[Merge], vocab_size: int | None = None) -> BPEModel:
    """Return a model with more merges, up to `vocab_size` tokens.

    A new token gets the next id; an existing token keeps its id. The origin of `base` describes how the merges were
    learned.
    """
    vocab = dict(base.vocab)
    existing = {*vocab.values()}
    next_id = max(vocab, default=-1) + 1
    taken = 0
    for first, second in merges:
        token = first + second
        if token not in existing:
            if len(vocab) == vocab_size:
                break
            vocab[next_id] = token
            existing.add(token)
            next_id += 1
        taken += 1
    all_merges = [*base.merges, *merges[:taken]]
    return replace(base, vocab=vocab, merges=all_merges, origin=learned(base.origin, all_merges))
