"""The settings of a tokenizer, each defined once.

The constructor, loading, saving, definitions, the features of formats and the checks of `tokenizer_config.json` are
derived from this table. `OwnSettings`, `ModelSettings` and `Settings` give type checkers the same names.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict, get_args

from tokenizers import AddedToken

from hf_bpe._utils.arguments import (
    Check,
    check_flag,
    check_int,
    check_keywords,
    check_mapping,
    check_str,
    check_strs,
    each,
    one_of,
    optional,
    short_repr,
    wrong_type,
)
from hf_bpe.core._checks import refuse_roles
from hf_bpe.formats._decoder import canonical_decoding
from hf_bpe.normalizers._normalizer import AnyNormalizer, Normalizer
from hf_bpe.pretokenizers._byte_level import from_printable
from hf_bpe.pretokenizers._pattern import AnyPattern, Pattern

if TYPE_CHECKING:
    from hf_bpe.formats._template import Template

LeftOrRight = Literal["left", "right"]
SettingValues = Mapping[str, Any]
"""Settings by name, or the JSON object of a file with settings."""

_NO_DEFAULT = object()
_STRING, _FLAG, _NUMBER, _OBJECT, _LIST = (str,), (bool,), (int, float), (dict,), (list,)
_NULL = (type(None),)


def check_special_tokens(name: str, value: object) -> list[str | AddedToken]:
    """Return a list of tokens; a mapping of roles gets its own message."""
    refuse_roles(value)
    tokens: list[str | AddedToken] = each(check_token)(name, value)
    return tokens


def check_token(name: str, value: object) -> str | AddedToken:
    """Return the value if it is a token (str or `AddedToken`) that can be encoded as UTF-8."""
    if not isinstance(value, (str, AddedToken)):
        raise wrong_type(name, "a str or an AddedToken", value)
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: {short_repr(value)} holds a lone surrogate, so it has no UTF-8 form") from None
    return value


def check_tokens(name: str, value: object) -> list[str | AddedToken]:
    """Return a list of tokens; a single token may be given."""
    tokens: list[str | AddedToken] = each(check_token)(name, [value] if isinstance(value, (str, AddedToken)) else value)
    return tokens


def check_extra_tokens(name: str, value: object) -> object:
    """Return the value if it is a list of tokens, or a dict of name to token."""
    if not isinstance(value, Mapping):
        return each(check_token)(name, value)
    for token in check_keywords(name, value).values():
        check_token(name, token)
    return value


def check_added_tokens(name: str, value: object) -> dict[int, AddedToken]:
    """Return the value if it is a mapping of id to `AddedToken`."""
    tokens = {}
    for token_id, token in check_mapping(name, value).items():
        check_token(name, token)
        tokens[check_int(name, token_id, 0, 2**32 - 1)] = AddedToken(token) if isinstance(token, str) else token
    return tokens


def check_template(name: str, value: object) -> object:
    """Return the value if it is a chat template, or several by name."""
    if isinstance(value, (list, tuple)):  # the form of several templates in tokenizer_config.json
        value = {each["name"]: each["template"] for each in map(partial(check_mapping, name), value)}
    for text in value.values() if isinstance(value, Mapping) else [value]:
        check_str(name, text)
    return value


def check_errors(name: str, value: object) -> object:
    """Return the value if it is the name of an error handler for decoding."""
    try:
        codecs.lookup_error(check_str(name, value))
    except (LookupError, ValueError):
        raise ValueError(f"{name}: expected a name such as 'replace' or 'strict', got {short_repr(value)}") from None
    return value


def check_model_max_length(name: str, value: object) -> float:
    """Return a number of tokens, which may be a float in files: 1e30 means no limit."""
    return value if isinstance(value, float) and value >= 0 else check_int(name, value, 0)


def check_trim_offsets(name: str, value: object) -> object:
    """Return the value if it is a bool or "prefix"."""
    if value is not True and value is not False and value != "prefix":
        raise ValueError(f"{name}: expected True, False or 'prefix', got {short_repr(value)}")
    return value


def check_unused_tokens(name: str, value: object) -> dict[str, int]:
    """Return the value if it is a mapping to ids of tokens that no text has: not made of bytes, or empty."""
    tokens = dict(check_mapping(name, value))
    for token, token_id in tokens.items():
        if check_str(f"{name}: a token", token) and from_printable(token) is not None:
            raise ValueError(
                f"{name}: {short_repr(token)} is the printable form of bytes, so text may be encoded to it"
            )
        if check_int(f"{name}[{short_repr(token)}]", token_id) < 0:
            raise ValueError(f"{name}: {short_repr(token)}: expected an id, got {token_id}")
    if len({*tokens.values()}) < len(tokens):
        raise ValueError(f"{name}: two tokens have the same id")
    return tokens


class Owner(Enum):
    """To whom a setting belongs."""

    MODEL = 0  # which is given to the constructor with files
    OURS = 1  # BPETokenizer alone
    PYTHON = 2  # tokenizers of transformers that are written in Python, and not its fast ones
    ALL = 3  # all tokenizers of transformers


class Setting(NamedTuple):
    """A keyword argument of `BPETokenizer`."""

    owner: Owner
    check: Check | None = None  # of the argument; None for a setting that transformers checks
    json: tuple[type, ...] = ()  # the types of its values in `tokenizer_config.json`; none if they are not checked
    default: Any = _NO_DEFAULT  # the value that a definition leaves out, because every tokenizer has it
    is_saved: bool = False  # it is an attribute of the tokenizer, which `save_pretrained` takes from `init_kwargs`
    is_in_definition: bool = True  # it belongs to the `settings` of a definition; not if model or template say it
    # Which of FEATURES a format must carry to store it. "settings" decides no ids; a setting that decides them needs a
    # feature that does, and every format refuses it until it names this feature.
    feature: str = "settings"


_saved = partial(Setting, is_saved=True)
_model_setting = partial(_saved, Owner.MODEL, is_in_definition=False)
_TOKEN = Setting(Owner.ALL, optional(check_token), _STRING + _OBJECT + _NULL, feature="names")
_TOKENS = Setting(Owner.ALL, optional(check_extra_tokens), _LIST + _OBJECT + _NULL)
_SIDE = _saved(Owner.ALL, one_of(*get_args(LeftOrRight)), _STRING, "right")
_ADDS = Setting(Owner.ALL, optional(check_flag), _FLAG + _NULL, is_in_definition=False)

NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

SETTINGS: dict[str, Setting] = {
    "pattern": _model_setting(lambda _, value: Pattern.parse(value), _STRING + _NULL, feature="pattern"),
    "normalizer": _model_setting(lambda _, value: Normalizer.parse(value), _STRING + _NULL, feature="normalizer"),
    "ignore_merges": _model_setting(check_flag, _FLAG, feature="ignore_merges"),
    "drop_missing_bytes": _model_setting(check_flag, _FLAG, feature="missing_bytes"),
    "model_special_tokens": _model_setting(optional(check_strs), _LIST + _NULL, feature="special_tokens"),
    "signature": Setting(Owner.MODEL, optional(check_str), _STRING, is_in_definition=False),
    "errors": _saved(Owner.OURS, check_errors, _STRING, "replace"),
    "add_prefix_space": _saved(Owner.OURS, check_flag, _FLAG + _NULL, False, feature="prefix_space"),
    "trim_offsets": _saved(Owner.OURS, check_trim_offsets, _FLAG + _STRING, False, feature="trim_offsets"),
    "decoding": _saved(
        Owner.OURS, lambda _, value: canonical_decoding(value), _STRING + _NULL, None, feature="decoding"
    ),
    "template": _saved(Owner.OURS, None, _OBJECT + _NULL, None, feature="template"),
    "unused_tokens": _saved(Owner.OURS, optional(check_unused_tokens), _OBJECT + _NULL, {}, feature="unused_tokens"),
    **dict.fromkeys(NAMED_TOKENS, _TOKEN),
    **dict.fromkeys(("extra_special_tokens", "additional_special_tokens"), _TOKENS),
    **dict.fromkeys(("add_bos_token", "add_eos_token"), _ADDS),
    **dict.fromkeys(("padding_side", "truncation_side"), _SIDE),
    "split_special_tokens": _saved(Owner.ALL, check_flag, _FLAG, False, feature="split_special_tokens"),
    "clean_up_tokenization_spaces": _saved(Owner.ALL, check_flag, _FLAG, False),
    "model_max_length": Setting(Owner.ALL, optional(check_model_max_length), _NUMBER + _NULL),
    # transformers 4 has a different default of model_input_names.
    "model_input_names": _saved(Owner.ALL, check_strs, _LIST, ["input_ids", "attention_mask"]),
    "token_type_ids_pattern": _saved(Owner.PYTHON, check_str, _STRING, "all_zeros"),
    "token_type_ids_include_special_tokens": _saved(Owner.PYTHON, None, (), True),
    "special_tokens_pattern": Setting(Owner.PYTHON, optional(check_str), _STRING + _NULL, is_in_definition=False),
    "chat_template": Setting(
        Owner.ALL, optional(check_template), _STRING + _LIST + _OBJECT + _NULL, feature="chat_template"
    ),
    "added_tokens_decoder": Setting(Owner.ALL, check_added_tokens, _OBJECT, is_in_definition=False),
    "name_or_path": Setting(Owner.ALL, is_in_definition=False),
    "verbose": Setting(Owner.ALL),
}
"""All settings, by name."""

CHECKS: dict[str, Check] = {name: each.check for name, each in SETTINGS.items() if each.check is not None}
"""The checks of values."""


def setting_names(*owners: Owner) -> tuple[str, ...]:
    """Return the names of the settings of some owners."""
    return tuple(name for name, each in SETTINGS.items() if each.owner in owners)


def is_default(name: str, value: object) -> bool:
    """Return whether a setting has the value that every tokenizer has."""
    return name in SETTINGS and SETTINGS[name].default is not _NO_DEFAULT and bool(SETTINGS[name].default == value)


# What special tokens are called whose role is known: those of BERT, GPT-2, Llama and T5.
_ROLES = {
    **dict.fromkeys(("<pad>", "[PAD]", "<|pad|>", "<|padding|>"), "pad_token"),
    **dict.fromkeys(("<s>", "<bos>", "<|bos|>", "<|begin_of_text|>", "<|startoftext|>", "[BOS]"), "bos_token"),
    **dict.fromkeys(("</s>", "<eos>", "<|eos|>", "<|end_of_text|>", "[EOS]", "<|endoftext|>"), "eos_token"),
    **dict.fromkeys(("<unk>", "[UNK]", "<|unk|>"), "unk_token"),
    **{"[CLS]": "cls_token", "[SEP]": "sep_token", "<mask>": "mask_token", "[MASK]": "mask_token"},
}


def roles_missing(special_tokens: Iterable[str], settings: Mapping[str, object]) -> dict[str, str]:
    """Return special token → role, for tokens that look like a role that no token has.

    >>> roles_missing(["<pad>", "</s>", "<x>"], {"eos_token": "</s>"})
    {'<pad>': 'pad_token'}
    """
    roles: dict[str, str] = {}
    for token in special_tokens:
        role = _ROLES.get(token)
        if role is not None and settings.get(role) is None and role not in roles.values():
            roles[token] = role
    return roles


class OwnSettings:
    """The attributes of `BPETokenizer` that are settings of its own, for type checkers."""

    errors: str
    add_prefix_space: bool
    trim_offsets: bool | str
    decoding: str | None
    unused_tokens: dict[str, int]


class ModelSettings(TypedDict, total=False):
    """The keyword arguments of `BPETokenizer` that belong to the model, which are given with files."""

    pattern: AnyPattern
    normalizer: AnyNormalizer
    ignore_merges: bool
    drop_missing_bytes: bool
    model_special_tokens: Sequence[str] | None


class Settings(TypedDict, total=False):
    """The keyword arguments of `BPETokenizer` that do not belong to the model."""

    errors: str
    add_prefix_space: bool
    trim_offsets: bool | Literal["prefix"]
    decoding: str | Mapping[str, Any] | None
    template: Template | Mapping[str, Any] | None
    unused_tokens: Mapping[str, int] | None
    bos_token: str | AddedToken | None
    eos_token: str | AddedToken | None
    unk_token: str | AddedToken | None
    sep_token: str | AddedToken | None
    pad_token: str | AddedToken | None
    cls_token: str | AddedToken | None
    mask_token: str | AddedToken | None
    extra_special_tokens: Sequence[str | AddedToken] | Mapping[str, str | AddedToken] | None
    additional_special_tokens: Sequence[str | AddedToken] | None
    add_bos_token: bool | None
    add_eos_token: bool | None
    padding_side: LeftOrRight
    truncation_side: LeftOrRight
    split_special_tokens: bool
    clean_up_tokenization_spaces: bool
    model_max_length: float | None
    model_input_names: Sequence[str]
    token_type_ids_pattern: Literal["all_zeros", "bert_style"]
    token_type_ids_include_special_tokens: bool
    special_tokens_pattern: Literal["none", "bos", "eos", "bos_eos"] | None
    chat_template: str | Mapping[str, str] | Sequence[Mapping[str, str]] | None
    added_tokens_decoder: Mapping[int, str | AddedToken]
    name_or_path: str
    verbose: bool
