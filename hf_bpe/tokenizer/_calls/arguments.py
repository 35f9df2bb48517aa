"""The arguments of calls: the texts in one layout, and checks of the options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, NamedTuple

from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import PaddingStrategy

from hf_bpe._utils.arguments import refuse_unknown, short_repr, wrong_type
from hf_bpe.encoding import _randomness
from hf_bpe.encoding._encoder import AnyText
from hf_bpe.tokenizer._inherited import ARGUMENTS
from hf_bpe.tokenizer._options import without_others


class Inputs(NamedTuple):
    """The texts of a call in a uniform layout.

    Attributes:
        texts: all texts in order: of each row the first sequence, then the second.
        bounds: the index in `texts` at which each sequence begins, and the end of the last, if sequences are given in
            words; None if each text is a sequence.
        per_row: the number of sequences in a row.
        is_batched: whether the call requests several rows.
    """

    texts: list[AnyText]
    bounds: list[int] | None
    per_row: int
    is_batched: bool

    @classmethod
    def of(cls, text: Any, pair: Any, in_words: bool) -> Inputs | None:
        """Parse the arguments of a call; None if they are not texts, or their numbers differ."""
        is_one = _is_words if in_words else _is_text
        if is_one(text):
            if pair is not None and not is_one(pair):
                return None
            return cls._made([text] if pair is None else [text, pair], 1 if pair is None else 2, False, in_words)
        if not isinstance(text, (list, tuple)):
            return None
        text = [*text]  # brings the texts into the caches, which checking one by one would wait for
        if pair is not None:
            if not isinstance(pair, (list, tuple)) or len(pair) != len(text) or not all(map(is_one, [*text, *pair])):
                return None
            return cls._made([each for row in zip(text, pair, strict=True) for each in row], 2, True, in_words)
        if all(map(is_one, text)):
            return cls._made(text, 1, True, in_words)
        is_pair = (tuple,) if in_words else (tuple, list)
        if all(isinstance(row, is_pair) and len(row) == 2 and all(map(is_one, row)) for row in text):
            return cls._made([each for row in text for each in row], 2, True, in_words)
        return None

    @classmethod
    def _made(cls, sequences: list[Any], per_row: int, is_batched: bool, in_words: bool) -> Inputs:
        if not in_words:
            return cls(sequences, None, per_row, is_batched)
        bounds = [0, *accumulate(map(len, sequences))]
        return cls([word for words in sequences for word in words], bounds, per_row, is_batched)


_is_text: Callable[[object], bool] = str.__instancecheck__  # `isinstance` without a frame for each text


def _is_words(value: object) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, value))


class Call(NamedTuple):
    """The arguments of `_encode_plus`; see the documentation of `__call__` in transformers."""

    add_special_tokens: bool = True
    padding_strategy: PaddingStrategy = PaddingStrategy.DO_NOT_PAD
    truncation_strategy: TruncationStrategy = TruncationStrategy.DO_NOT_TRUNCATE
    max_length: int | None = None
    stride: int = 0
    is_split_into_words: bool = False
    pad_to_multiple_of: int | None = None
    padding_side: str | None = None
    return_tensors: Any = None
    return_token_type_ids: bool | None = None
    return_attention_mask: bool | None = None
    return_overflowing_tokens: bool = False
    return_special_tokens_mask: bool = False
    return_offsets_mapping: bool = False
    return_length: bool = False
    verbose: bool = True
    split_special_tokens: bool | None = None

    @property
    def limit(self) -> int | None:
        """The number of ids to which rows are truncated; None for no truncation."""
        return None if self.truncation_strategy == TruncationStrategy.DO_NOT_TRUNCATE else self.max_length


CALL_NAMES = frozenset(Call._fields)
# transformers and its processors pass the others to every tokenizer.
_KNOWN = CALL_NAMES | {"padding", "truncation", "sanitize_control_tokens", "return_mm_token_type_ids"}
_KNOWN |= {"allowed_special", "disallowed_special", *_randomness.NAMES}
_CHECKS = {name: check for name, check in ARGUMENTS.items() if name in CALL_NAMES}


def checked_inputs(text: Any, text_pair: Any, kwargs: dict[str, Any]) -> Inputs | None:
    """Return the texts of a call, or None if transformers has to handle it; check the other arguments in place."""
    check_call_options(kwargs)
    if isinstance(kwargs.get("return_tensors"), bool):
        raise wrong_type("return_tensors", "None or the name of a kind of tensors", kwargs["return_tensors"])
    if kwargs.get("sanitize_control_tokens"):
        return None
    return Inputs.of(text, text_pair, kwargs.get("is_split_into_words", False))


def check_call_options(kwargs: dict[str, Any]) -> None:
    """Check the options of a call in place."""
    for name, value in kwargs.items():
        if value is not None and value is not True and value is not False and name in _CHECKS:
            kwargs[name] = _CHECKS[name](name, value)
    if not kwargs.keys() <= _KNOWN:
        refuse_unknown("BPETokenizer", without_others("BPETokenizer", kwargs), _KNOWN)


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
