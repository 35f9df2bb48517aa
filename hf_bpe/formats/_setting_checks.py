"""Checks of the values of settings."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from functools import partial
from typing import Any

from tokenizers import AddedToken

from hf_bpe._utils.arguments import (
    Check,
    check_int,
    check_keywords,
    check_mapping,
    check_str,
    each,
    short_repr,
    wrong_type,
)
from hf_bpe.core._special_tokens import refuse_roles
from hf_bpe.pretokenizers._byte_level import from_printable


def check_special_tokens(name: str, value: object) -> list[Any]:
    """Return a list of tokens; a mapping of roles gets its own message."""
    refuse_roles(value)
    tokens: list[Any] = each(check_token)(name, value)
    return tokens


def check_token(name: str, value: object) -> Any:
    """Return the value if it is a token (str or `AddedToken`) that can be encoded as UTF-8."""
    if not isinstance(value, (str, AddedToken)):
        raise wrong_type(name, "a str or an AddedToken", value)
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}: {short_repr(value)} holds a lone surrogate, so it has no UTF-8 form") from None
    return value


def check_tokens(name: str, value: object) -> Any:
    """Return a list of tokens; a single token may be given."""
    return each(check_token)(name, [value] if isinstance(value, (str, AddedToken)) else value)


def check_extra_tokens(name: str, value: object) -> Any:
    """Return the value if it is a list of tokens, or a dict of name to token."""
    if not isinstance(value, Mapping):
        return each(check_token)(name, value)
    for token in check_keywords(name, value).values():
        check_token(name, token)
    return value


def check_added_tokens(name: str, value: object) -> Any:
    """Return the value if it is a mapping of id to `AddedToken`."""
    tokens = {}
    for token_id, token in check_mapping(name, value).items():
        check_token(name, token)
        tokens[check_int(name, token_id, 0, 2**32 - 1)] = AddedToken(token) if isinstance(token, str) else token
    return tokens


def check_template(name: str, value: object) -> Any:
    """Return the value if it is a chat template, or several by name."""
    if isinstance(value, (list, tuple)):  # the form of several templates in tokenizer_config.json
        value = {each["name"]: each["template"] for each in map(partial(check_mapping, name), value)}
    for text in value.values() if isinstance(value, Mapping) else [value]:
        check_str(name, text)
    return value


def check_errors(name: str, value: object) -> str:
    """Return the value if it is the name of an error handler for decoding."""
    try:
        codecs.lookup_error(check_str(name, value))
    except (LookupError, ValueError):
        raise ValueError(f"{name}: expected a name such as 'replace' or 'strict', got {short_repr(value)}") from None
    return str(value)


def check_model_max_length(name: str, value: object) -> Any:
    """Return a number of tokens, which may be a float in files: 1e30 means no limit."""
    return value if isinstance(value, float) and value >= 0 else check_int(name, value, 0)


def flag_or(choice: str) -> Check:
    """Return a check for a bool or one string."""

    def check(name: str, value: Any) -> bool | str:
        if value is not True and value is not False and value != choice:
            raise ValueError(f"{name}: expected True, False or {choice!r}, got {short_repr(value)}")
        return value  # type: ignore[no-any-return]

    return check


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
