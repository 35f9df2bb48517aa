"""Parity-aware training: options, and learning merges for several languages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from hf_bpe._utils.arguments import MAX_INT64, check_int, check_mapping, check_real, short_repr
from hf_bpe._utils.progress import Progress
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.core._provenance import shortened
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.reference._parity import ParityOptions
from hf_bpe.training._engine import learn_parity_merges
from hf_bpe.training._learning import LearningSettings
from hf_bpe.training._plan import Count, NamedText, Plan
from hf_bpe.training._target_sizes import Goal


@dataclass(frozen=True)
class Parity:
    """Options of parity-aware training, which gives each merge to the language that is worst off.

    Worst off is the language of which the `dev` texts take the most tokens; without `dev`, that whose training texts
    do; with `ratios`, that whose training texts were compressed least, relative to its ratio. Among equals it is the
    first. Source: Foroutan, Meister and others, "Parity-Aware Byte-Pair Encoding" (arXiv:2508.04796).

    Args:
        dev: the same texts in each language, by its name: sources or counts. They are not trained on.
        ratios: the compression that each language should have, by its name; only their relation to each other matters.
            In bytes, so a script of long characters needs a higher one. Instead of `dev`.
        window: a language that was chosen too often in this many last merges is passed over; 100 in the paper. None for
            no limit.
        alpha: how many times its equal share of the window a language may have.
        global_merges: the number of first merges that are learned from all languages together, as without parity.

    Raises:
        TypeError, ValueError: an option is invalid, or both `dev` and `ratios` are given.

    >>> from hf_bpe import train
    >>> texts = {"en": ["low lower lowest newest widest"] * 9, "fi": ["alempi alin uusin levein"]}
    >>> model = train(texts, num_merges=2, parity=Parity(dev={"en": ["lower"], "fi": ["alempi"]}))
    >>> model.merges
    [(b'i', b'n'), (b'l', b'e')]
    """

    dev: Mapping[str, TextSource | WordCounts] | None = None
    ratios: Mapping[str, float] | None = None
    window: int | None = None
    alpha: float = 2.0
    global_merges: int = 0

    def __post_init__(self) -> None:
        """Check the options."""
        if self.dev is not None and self.ratios is not None:
            raise ValueError("parity: give dev or ratios, not both")
        check_mapping("parity.dev", {} if self.dev is None else self.dev)
        for name, ratio in check_mapping("parity.ratios", {} if self.ratios is None else self.ratios).items():
            if check_real(f"parity.ratios[{name!r}]", ratio, 0) == 0:
                raise ValueError(f"parity.ratios[{name!r}]: expected more than 0, got 0")
        if self.window is not None:
            check_int("parity.window", self.window, 1, MAX_INT64)
        if check_real("parity.alpha", self.alpha, 0) == 0:
            raise ValueError("parity.alpha: expected more than 0, got 0")
        check_int("parity.global_merges", self.global_merges, 0, MAX_INT64)

    def description(self, dev: Mapping[str, WordCounts]) -> str:
        """Return the options for the record of a model's origin, with fingerprints for the texts."""
        options = {
            "dev": ",".join(f"{name}:{shortened(words.fingerprint)}" for name, words in dev.items()) or None,
            "ratios": ",".join(f"{name}:{ratio}" for name, ratio in (self.ratios or {}).items()) or None,
            "window": self.window,
            "alpha": None if self.window is None else self.alpha,
            "global_merges": self.global_merges or None,
        }
        return " ".join(f"{name}={value}" for name, value in options.items() if value is not None) or "training texts"


class ParityPlan(Plan):
    """The hooks of a training for several languages."""

    def __init__(self, parity: Parity, input: object, **refused: object) -> None:
        if not isinstance(input, Mapping) or isinstance(input, WordCounts) or not input:
            raise TypeError(f"input: with parity expected a source or counts per language, got {short_repr(input)}")
        for option, by_language in {"dev": parity.dev, "ratios": parity.ratios}.items():
            if by_language is not None and by_language.keys() != {*input}:
                raise ValueError(
                    f"parity.{option}: expected the languages of the input, {short_repr([*input])}; "
                    f"got {short_repr([*by_language])}"
                )
        for name, value in refused.items():
            if value:
                raise ValueError(f"{name}: not supported with parity, got {short_repr(value)}")
        self._parity = parity
        self.texts = [NamedText(source, name) for name, source in input.items()]
        self.texts += [NamedText(source, name, is_input=False) for name, source in (parity.dev or {}).items()]

    def count(self, count: Count) -> list[WordCounts]:
        """Count the texts of all languages."""
        self._learned: dict[str, WordCounts] = {}
        self._dev: dict[str, WordCounts] = {}
        for text, words in zip(self.texts, super().count(count), strict=True):
            if words.scale != 1:
                raise ValueError(f"{text.name}: its counts have fractional weights, which parity does not support")
            (self._learned if text.is_input else self._dev)[text.name] = words
        return [*self._learned.values()]

    def record(self) -> dict[str, str]:
        """Return the options and counts, with fingerprints for the texts."""
        return {"parity": self._parity.description(self._dev), **super().record()}

    def learn(self, goal: Goal, base: BPEModel, settings: LearningSettings) -> list[BPEModel]:
        """Return a model for each size; there are no checkpoints."""
        parity, names = self._parity, [*self._learned]
        parity_options = partial(
            ParityOptions,
            learning=settings.options,
            global_merges=parity.global_merges,
            window=parity.window or 0,
            alpha=float(parity.alpha),
            ratios=[] if parity.ratios is None else [float(parity.ratios[name]) for name in names],
        )
        dev = [self._dev[name] for name in names if name in self._dev]

        def learn(number: int) -> list[Merge]:
            if number <= 0:
                return []
            running = settings.running
            with Progress("merging", number, show=running.show_progress, listener=running.callback) as progress:
                texts = [*self._learned.values()]
                return learn_parity_merges(texts, dev, parity_options(max_merges=number), progress.show).merges

        return goal.build_models(base, learn)
