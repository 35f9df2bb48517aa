"""What merges begin with: bytes, or characters in the manner of SentencePiece."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, get_args

from hf_bpe._utils.arguments import at_least, check_flag, check_real, check_str, one_of, option, optional
from hf_bpe.core._alphabet import BYTES, Alphabet, CharacterAlphabet
from hf_bpe.core._checks import check_special_tokens
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._settings import CountSettings
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.pretokenizers._byte_level import from_printable
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern
from hf_bpe.reference._options import InitialAlphabet
from hf_bpe.reference._training_alphabet import TrainingAlphabet, choose_characters
from hf_bpe.training._engine import count_characters

COVERAGE = 0.9995
"""The default of `character_coverage`, which is SentencePiece's."""


def _check_coverage(name: str, value: object) -> float:
    share = check_real(name, value, 0)
    if share > 1:
        raise ValueError(f"{name}: expected a share of 0 to 1, got {value!r}")
    return share


@dataclass(frozen=True)
class AlphabetOptions:
    """What merges begin with.

    Args:
        initial_alphabet: "bytes" for all 256 bytes, or "observed" for only the bytes that occur, in byte order.
        byte_fallback: for a model of characters, which `Metaspace` as the pattern also makes: whether characters
            without a token become tokens of their bytes, <0x00> to <0xFF>, or `unk_token`. None is True with
            Metaspace. The ids are those of the special tokens, the bytes, the characters by code point, the merges.
        unk_token: for a model of characters, a special token for characters without a token.
        fuse_unk: whether such characters side by side become one `unk_token`.
        character_coverage: for a model of characters, the share of all characters of the text that get tokens, the
            commonest first, as SentencePiece's option of this name. None for 0.9995, or for no new characters if there
            is an initial model.
        limit_alphabet: the highest number of characters that get tokens, as in `BpeTrainer`.
    """

    initial_alphabet: InitialAlphabet = option("bytes", one_of(*get_args(InitialAlphabet)))
    byte_fallback: bool | None = option(None, optional(check_flag))
    unk_token: str | None = option(None, optional(check_str))
    fuse_unk: bool = option(False, check_flag)
    character_coverage: float | None = option(None, optional(_check_coverage))
    limit_alphabet: int | None = option(None, optional(at_least(0)))

    def for_characters(self) -> dict[str, Any]:
        """Return the options that are given and only for characters."""
        chosen = {**vars(self), "fuse_unk": self.fuse_unk or None, "initial_alphabet": None}
        return {name: value for name, value in chosen.items() if value is not None}


class InitialBytes:
    """An initial alphabet of bytes, all or the observed ones, besides the bytes of an initial model."""

    are_bytes = True

    def __init__(self, initial: BPEModel | None, kind: InitialAlphabet) -> None:
        self._initial, self._kind = initial, kind

    def checked(self, settings: CountSettings) -> CountSettings:
        """Return the settings of the training; refuse special tokens that look like the printable form of a token."""
        for special in settings.special_tokens:
            twin = from_printable(special)
            if twin is not None and twin != special.encode():
                raise ValueError(
                    f"special token {special!r:.80} is how vocab.json writes the token {twin!r:.80}, which training "
                    "could learn; choose another"
                )
        return settings

    def base(self, texts: Sequence[WordCounts], settings: CountSettings) -> BPEModel:
        """Return the model that training on some counts begins with; without any, one of no more tokens."""
        alphabet: Iterable[int] = range(256) if self._kind == "bytes" else set().union(*chain.from_iterable(texts))
        tokens = [*(bytes([byte]) for byte in sorted(alphabet)), *map(str.encode, settings.special_tokens)]
        return _base_model(tokens, settings, self._initial, BYTES)

    def symbols(self, base: BPEModel, tie_break: str) -> tuple[Pattern, TrainingAlphabet | None]:
        """Return the pattern by which words are cut to apply merges, and what is merged; None for bytes."""
        return base.pre_tokenizer, None


