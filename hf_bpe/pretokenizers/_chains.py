"""Chains: pre-tokenizers of several stages, each of which cuts the pieces of the one before it.

A stage sees each piece as a whole text, so a chain is not one expression with alternatives: if an earlier stage has cut
before a digit, white space before it is at the end of its text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hf_bpe._utils.cached_property import cached_property
from hf_bpe.pretokenizers._stages import ByteLevel, Metaspace, Split, Stage, check_length, stage_of_json

MAX_STAGES = 64
"""The longest chain in use has 5. The native core splits recursively, and has one bit for each. Normalizers, too."""


@dataclass(frozen=True)
class PreTokenizer:
    """A chain of stages.

    Args:
        stages: the stages in their order, of which one is a `ByteLevel`; or a `Metaspace` alone, for models whose
            alphabet is characters.

    Raises:
        ValueError: there is neither exactly one `ByteLevel` nor only a `Metaspace`, or the chain is too long.

    >>> from hf_bpe.pretokenizers import ByteLevel, Digits, split
    >>> chain = PreTokenizer((Digits(individual_digits=True), ByteLevel(use_regex=True)))
    >>> split("a  12", chain)
    ['a', '  ', '1', '2']
    """

    stages: tuple[Stage, ...]

    def __post_init__(self) -> None:
        stages = tuple(self.stages)
        if wrong := [stage for stage in stages if not isinstance(stage, Stage)]:
            raise TypeError(f"stages: expected stages such as Split or ByteLevel, got {wrong[0]!r:.80}")
        if any(isinstance(stage, Metaspace) for stage in stages):
            if len(stages) > 1:
                raise ValueError(f"stages: expected a Metaspace alone, got {len(stages)} stages")
        elif (number := sum(isinstance(stage, ByteLevel) for stage in stages)) != 1:
            raise ValueError(f"stages: expected one ByteLevel, got {number}; without it, tokens are not made of bytes")
        if len(stages) > MAX_STAGES:
            raise ValueError(f"stages: expected at most {MAX_STAGES}, got {len(stages)}")
        check_length(sum(len(stage.expression) for stage in stages if isinstance(stage, Split)))
        object.__setattr__(self, "stages", stages)

    @classmethod
    def from_json(cls, content: Mapping[str, object]) -> PreTokenizer:
        """Return the pre-tokenizer in a `tokenizer.json`.

        Raises:
            ValueError: it is malformed, or not a chain of stages that byte-level BPE needs.
        """
        try:
            return cls(tuple(_stages_of_json(content)))
        except (LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"expected a pre-tokenizer, got {error!r}") from None

    def to_json(self) -> dict[str, Any]:
        """Return the chain as `tokenizer.json` writes it."""
        parts = [stage.to_json() for stage in self.stages]
        return parts[0] if len(parts) == 1 else {"type": "Sequence", "pretokenizers": parts}

    @cached_property
    def canonical(self) -> str:
        """The JSON of the chain in one line, which is its canonical pattern."""
        return json.dumps(self.to_json(), ensure_ascii=False, separators=(",", ":"))


def _stages_of_json(content: Mapping[str, Any]) -> list[Stage]:
    if content["type"] == "Sequence":
        return [stage for part in content["pretokenizers"] for stage in _stages_of_json(part)]
    return [stage_of_json(content)]
