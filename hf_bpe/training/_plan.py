"""The steps of `train` as hooks: those of a single text, of which each product overrides some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, Protocol, TypeAlias

from hf_bpe._utils.tables import refuse_tables
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.core._special_tokens import check_special_tokens
from hf_bpe.counting._settings import CountSettings
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._pattern import GPT2, AnyPattern, Pattern
from hf_bpe.pretokenizers._stages import Metaspace
from hf_bpe.reference._training_alphabet import TrainingAlphabet
from hf_bpe.training._learning import Learning
from hf_bpe.training._target_sizes import Goal, base_model

InitialAlphabet = Literal["bytes", "observed"]

Count: TypeAlias = Callable[..., WordCounts]
"""Counts a source, by the pattern of the training or by one given with the name of its work folder."""


class MakeLearning(Protocol):
    """Makes a resumable training on counts, after merges given with the name of its work folder."""

    def __call__(
        self, words: WordCounts, first: Sequence[Merge] = (), name: str = "", fewer: str | None = None, **limits: object
    ) -> Learning: ...


class Plan:
    """The hooks of a training on one text, of bytes; `train` calls them in the order in which they stand here.

    Attributes:
        sources: what is learned from, by language; without a name here.
        measured: more texts, with the same pattern and special tokens.
        folders: names of more work folders than that of the training.
        is_sequence: whether there are several models for each size.
        words: the counts of `sources`, once they are counted.
    """

    folders: Sequence[str] = ()
    is_sequence = False

    def __init__(self, input: Any) -> None:
        if isinstance(input, Mapping) and not isinstance(input, WordCounts):
            refuse_tables("input", input, "a source, counts or, with parity, a mapping of languages to these")
        self.sources: Mapping[str, TextSource | WordCounts] = {"": input}
        self.measured: Mapping[str, TextSource | WordCounts] = {}

    def settings(
        self,
        special_tokens: Sequence[str] | None,
        pattern: AnyPattern,
        initial: BPEModel | None,
        byte_fallback: bool | None,
    ) -> CountSettings:
        """Return the pattern and special tokens on which counts, initial model and arguments agree."""
        counts = [each for each in (*self.sources.values(), *self.measured.values()) if isinstance(each, WordCounts)]
        for each in counts[1:]:
            counts[0].settings.check_same(each.settings)
        first = [] if initial is None else [*initial.special_tokens]
        known = [*counts[0].special_tokens] if counts else []
        given = known if special_tokens is None else check_special_tokens(special_tokens)
        if lacking := set(known).difference(given, first):
            raise ValueError(
                f"special_tokens: {sorted(lacking)} are missing, but the text of these counts was split at them; "
                "give all of them, or None"
            )
        patterns = {
            "that of the counts": counts[0].settings.pattern if counts else None,
            "that of the initial model": None if initial is None else initial.pre_tokenizer,
            "the argument": None if isinstance(pattern, str) and pattern == "auto" else Pattern.parse(pattern),
        }
        chosen = {name: value for name, value in patterns.items() if value is not None}
        if len({*chosen.values()}) > 1:
            raise ValueError(
                "pattern: "
                + ", ".join(f"{name} is {value.canonical!r:.80}" for name, value in chosen.items())
                + "; they must be the same"
            )
        default = default_pattern(byte_fallback)
        return CountSettings(next(iter(chosen.values()), default), tuple(dict.fromkeys([*first, *given])))

    def change(self, changed: Callable[[Any, Pattern], Any], settings: CountSettings) -> None:
        """Replace all texts by what `changed` makes of them and their pattern."""
        self.sources = {name: changed(source, settings.pattern) for name, source in self.sources.items()}
        self.measured = {name: changed(source, settings.pattern) for name, source in self.measured.items()}

    def base(
        self, texts: Sequence[WordCounts], settings: CountSettings, initial: BPEModel | None, alphabet: InitialAlphabet
    ) -> BPEModel:
        """Return the model that training on some counts begins with; without any, one of no more tokens."""
        found: Iterable[int] = set().union(*chain.from_iterable(texts)) if alphabet == "observed" else range(256)
        tokens = [*(bytes([byte]) for byte in sorted(found)), *map(str.encode, settings.special_tokens)]
        return base_model(tokens, settings.special_tokens, settings.pattern, initial)

    def check_goal(self, goal: Goal, base: BPEModel) -> None:
        """Raise a ValueError if the goal cannot be reached from a model."""

    def count(self, count: Count) -> list[WordCounts]:
        """Count the texts; return all counts that are learned from."""
        self.words = {name: count(source) for name, source in self.sources.items()}
        return [*self.words.values()]

    def record(self) -> dict[str, str]:
        """Return options for the record of a model's origin."""
        return {}

    def parts(self, pattern: Pattern) -> Pattern:
        """Return the pattern by which words are cut to apply merges to them."""
        return pattern

    def alphabet(self, base: BPEModel, tie_break: str) -> TrainingAlphabet | None:
        """Return what merges are learned from; None for bytes."""
        return None

    def learn(self, goal: Goal, base: BPEModel, learning: MakeLearning) -> list[BPEModel]:
        """Return a model for each size; `learning` makes trainings on counts."""
        with learning(self.words[""]) as learner:
            return goal.reach(base, learner.learn)


def default_pattern(byte_fallback: bool | None) -> Pattern:
    """Return the pattern of a training without one: GPT-2's for bytes, `Metaspace` for characters."""
    return GPT2 if byte_fallback is None else Pattern.parse(Metaspace())