class InitialCharacters:
    """An initial alphabet of characters, with the methods of `InitialBytes`; a coverage of None adds no characters."""

    are_bytes = False

    def __init__(self, initial: BPEModel | None, alphabet: Alphabet, coverage: float | None, limit: int | None) -> None:
        self._initial, self._alphabet, self._coverage, self._limit = initial, alphabet, coverage, limit

    def checked(self, settings: CountSettings) -> CountSettings:
        """Return the settings of the training, with the `unk_token` of a new model as the first special token."""
        unk_token = self._alphabet.unk_token
        if self._initial is not None or unk_token is None or unk_token in settings.special_tokens:
            return settings
        return replace(settings, special_tokens=tuple(check_special_tokens([unk_token, *settings.special_tokens])))

    def base(self, texts: Sequence[WordCounts], settings: CountSettings) -> BPEModel:
        """Return the model to begin with: new tokens are special tokens, tokens of bytes, characters.

        Characters get tokens that have one in the initial model, and the commonest of the counts.
        """
        characters = "" if self._initial is None else characters_of(self._initial)
        if texts and self._coverage is not None:
            characters += choose_characters(count_characters(texts[0]), self._coverage, self._limit)
        # An initial model has the tokens of bytes that it needs; others would never occur.
        fallback = self._alphabet.byte_tokens if self._initial is None else ()
        tokens = [*map(str.encode, settings.special_tokens), *fallback, *map(str.encode, sorted({*characters}))]
        return _base_model(tokens, settings, self._initial, self._alphabet)

    def symbols(self, base: BPEModel, tie_break: str) -> tuple[Pattern, TrainingAlphabet]:
        """Return no pattern for `Metaspace`, whose pre-tokens no merge crosses; without that, cuts at words help."""
        word_pattern = Pattern(None if base.pattern else "gpt2")
        return word_pattern, TrainingAlphabet(characters_of(base), drops_others=tie_break == "huggingface")


def _base_model(
    tokens: Iterable[bytes], settings: CountSettings, initial: BPEModel | None, alphabet: Alphabet
) -> BPEModel:
    """Return a model of some tokens; tokens that an initial model lacks get ids after its highest."""
    vocab = {} if initial is None else dict(initial.vocab)
    initial_tokens = {*vocab.values()}
    missing = [token for token in tokens if token not in initial_tokens]
    vocab.update(enumerate(missing, start=max(vocab, default=-1) + 1))
    if initial is None:
        return BPEModel.of(vocab, [], settings.special_tokens, settings.pattern, alphabet=alphabet)
    return replace(initial, vocab=vocab, special_tokens=settings.special_tokens)


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


def initial_alphabet_for(
    pattern: Pattern, initial: BPEModel | None, chosen: AlphabetOptions, **for_bytes: object
) -> InitialBytes | InitialCharacters:
    """Return what merges begin with; `for_bytes` are other options of `hf_bpe.train` that are not for characters."""
    options = chosen.for_characters()
    if initial is not None:
        for name in ("byte_fallback", "unk_token", "fuse_unk"):
            if name in options and (initial.alphabet.is_bytes or getattr(initial.alphabet, name) != options[name]):
                raise ValueError(f"{name}: expected None, because the initial model says it; got {options[name]!r}")
    if not learns_characters({**options, "initial": initial, "pattern": pattern}):
        if options:
            raise ValueError(
                f"{next(iter(options))}: expected None, because the alphabet is bytes; for one of characters give "
                "byte_fallback, or a Metaspace as the pattern"
            )
        return InitialBytes(initial, chosen.initial_alphabet)
    for name, value in {**for_bytes, "initial_alphabet": chosen.initial_alphabet}.items():
        if value not in (None, "bytes"):
            raise ValueError(f"{name}: not for a model whose alphabet is characters; expected none, got {value!r:.80}")
    limit = options.pop("limit_alphabet", None)
    if initial is not None:
        coverage = options.get("character_coverage", None if limit is None else 1.0)
        return InitialCharacters(initial, initial.alphabet, coverage, limit)
    coverage = options.pop("character_coverage", COVERAGE)
    return InitialCharacters(None, CharacterAlphabet(**options), coverage, limit)
