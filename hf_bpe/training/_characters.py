"""Training with an alphabet of characters, in the manner of SentencePiece."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hf_bpe._utils.arguments import check_real
from hf_bpe.core._alphabet import Alphabet, CharacterAlphabet
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._settings import CountSettings
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern
from hf_bpe.reference._training_alphabet import TrainingAlphabet, choose_characters
from hf_bpe.training._dispatch import count_characters
from hf_bpe.training._plan import InitialAlphabet, Plan
from hf_bpe.training._target_sizes import base_model

COVERAGE = 0.9995
"""The default of `character_coverage`, which is SentencePiece's."""


class CharacterPlan(Plan):
    """The hooks of a training with an alphabet of characters.

    Args:
        input: see `train`.
        model_alphabet: the alphabet of the model.
        coverage: the share of the characters of the text that get tokens; None for no new ones.
        limit: the highest number of characters with tokens.
    """

    def __init__(self, input: object, model_alphabet: Alphabet, coverage: float | None, limit: int | None) -> None:
        super().__init__(input)
        self.model_alphabet, self._coverage, self._limit = model_alphabet, coverage, limit

    def base(
        self, texts: Sequence[WordCounts], settings: CountSettings, initial: BPEModel | None, alphabet: InitialAlphabet
    ) -> BPEModel:
        """Return the model to begin with: new tokens are special tokens, tokens of bytes, characters.

        Characters get tokens that have one in the initial model, and the commonest of the counts.
        """
        known = "" if initial is None else characters_of(initial)
        if texts and self._coverage is not None:
            known += choose_characters(count_characters(texts[0]), self._coverage, self._limit)
        # An initial model has the tokens of bytes that it needs; those that it lacks would never occur.
        fallback = self.model_alphabet.byte_tokens if initial is None else ()
        tokens = [*map(str.encode, settings.special_tokens), *fallback, *map(str.encode, sorted({*known}))]
        return base_model(tokens, settings.special_tokens, settings.pattern, initial, self.model_alphabet)

    def parts(self, pattern: Pattern) -> Pattern:
        """Return no pattern for `Metaspace`, whose pre-tokens no merge crosses; without that, cuts at words help."""
        return Pattern(None if pattern.canonical else "gpt2")

    def alphabet(self, base: BPEModel, tie_break: str) -> TrainingAlphabet:
        """Return the characters that have tokens."""
        return TrainingAlphabet(characters_of(base), drops_others=tie_break == "huggingface")


def characters_of(model: BPEModel) -> str:
    """Return the characters that have tokens in a model of characters, in the order of their code points."""
    none = {*model.special_tokens, model.alphabet.unk_token}
    texts = (token.decode() for token in model.vocab.values())
    return "".join(sorted(text for text in texts if len(text) == 1 and text not in none))


def learns_characters(options: Mapping[str, Any]) -> bool:
    """Return whether a training with these options of `hf_bpe.train` begins with characters."""
    initial = options.get("initial")
    if isinstance(initial, BPEModel):
        return not initial.alphabet.is_bytes
    pattern: AnyPattern = options.get("pattern", "auto")
    is_given = not (isinstance(pattern, str) and pattern == "auto")
    return options.get("byte_fallback") is not None or (is_given and Pattern.parse(pattern).metaspace is not None)


def character_plan(
    input: object, pattern: Pattern, initial: BPEModel | None, options: Mapping[str, Any]
) -> CharacterPlan | None:
    """Return the plan by the options of `hf_bpe.train` for an alphabet of characters; None if it is one of bytes.

    Raises:
        ValueError: an option contradicts the others.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if initial is not None:
        for name in ("byte_fallback", "unk_token", "fuse_unk"):
            if name in given and (initial.alphabet.is_bytes or getattr(initial.alphabet, name) != given[name]):
                raise ValueError(f"{name}: expected None, because the initial model says it; got {given[name]!r}")
    if not learns_characters({**given, "initial": initial, "pattern": pattern}):
        if given:
            raise ValueError(
                f"{next(iter(given))}: expected None, because the alphabet is bytes; for one of characters give "
                "byte_fallback, or a Metaspace as the pattern"
            )
        return None
    limit = given.get("limit_alphabet")
    if initial is not None:
        coverage = given.get("character_coverage", None if limit is None else 1.0)
        return CharacterPlan(input, initial.alphabet, coverage, limit)
    alphabet = CharacterAlphabet(given.get("byte_fallback", True), given.get("unk_token"), given.get("fuse_unk", False))
    return CharacterPlan(input, alphabet, given.get("character_coverage", COVERAGE), limit)


def check_coverage(name: str, value: object) -> float:
    """Return a share of characters."""
    share = check_real(name, value, 0)
    if share > 1:
        raise ValueError(f"{name}: expected a share of 0 to 1, got {value!r}")
    return share
