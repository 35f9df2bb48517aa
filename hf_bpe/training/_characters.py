"""Training with an alphabet of characters, in the manner of SentencePiece: its options, and the model to begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hf_bpe._utils.arguments import check_real
from hf_bpe.core._characters import BYTE_TOKENS, Characters
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern
from hf_bpe.pretokenizers._stages import Metaspace
from hf_bpe.reference._alphabet import Alphabet, choose_characters
from hf_bpe.training._dispatch import count_characters
from hf_bpe.training._target_sizes import base_model

COVERAGE = 0.9995
"""The default of `character_coverage`, which is SentencePiece's."""


@dataclass(frozen=True)
class CharacterOptions:
    """Options of the alphabet of a model of characters.

    Args:
        characters: what becomes of characters without a token.
        coverage: the share of the characters of the text that get tokens; None for no new ones.
        limit: the highest number of characters with tokens.
    """

    characters: Characters
    coverage: float | None = COVERAGE
    limit: int | None = None

    def choose(self, words: WordCounts, initial: BPEModel | None) -> str:
        """Return the characters that get tokens: those of the initial model, and the commonest of the text."""
        known = "" if initial is None else characters_of(initial)
        chosen = "" if self.coverage is None else choose_characters(count_characters(words), self.coverage, self.limit)
        return "".join(sorted({*known, *chosen}))

    def base_model(
        self, alphabet: str, special_tokens: Sequence[str], pattern: Pattern, initial: BPEModel | None
    ) -> BPEModel:
        """Return the model that training starts from: new tokens are special tokens, tokens of bytes, characters."""
        # An initial model has the tokens of bytes that it needs; those that it lacks would never occur.
        fallback = BYTE_TOKENS if self.characters.byte_fallback and initial is None else ()
        tokens = [*map(str.encode, special_tokens), *fallback, *map(str.encode, alphabet)]
        return base_model(tokens, special_tokens, pattern, initial, self.characters)


def characters_of(model: BPEModel) -> str:
    """Return the characters that have tokens in a model of characters, in the order of their code points."""
    none = {*model.special_tokens, model.characters and model.characters.unk_token}
    texts = (token.decode() for token in model.vocab.values())
    return "".join(sorted(text for text in texts if len(text) == 1 and text not in none))


def alphabet_of(model: BPEModel, tie_break: str) -> Alphabet | None:
    """Return what merges of a model are learned from; None for bytes."""
    if model.characters is None:
        return None
    return Alphabet(characters_of(model), drops_others=tie_break == "huggingface")


def default_pattern(byte_fallback: bool | None) -> Pattern:
    """Return the pattern of a training without one: GPT-2's for bytes, `Metaspace` for characters."""
    return Pattern.parse("gpt2" if byte_fallback is None else Metaspace())


def learns_characters(options: Mapping[str, Any]) -> bool:
    """Return whether a training with these options of `hf_bpe.train` begins with characters."""
    initial = options.get("initial")
    if isinstance(initial, BPEModel):
        return initial.characters is not None
    pattern: AnyPattern = options.get("pattern", "auto")
    is_given = not (isinstance(pattern, str) and pattern == "auto")
    return options.get("byte_fallback") is not None or (is_given and Pattern.parse(pattern).metaspace is not None)


def character_options(
    pattern: Pattern, initial: BPEModel | None, options: Mapping[str, Any]
) -> CharacterOptions | None:
    """Return the options of `hf_bpe.train` for an alphabet of characters, of which None is the default; None for bytes.

    Raises:
        ValueError: an option contradicts the others.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if initial is not None:
        for name in ("byte_fallback", "unk_token", "fuse_unk"):
            if name in given and (initial.characters is None or getattr(initial.characters, name) != given[name]):
                raise ValueError(f"{name}: expected None, because the initial model says it; got {given[name]!r}")
    is_of_characters = (
        pattern.metaspace is not None or "byte_fallback" in given if initial is None else initial.characters is not None
    )
    if not is_of_characters:
        if given:
            raise ValueError(
                f"{next(iter(given))}: expected None, because the alphabet is bytes; for one of characters give "
                "byte_fallback, or a Metaspace as the pattern"
            )
        return None
    limit = given.get("limit_alphabet")
    if initial is not None and initial.characters is not None:
        coverage = given.get("character_coverage", None if limit is None else 1.0)
        return CharacterOptions(initial.characters, coverage, limit)
    characters = Characters(given.get("byte_fallback", True), given.get("unk_token"), given.get("fuse_unk", False))
    return CharacterOptions(characters, given.get("character_coverage", COVERAGE), limit)


def check_coverage(name: str, value: object) -> float:
    """Return a share of characters."""
    share = check_real(name, value, 0)
    if share > 1:
        raise ValueError(f"{name}: expected a share of 0 to 1, got {value!r}")
    return share
