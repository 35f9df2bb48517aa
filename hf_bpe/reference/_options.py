r"""The options that decide which merges are learned, each defined once; CONTRIBUTING.md says how to add one.

Two define superwords: tokens of several words, learned in a second stage of training. Stage 1 is ordinary training on
pre-tokens. For stage 2 the text is cut again, by a weak pattern that keeps the spaces between words inside its pieces.
The merges of stage 1 are applied to these pieces, and training continues on them: stage 2 is `reference.learn_merges`
on pieces with the first merges as `initial`, within limits on the words of a token. A tokenizer then cuts text by the
weak pattern and applies all merges.

Source: Liu, Hayase and others, "SuperBPE: Space Travel for Language Models" (arXiv:2503.13423), with the pattern and
the limits of their published code.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from hf_bpe._utils.arguments import MAX_INT64, Check, check_int, check_real, one_of, option, option_fields, optional

if TYPE_CHECKING:
    from typing_extensions import Self

SUPERWORD_PATTERN = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"
"""The weak pattern: groups of up to three digits, runs of two or more punctuation marks, trailing spaces."""

TieBreak = Literal["lexicographic", "huggingface"]
InitialAlphabet = Literal["bytes", "observed"]


def _number(minimum: int) -> Check:
    """Return a check for a whole number of 64 bits."""
    return lambda name, value: check_int(name, value, minimum, MAX_INT64)


@dataclass(frozen=True)
class LearningOptions:
    """The choice of the pair to merge next, and the limits on pairs.

    Args:
        tie_break: of equally frequent pairs merge the greatest in byte order, or the choice of Hugging Face's trainer.
            By "lexicographic" that is the greatest as (bytes, bytes); by "huggingface", that of the smallest ids, where
            bytes are numbered in the order of their printable characters and tokens in the order learned, as
            `tokenizers.trainers.BpeTrainer` does.
        min_frequency: do not merge pairs that occur less often than N. 0 means 1.
        max_token_bytes: make no token longer than this many bytes.
        length_penalty: prefer short tokens: subtract this for each byte of a pair from its number of occurrences. The
            score, count − λ·(bytes of both parts), is a double unless λ is 0. It orders the pairs; it never ends the
            training.
        max_words, colon_space: limits on the words of a token that a merge makes; see `is_allowed`.
    """

    tie_break: TieBreak = option("lexicographic", one_of(*get_args(TieBreak)), "ties")
    min_frequency: int = option(0, _number(0), min=0)
    max_token_bytes: int | None = option(None, optional(_number(1)), min=1, show_default="no limit")
    length_penalty: float = option(0.0, lambda name, value: check_real(name, value, 0), min=0)
    max_words: int | None = None
    colon_space: bool = True

    @property
    def min_count(self) -> int:
        """The lowest count of a pair that is merged."""
        return max(self.min_frequency, 1)

    def scaled(self, scale: int) -> Self:
        """Return the options for counts that are multiplied by `scale`."""
        return replace(
            self, min_frequency=self.min_frequency * scale, length_penalty=float(self.length_penalty) * scale
        )

    def record(self) -> dict[str, Any]:
        """Return the options for the signature of a model: options of `hf_bpe.train` that have an effect.

        None, and an empty value that is the default, have none; a limit of 0 has one.
        """
        return {
            option.metadata["record"] or name: value
            for name, option in option_fields(type(self)).items()
            if (value := getattr(self, name)) is not None and (value or value != option.default)
        }

    def to_json(self) -> dict[str, Any]:
        """Return the options as JSON values, without those of superwords that are not set."""
        return {
            option.name: getattr(self, option.name)
            for option in fields(self)
            if option.metadata or getattr(self, option.name) != option.default
        }


class LearningKeywords(TypedDict, total=False):
    """The fields of `LearningOptions` that `hf_bpe.train` takes by keyword."""

    tie_break: TieBreak
    min_frequency: int
    max_token_bytes: int | None
    length_penalty: float


def is_allowed(token: bytes, max_words: int | None, colon_space: bool) -> bool:
    """Return whether a merge may make a token, for its number of words and whether it holds a colon and a space.

    Words are runs of bytes other than the space.

    >>> [is_allowed(token, 1, True) for token in (b" of", b" of the", b"the  ", b"  ")]
    [True, False, True, True]
    """
    number = sum(map(bool, token.split(b" ")))
    return (max_words is None or number <= max_words) and (colon_space or b": " not in token)
