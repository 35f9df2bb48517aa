"""Superwords: options, and the second stage of training, which learns tokens of several words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from hf_bpe._utils.arguments import MAX_INT64, check_flag, check_int
from hf_bpe.core._model import BPEModel, Merge
from hf_bpe.core._provenance import name_of_pattern, shortened
from hf_bpe.counting._sources import TextSource, plan
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern
from hf_bpe.reference._options import SUPERWORD_PATTERN
from hf_bpe.training._learning import Learning, LearningSettings
from hf_bpe.training._plan import NamedText, Plan
from hf_bpe.training._target_sizes import Goal

_FEWER = "give less text as superwords.text, or train on a machine with more memory"


@dataclass(frozen=True)
class Superwords:
    """Options for learning superwords, tokens of several words such as " of the", in a second stage of training.

    Stage 1 learns `after` merges as usual. For stage 2 the text is cut again, by a pattern that keeps spaces between
    words inside its pieces, and training continues on these up to the full size. Source: Liu, Hayase and others,
    "SuperBPE" (arXiv:2503.13423); the defaults are theirs.

    Args:
        after: number of merges that stage 1 learns, beyond those of an initial model; or a list of numbers, which gives
            a model for each. In the paper 0.4 to 0.9 of the vocabulary.
        pattern: the pattern of stage 2, as in `train`, which is that of the resulting model. The
            default cuts groups of up to three digits, runs of two or more punctuation marks, and trailing spaces.
        max_words: the most words of a token that stage 2 makes, where a space ends a word; None for no limit.
        colon_space: whether stage 2 may make a token that holds a colon followed by a space, which many prompts end in.
        text: the text of stage 2: a source, or counts by the pattern of stage 2. None for the input, which then must be
            text that can be read twice.

    Raises:
        TypeError, ValueError: an option is invalid.

    >>> from hf_bpe import train
    >>> model = train(["one of the best, one of the rest"] * 9, num_merges=16, superwords=Superwords(after=12))
    >>> [(first + second).decode() for first, second in model.merges[10:]]
    ['best', ' one', ' the ', ' of the ', 'one of the ', 'one of the best']
    """

    after: int | Sequence[int]
    pattern: AnyPattern = SUPERWORD_PATTERN
    max_words: int | None = 4
    colon_space: bool = False
    text: TextSource | WordCounts | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        if self.is_sequence and not self.all_after:
            raise ValueError("superwords.after: expected at least one number of merges, got none")
        for number in self.all_after:
            check_int("superwords.after", number, 0, MAX_INT64)
        object.__setattr__(self, "pattern", Pattern.parse(self.pattern).canonical)
        if self.max_words is not None:
            check_int("superwords.max_words", self.max_words, 1, MAX_INT64)
        object.__setattr__(self, "colon_space", check_flag("superwords.colon_space", self.colon_space))

    @property
    def pre_tokenizer(self) -> Pattern:
        """The pattern as a value."""
        return Pattern.read(self.pattern)

    @property
    def is_sequence(self) -> bool:
        """True if there are several numbers of merges of stage 1."""
        return isinstance(self.after, (list, tuple, range))

    @property
    def all_after(self) -> list[int]:
        """The numbers of merges of stage 1."""
        return [*self.after] if self.is_sequence else [self.after]  # type: ignore[misc,list-item]

    def source(self, input: TextSource | WordCounts) -> TextSource | WordCounts:
        """Return the text of stage 2, for an input of stage 1 that was not read yet.

        Raises:
            ValueError: it could not be read after stage 1, or was cut by another pattern.
        """
        if self.text is not None:
            if isinstance(self.text, WordCounts) and self.text.pattern != self.pattern:
                raise ValueError(
                    f"superwords.text: expected counts by the pattern {self.pattern!r:.80}, got "
                    f"{self.text.pattern!r:.80}; count with it, or give it as superwords.pattern"
                )
            return self.text
        if isinstance(input, WordCounts):
            raise ValueError(
                "superwords: the counts of pre-tokens do not tell which follow each other; give superwords.text, the "
                "same text as a source, or counted by superwords.pattern"
            )
        for shard in plan(input):
            if shard.version is None and (shard.is_file or isinstance(shard.source.data, Iterator)):
                raise ValueError(
                    f"superwords: the text is read twice, but {shard.name} can be read only once; give a list or "
                    "files, or the text of the second stage as superwords.text"
                )
        return input

    def description(self, after: int, words: WordCounts, pieces: WordCounts) -> str:
        """Return the options for the record of a model's origin, with the pattern of stage 1 and a fingerprint."""
        options = {
            "after": after,
            "pattern": name_of_pattern(words.settings.pattern),
            "max_words": self.max_words,
            "colon_space": "yes" if self.colon_space else None,
            "counts": shortened(pieces.fingerprint),
        }
        return " ".join(f"{name}={value}" for name, value in options.items() if value is not None)


class SuperwordPlan(Plan):
    """The hooks of a training in two stages."""

    def __init__(self, superwords: Superwords, input: Any) -> None:
        super().__init__(input)
        self._superwords = superwords
        self.texts.append(NamedText(superwords.source(input), "superwords", superwords.pre_tokenizer, is_input=False))
        self.folders = ["superwords", *(f"superwords-{number}" for number in superwords.all_after)]
        self.is_sequence = superwords.is_sequence

    def check_goal(self, goal: Goal, base: BPEModel) -> None:
        """Raise a ValueError if both sizes and numbers of merges are several, or a size is less than stage 1."""
        if goal.is_sequence and self.is_sequence:
            raise ValueError("superwords.after: expected one number of merges, because there are several sizes")
        first, room = max(self._superwords.all_after), goal.num_merges_for(base, min)
        if first > room:
            raise ValueError(
                f"superwords.after: {first} merges are too many for stage 1: the size leaves room for {room}"
            )

    def learn(self, goal: Goal, base: BPEModel, settings: LearningSettings) -> list[BPEModel]:
        """Return a model for each number of merges of stage 1 and each size."""
        superwords, (words, pieces) = self._superwords, self.words
        with Learning(settings, words) as first_stage:
            all_first = first_stage.learn(max(superwords.all_after))
        limits = {"max_words": superwords.max_words, "colon_space": superwords.colon_space}
        models: list[BPEModel] = []
        for after in superwords.all_after:
            first = all_first[:after]
            origin = (*base.origin, ("superwords", superwords.description(after, words, pieces)))
            pattern = superwords.pre_tokenizer
            start = replace(base, origin=origin, pattern=pattern.canonical, _pre_tokenizer=pattern)
            with Learning(settings, pieces, first, f"superwords-{after}", _FEWER, **limits) as second_stage:
                models += goal.build_models(start, partial(_learn_after, first, second_stage))
        return models


def _learn_after(first: list[Merge], learning: Learning, number: int) -> list[Merge]:
    return [*first, *learning.learn(number - len(first))]
