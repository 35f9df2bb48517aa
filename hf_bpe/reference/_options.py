"""The options that decide which merges are learned, each defined once.

A new one is a field of `LearningOptions` and of `LearningKeywords`, a paragraph of `hf_bpe.train`, and what it does: in
`_trainer.py` and, as a field of the struct in `native/train/pair_index.hpp` that `native/bindings/module.cpp` reads, in
the core. Signatures, checks, commands, checkpoints and the signatures of models follow from the field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, get_args

from hf_bpe._utils.arguments import MAX_INT64, Check, check_int, check_real, one_of, optional

if TYPE_CHECKING:
    from typing_extensions import Self

Function = TypeVar("Function", bound=Callable[..., Any])
TieBreak = Literal["lexicographic", "huggingface"]


def _train_option(help: str, check: Check, *, minimum: int | None = None, record: str = "") -> dict[str, Any]:
    """Return the metadata of an option that `hf_bpe.train` and the commands that learn merges take.

    Args:
        help: what it does, for the command line.
        check: the check of the argument.
        minimum: the lowest number, for the command line.
        record: its name in the signature of a model, if it is another one.
    """
    return {"help": help, "check": check, "minimum": minimum, "record": record}


def _number_of_train(help: str, minimum: int, *, or_none: bool = False, record: str = "") -> dict[str, Any]:
    """Return the metadata of an option that is a whole number, or None as well."""

    def check(name: str, value: Any) -> int:
        return check_int(name, value, minimum, MAX_INT64)

    return _train_option(help, optional(check) if or_none else check, minimum=minimum, record=record)


@dataclass(frozen=True)
class LearningOptions:
    """The choice of the pair to merge next, and the limits on pairs.

    Args:
        tie_break: among pairs of equal score take, by "lexicographic", the greatest as (bytes, bytes); by
            "huggingface", that of the smallest ids, where bytes are numbered in the order of their printable
            characters and tokens in the order learned, as `tokenizers.trainers.BpeTrainer` does.
        min_frequency: do not merge pairs that occur less often; 0 means 1.
        max_token_bytes: the longest token that a merge may make.
        length_penalty: λ in score = count − λ·(bytes of both parts), a double unless λ is 0. It orders the pairs; it
            never ends the training.
        max_words, colon_space: limits on the words of a token that a merge makes; see `_superwords.is_allowed`.
    """

    tie_break: TieBreak = field(
        default="lexicographic",
        metadata=_train_option(
            "Of equally frequent pairs merge the greatest in byte order, or the choice of Hugging Face's trainer.",
            one_of(*get_args(TieBreak)),
            record="ties",
        ),
    )
    min_frequency: int = field(
        default=0, metadata=_number_of_train("Do not merge pairs that occur less often than N.", 0)
    )
    max_token_bytes: int | None = field(
        default=None, metadata=_number_of_train("Make no token longer than this many bytes.", 1, or_none=True)
    )
    length_penalty: float = field(
        default=0.0,
        metadata=_train_option(
            "Prefer short tokens: subtract this for each byte of a pair from its number of occurrences.",
            lambda name, value: check_real(name, value, 0),
            minimum=0,
        ),
    )
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
        """Return the options that the signature of a model records: those of `hf_bpe.train` that have an effect.

        None, and an empty value that is the default, have none; a limit of 0 has one.
        """
        return {
            each.metadata["record"] or each.name: getattr(self, each.name)
            for each in fields(self)
            if each.metadata and (value := getattr(self, each.name)) is not None and (value or value != each.default)
        }

    def to_json(self) -> dict[str, Any]:
        """Return the options as JSON values, without those of superwords that are not set."""
        return {
            each.name: getattr(self, each.name)
            for each in fields(self)
            if each.metadata or getattr(self, each.name) != each.default
        }


class LearningKeywords(TypedDict, total=False):
    """The fields of `LearningOptions` that `hf_bpe.train` takes by keyword."""

    tie_break: TieBreak
    min_frequency: int
    max_token_bytes: int | None
    length_penalty: float


def with_learning_options(function: Function) -> Function:
    """Give a function, whose keyword arguments are `LearningKeywords`, a signature that names them."""
    *named, _ = inspect.signature(function).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(each.name, keyword, default=each.default, annotation=each.type)
        for each in fields(LearningOptions)
        if each.name in TRAIN_CHECKS
    ]
    function.__signature__ = inspect.signature(function).replace(parameters=[*named, *options])  # type: ignore[attr-defined]
    return function


TRAIN_CHECKS: Mapping[str, Check] = MappingProxyType(
    {each.name: each.metadata["check"] for each in fields(LearningOptions) if each.metadata}
)
"""The checks of the options that `hf_bpe.train` takes."""
