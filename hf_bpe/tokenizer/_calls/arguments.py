"""The arguments of calls: the texts in one layout, checks of the options, and those of tiktoken."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy, TensorType

from hf_bpe._utils.arguments import check_strs, refuse_unknown, short_repr, wrong_type
from hf_bpe.encoding import _randomness
from hf_bpe.encoding._added_tokens.finder import TokenFinder
from hf_bpe.encoding._encoder import AnyText, Encoder, Options, as_str
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.tokenizer._inherited import ARGUMENTS
from hf_bpe.tokenizer._options import without_foreign_options


class Inputs(NamedTuple):
    """The texts of a call in a uniform layout."""

    texts: list[AnyText]  # all texts in order: of each row the first sequence, then the second
    # The index in `texts` at which each sequence begins, and the end of the last, if sequences are given in words; None
    # if each text is a sequence
    bounds: list[int] | None
    per_row: int  # the number of sequences in a row
    is_batched: bool  # whether the call requests several rows

    @classmethod
    def from_arguments(cls, text: Any, pair: Any, in_words: bool) -> Inputs | None:
        """Parse the arguments of a call; None if they are not texts, or their numbers differ."""
        is_one = _is_words if in_words else _is_text
        if is_one(text):
            if pair is not None and not is_one(pair):
                return None
            return cls._from_texts([text] if pair is None else [text, pair], 1 if pair is None else 2, False, in_words)
        if not isinstance(text, (list, tuple)):
            return None
        text = [*text]  # brings the texts into the caches, which checking one by one would wait for
        if pair is not None:
            if not isinstance(pair, (list, tuple)) or len(pair) != len(text) or not all(map(is_one, [*text, *pair])):
                return None
            return cls._from_texts([each for row in zip(text, pair, strict=True) for each in row], 2, True, in_words)
        if all(map(is_one, text)):
            return cls._from_texts(text, 1, True, in_words)
        is_pair = (tuple,) if in_words else (tuple, list)
        if all(isinstance(row, is_pair) and len(row) == 2 and all(map(is_one, row)) for row in text):
            return cls._from_texts([each for row in text for each in row], 2, True, in_words)
        return None

    @classmethod
    def _from_texts(cls, sequences: list[Any], per_row: int, is_batched: bool, in_words: bool) -> Inputs:
        if not in_words:
            return cls(sequences, None, per_row, is_batched)
        bounds = [0, *accumulate(map(len, sequences))]
        return cls([word for words in sequences for word in words], bounds, per_row, is_batched)


_is_text: Callable[[object], bool] = str.__instancecheck__  # `isinstance` without a frame for each text


def _is_words(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, value))


class Call(NamedTuple):
    """The texts and the options of `_encode_plus`; see the documentation of `__call__` in transformers."""

    inputs: Inputs
    add_special_tokens: bool = True
    padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD
    truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE
    max_length: int | None = None
    stride: int = 0
    is_split_into_words: bool = False
    pad_to_multiple_of: int | None = None
    padding_side: str | None = None
    return_tensors: str | TensorType | None = None
    return_token_type_ids: bool | None = None
    return_attention_mask: bool | None = None
    return_overflowing_tokens: bool = False
    return_special_tokens_mask: bool = False
    return_offsets_mapping: bool = False
    return_length: bool = False
    verbose: bool = True
    split_special_tokens: bool | None = None

    @classmethod
    def from_options(cls, inputs: Inputs, kwargs: Mapping[str, Any]) -> Call:
        """Return the call with these options, without unknown ones."""
        return cls(inputs, **{name: value for name, value in kwargs.items() if name in CALL_NAMES})

    @property
    def limit(self) -> int | None:
        """The number of ids to which rows are truncated; None for no truncation."""
        return None if self.truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE else self.max_length


TIKTOKEN_NAMES = ("allowed_special", "disallowed_special")
"""The options of tiktoken, which say what special tokens may occur in a text."""
CALL_NAMES = frozenset(Call._fields) - {"inputs"}
# transformers and its processors pass the others to every tokenizer.
_CALL_OPTIONS = CALL_NAMES | {"padding", "truncation", "sanitize_control_tokens", "return_mm_token_type_ids"}
_CALL_OPTIONS |= {*TIKTOKEN_NAMES, *_randomness.NAMES}
_CHECKS = {name: check for name, check in ARGUMENTS.items() if name in CALL_NAMES}


def checked_inputs(text: Any, text_pair: Any, kwargs: dict[str, Any]) -> Inputs | None:
    """Return the texts of a call, or None if transformers has to handle it; check the other arguments in place."""
    check_call_options(kwargs)
    if isinstance(kwargs.get("return_tensors"), bool):
        raise wrong_type("return_tensors", "None or the name of a kind of tensors", kwargs["return_tensors"])
    if kwargs.get("sanitize_control_tokens"):
        return None
    return Inputs.from_arguments(text, text_pair, kwargs.get("is_split_into_words", False))


def check_call_options(kwargs: dict[str, object]) -> None:
    """Check the options of a call in place."""
    for name, value in kwargs.items():
        if value is not None and value is not True and value is not False and name in _CHECKS:
            kwargs[name] = _CHECKS[name](name, value)
    if not kwargs.keys() <= _CALL_OPTIONS:
        refuse_unknown("BPETokenizer", without_foreign_options("BPETokenizer", kwargs), _CALL_OPTIONS)


def check_inherited_call(text: object, text_pair: object, kwargs: Mapping[str, object]) -> None:
    """Raise a ValueError for arguments of a call that transformers cannot handle."""
    in_words = bool(kwargs.get("is_split_into_words"))
    for name, value in {"text": text, "text_pair": [] if text_pair is None else text_pair}.items():
        if not _is_input(value, in_words, depth=3):
            words = "lists of str, because is_split_into_words is set" if in_words else "a str, or a list of str"
            advice = f"; give {name}.tolist()" if hasattr(value, "tolist") else ""
            advice = "; encode_bytes takes bytes" if isinstance(value, bytes) else advice
            raise ValueError(
                f"{name}: expected {words}, a list or pair of these, or ids; got {short_repr(value)}{advice}"
            )
    for name in ("return_offsets_mapping", "return_overflowing_tokens"):
        if kwargs.get(name) and kwargs.get("sanitize_control_tokens"):
            raise ValueError(
                f"{name}=True: got sanitize_control_tokens=True, with which transformers encodes a text in parts; "
                "expected one of the two (split_special_tokens=True encodes all special tokens as text)"
            )
        if kwargs.get(name):
            raise ValueError(f"{name}=True: expected texts, either all single or all in pairs (text_pair)")


def _is_input(value: object, in_words: bool, depth: int) -> bool:
    if isinstance(value, str):
        return not in_words or depth < 3
    if not isinstance(value, (list, tuple)) or depth == 0:
        return False
    return all(type(each) is int for each in value) or all(_is_input(each, in_words, depth - 1) for each in value)


def encoder_allowing(
    pipeline: Pipeline, texts: Sequence[AnyText], kwargs: dict[str, object]
) -> tuple[Encoder, bool | None]:
    """Return the encoder for a call, and whether it splits special tokens.

    The arguments of tiktoken are removed from `kwargs`.
    """
    allowed_special, disallowed_special = (kwargs.pop(name, None) for name in TIKTOKEN_NAMES)
    if kwargs.get("split_special_tokens"):
        raise ValueError("split_special_tokens: expected False with allowed_special or disallowed_special, got True")
    specials = {token.content for token in pipeline.added_tokens.values() if token.special}
    allowed = _special_tokens("allowed_special", () if allowed_special is None else allowed_special, specials)
    if unknown := allowed - specials:
        raise ValueError(f"allowed_special: {min(unknown)!r} is not a special token of this tokenizer")
    disallowed = _special_tokens(
        "disallowed_special", "all" if disallowed_special is None else disallowed_special, specials - allowed
    )
    _refuse_special_tokens(pipeline, texts, disallowed)
    if allowed == specials:
        return pipeline.encoder, False
    if not allowed:
        return pipeline.encoder, True
    return pipeline.encoder_without(lambda token: token.special and token.content not in allowed), False


def _special_tokens(name: str, value: object, all_tokens: Collection[str]) -> set[str]:
    if isinstance(value, str):
        if value == "all":
            return {*all_tokens}
        raise ValueError(f"{name}: expected 'all' or a set of special tokens, got {short_repr(value)}")
    return {*check_strs(name, [*value] if isinstance(value, (set, frozenset)) else value)}


def _refuse_special_tokens(pipeline: Pipeline, texts: Sequence[AnyText], disallowed: set[str]) -> None:
    finder = TokenFinder(disallowed)
    for text in texts if disallowed else ():
        for at, token in finder.find_all(as_str(text)):
            raise _special_token_error(token, at)
    if pipeline.model.normalizer is None:
        return
    # Normalization may make a token of other characters, as Lowercase does of <|X|>.
    ids = {i for i, token in pipeline.added_tokens.items() if token.content in disallowed and token.special}
    for text in texts if ids else ():
        if made := ids.intersection(pipeline.encoder.encode(text, Options())):
            raise _special_token_error(pipeline.added_tokens[min(made)].content, None)


def _special_token_error(token: str, at: int | None) -> ValueError:
    where = "after normalization" if at is None else f"at character {at}"
    return ValueError(
        f"the text holds the special token {token!r} {where}, which disallowed_special forbids; to encode it as that "
        f"token give allowed_special={{{token!r}}}, to encode it as ordinary text disallowed_special=()"
    )
