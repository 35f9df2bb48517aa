"""The steps of `train` as hooks: a plan for a single text, and hooks that products override."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from hf_bpe._native_core import require_core
from hf_bpe._utils.arguments import Check, wrong_type
from hf_bpe._utils.tables import refuse_tables
from hf_bpe.core._checks import check_special_tokens
from hf_bpe.core._model import BPEModel
from hf_bpe.core._provenance import shortened
from hf_bpe.counting._settings import CountSettings
from hf_bpe.counting._sources import TextSource
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._pattern import GPT2, AnyPattern, Pattern
from hf_bpe.pretokenizers._stages import Metaspace
from hf_bpe.training._learning import Learning, LearningSettings
from hf_bpe.training._target_sizes import Goal


class NamedText(NamedTuple):
    """A text to count."""

    source: TextSource | WordCounts  # the text, or its counts
    name: str = ""  # the name of its language, or of its work folder
    pattern: Pattern | None = None  # how it is cut; None for the pattern of the training
    is_input: bool = True  # whether it is of the input of `train`, and not of an option


Count: TypeAlias = Callable[[NamedText], WordCounts]


def product(kind: type, feature: str) -> Check:
    """Return a check for the options of a product, which needs the native core, before anything is counted."""

    def check(name: str, value: object) -> object:
        if not isinstance(value, kind):
            raise wrong_type(name, f"a hf_bpe.training.{kind.__name__}", value)
        require_core(feature)
        return value

    return check


class Plan:
    """The hooks of a training on one text; `train` calls them in the order in which they stand here."""

    folders: Sequence[str] = ()  # names of more work folders than that of the training
    is_sequence = False  # whether there are several models for each size

    def __init__(self, input: Any) -> None:
        if isinstance(input, Mapping) and not isinstance(input, WordCounts):
            refuse_tables("input", input, "a source, counts or, with parity, a mapping of languages to these")
        self.texts = [NamedText(input)]

    def settings(
        self,
        special_tokens: Sequence[str] | None,
        pattern: AnyPattern,
        initial: BPEModel | None,
        byte_fallback: bool | None,
    ) -> CountSettings:
        """Return the pattern and special tokens on which counts, initial model and arguments agree."""
        counts = [text.source for text in self.texts if text.pattern is None and isinstance(text.source, WordCounts)]
        for each in counts[1:]:
            counts[0].settings.check_same(each.settings)
        first = [] if initial is None else [*initial.special_tokens]
        split_at = [*counts[0].special_tokens] if counts else []
        specials = split_at if special_tokens is None else check_special_tokens(special_tokens)
        if lacking := set(split_at).difference(specials, first):
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
        default = GPT2 if byte_fallback is None else Pattern.parse(Metaspace())  # for bytes, for characters
        return CountSettings(next(iter(chosen.values()), default), tuple(dict.fromkeys([*first, *specials])))

    def check_goal(self, goal: Goal, base: BPEModel) -> None:
        """Raise a ValueError if the goal cannot be reached from a model."""

    def count(self, count: Count) -> list[WordCounts]:
        """Count the texts; return all counts that are learned from."""
        self.words = [*map(count, self.texts)]
        return self.words

    def record(self) -> dict[str, str]:
        """Return options and counts for the record of a model's origin."""
        counts = [words for text, words in zip(self.texts, self.words, strict=True) if text.is_input]
        return {"counts": ",".join(shortened(words.fingerprint) for words in counts)}

    def learn(self, goal: Goal, base: BPEModel, settings: LearningSettings) -> list[BPEModel]:
        """Return a model for each size."""
        with Learning(settings, self.words[0]) as learning:
            return goal.build_models(base, learning.learn)
