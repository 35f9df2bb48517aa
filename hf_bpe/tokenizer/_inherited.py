"""Settings and methods that `BPETokenizer` inherits from transformers, with checked arguments.

With unexpected arguments transformers fails somewhere inside, or returns odd results. Here arguments are checked by
their names, which mean the same in every method. All values that transformers can interpret are accepted.
"""

from __future__ import annotations

from typing import Any

from tokenizers import AddedToken
from transformers.tokenization_python import PreTrainedTokenizer
from transformers.tokenization_utils_base import TruncationStrategy
from transformers.utils import ExplicitEnum, PaddingStrategy, TensorType

from hf_bpe._utils.arguments import (
    Check,
    at_least,
    check_choice,
    check_flag,
    check_ids,
    check_int,
    check_mapping,
    check_path,
    check_str,
    checked,
    one_of,
    optional,
    short_repr,
)
from hf_bpe._utils.paths import check_output
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._layout import MAX_IDS
from hf_bpe.formats._construction import CONSTRUCTOR as CHECKS_OF_ALL
from hf_bpe.formats._construction import NO_LIMIT
from hf_bpe.formats._settings import check_tokens
from hf_bpe.tokenizer._self_types import OwnTokenizer


def strategy(strategies: type[ExplicitEnum], *, has_flags: bool = True) -> Check:
    """Return a check for a member of a transformers enumeration, its name, or a bool if `has_flags`."""
    names = [member.value for member in strategies]

    def check(name: str, value: object) -> object:
        if isinstance(value, strategies):
            return value
        if has_flags and not isinstance(value, str):
            return check_flag(name, value)
        return strategies(check_choice(name, value, names))

    return check


_FLAG, _SIDE = check_flag, one_of("left", "right")


def _check_vocab_file(name: str, value: object) -> object:
    if isinstance(value, BPEModel):
        raise TypeError("BPETokenizer: the first argument is a vocab_file; give the model as BPETokenizer(model=model)")
    return check_path(name, value)


def _check_roles(name: str, value: object) -> object:
    if isinstance(value, (str, AddedToken, list, tuple)):
        raise TypeError(
            f"{name}: expected roles and their tokens, such as {{'pad_token': '<pad>'}}, got {short_repr(value)}; "
            "add_tokens([…], special_tokens=True) adds tokens without roles"
        )
    return check_mapping(name, value)


CONSTRUCTOR: dict[str, Check] = {**CHECKS_OF_ALL, "vocab_file": optional(_check_vocab_file)}
"""Checks of the arguments of `BPETokenizer`."""

ARGUMENTS: dict[str, Check] = {
    **dict.fromkeys(("add_special_tokens", "is_split_into_words", "return_overflowing_tokens", "verbose"), _FLAG),
    **dict.fromkeys(("return_special_tokens_mask", "return_offsets_mapping", "return_length"), _FLAG),
    **dict.fromkeys(("return_token_type_ids", "return_attention_mask"), optional(_FLAG)),
    **dict.fromkeys(("already_has_special_tokens", "pair", "prepend_batch_axis", "skip_special_tokens"), _FLAG),
    **dict.fromkeys(("split_special_tokens", "clean_up_tokenization_spaces"), optional(_FLAG)),
    "padding": strategy(PaddingStrategy),
    "truncation": optional(strategy(TruncationStrategy)),
    "truncation_strategy": strategy(TruncationStrategy, has_flags=False),
    "max_length": optional(lambda name, value: check_int(name, value, 0, NO_LIMIT)),
    "stride": at_least(0),
    "num_tokens_to_remove": check_int,
    "pad_to_multiple_of": optional(lambda name, value: check_int(name, value, 1, 2**32)),
    "padding_side": optional(_SIDE),
    "return_tensors": optional(strategy(TensorType, has_flags=False)),
    **dict.fromkeys(("token_ids_0", "ids"), check_ids),
    **dict.fromkeys(("token_ids_1", "pair_ids"), optional(check_ids)),
    "text": check_str,
    "new_tokens": optional(check_tokens),
    "special_tokens_dict": optional(_check_roles),
    "chat_template": optional(check_str),
    "save_directory": check_output,
    "filename_prefix": optional(check_path),
}
"""Checks of the arguments of transformers' methods."""


class InheritedMethods(OwnTokenizer):
    """Methods of `PreTrainedTokenizer` with checked arguments.

    Most of them are wrapped, not redefined, so their signatures follow transformers.
    """

    def _get_padding_truncation_strategies(self, padding: Any = False, truncation: Any = None, **kwargs: Any) -> Any:
        # Every call of the tokenizer enters here.
        if padding is not False:
            padding = ARGUMENTS["padding"]("padding", padding)
        if truncation is not None:
            truncation = ARGUMENTS["truncation"]("truncation", truncation)
        for name in ("max_length", "pad_to_multiple_of", "verbose"):
            if kwargs.get(name) is not None:
                kwargs[name] = ARGUMENTS[name](name, kwargs[name])
        return super()._get_padding_truncation_strategies(padding, truncation, **kwargs)

    def _pad(self, encoded_inputs: object, max_length: int | None = None, *args: object, **kwargs: object) -> object:
        if max_length is not None and max_length >= MAX_IDS:
            raise ValueError(f"max_length: expected a length that memory can hold, got {max_length}")
        return super()._pad(encoded_inputs, max_length, *args, **kwargs)

    @checked(**ARGUMENTS)
    def parse_response(self, response: object, schema: object = None, **kwargs: object) -> Any:
        """Parse a model's response, as in transformers; `schema` is a response template."""
        self._check_has_template("schema", schema)
        return super().parse_response(response, schema, **kwargs)

    @checked(**ARGUMENTS)
    def get_response_parser(self, response_template: object = None, **kwargs: object) -> Any:
        """Return an incremental parser of responses, as in transformers."""
        self._check_has_template("response_template", response_template)
        return super().get_response_parser(response_template, **kwargs)

    def _check_has_template(self, name: str, value: object) -> None:
        if value is None and getattr(self, "response_template", None) is None:
            raise ValueError(f"{name}: expected a response template, because this tokenizer has none; got None")


for _name in (
    *("create_token_type_ids_from_sequences", "num_special_tokens_to_add", "prepare_for_model", "pad"),
    *("clean_up_tokenization", "batch_decode", "encode_message_with_chat_template"),
    *("add_tokens", "add_special_tokens", "apply_chat_template", "get_chat_template", "save_chat_templates"),
):
    if hasattr(PreTrainedTokenizer, _name):  # some versions have fewer methods
        setattr(InheritedMethods, _name, checked(**ARGUMENTS)(getattr(PreTrainedTokenizer, _name)))
