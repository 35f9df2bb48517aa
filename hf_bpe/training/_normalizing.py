"""Training for a model with a normalizer: every text that is learned from or measured is normalized first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hf_bpe.core._model import BPEModel
from hf_bpe.counting._normalized_sources import normalized_input
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._pattern import Pattern
from hf_bpe.training._parity import Parity
from hf_bpe.training._plan import default_pattern
from hf_bpe.training._superwords import Superwords


def normalized_training(
    input: Any, options: Mapping[str, Any], special_tokens: Sequence[str], normalizer: str | None
) -> tuple[Any, dict[str, Any]]:
    """Return the input and the options for `hf_bpe.train` with normalized texts.

    Raises:
        OSError, TypeError, ValueError: see `normalized_input`.
    """
    options = dict(options)
    if normalizer is None:
        return input, options
    initial: BPEModel | None = options.get("initial")
    parity: Parity | None = options.get("parity")
    superwords: Superwords | None = options.get("superwords")
    specials = [*special_tokens, *(() if initial is None else initial.special_tokens)]
    pattern = options.get("pattern", "auto")
    if isinstance(pattern, str) and pattern == "auto":
        pattern = default_pattern(options.get("byte_fallback")) if initial is None else initial.pre_tokenizer
    pattern = Pattern.parse(pattern)

    def normalized(source: Any, pattern: Pattern = pattern) -> Any:
        return normalized_input(source, specials, normalizer, pattern)

    if superwords is not None:  # their text is cut elsewhere
        text = superwords.source(input)
        options["superwords"] = replace(superwords, text=normalized(text, Pattern.parse(superwords.pattern)))
    if parity is None:
        return normalized(input), options
    if parity.dev is not None:
        options["parity"] = replace(parity, dev={name: normalized(text) for name, text in parity.dev.items()})
    if isinstance(input, Mapping) and not isinstance(input, WordCounts):
        input = {name: normalized(text) for name, text in input.items()}
    return input, options
