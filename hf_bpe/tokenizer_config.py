"""`tokenizer_config.json`, checked before transformers reads it, who takes what it finds there on trust."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONFIG_FILE = "tokenizer_config.json"

_STRING, _BOOLEAN, _NUMBER, _OBJECT, _ARRAY = (str,), (bool,), (int, float), (dict,), (list,)
_OPTIONAL = (type(None),)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("errors", "padding_side", "truncation_side", "token_type_ids_pattern", "signature"), _STRING),
    **dict.fromkeys(("normalizer", "pattern", "special_tokens_pattern", "tokenizer_class"), _STRING + _OPTIONAL),
    **dict.fromkeys(("add_prefix_space", "split_special_tokens", "clean_up_tokenization_spaces"), _BOOLEAN),
    "ignore_merges": _BOOLEAN,
    **dict.fromkeys(("add_bos_token", "add_eos_token"), _BOOLEAN + _OPTIONAL),
    **dict.fromkeys(("bos_token", "eos_token", "unk_token", "sep_token"), _STRING + _OBJECT + _OPTIONAL),
    **dict.fromkeys(("pad_token", "cls_token", "mask_token"), _STRING + _OBJECT + _OPTIONAL),
    **dict.fromkeys(("extra_special_tokens", "additional_special_tokens"), _ARRAY + _OBJECT + _OPTIONAL),
    "model_special_tokens": _ARRAY + _OPTIONAL,
    "added_tokens_decoder": _OBJECT,
    "auto_map": _OBJECT + _ARRAY + _OPTIONAL,
    "chat_template": _STRING + _ARRAY + _OBJECT + _OPTIONAL,
    "init_inputs": _ARRAY,
    "model_input_names": _ARRAY,
    "model_max_length": _NUMBER + _OPTIONAL,
}
_NAMES: dict[type, str] = {
    **{str: "a string", bool: "true or false", int: "a number", float: "a number"},
    **{dict: "an object", list: "an array", type(None): "null"},
}


def check_config(path: Path) -> None:
    """Raise an error if a `tokenizer_config.json` is damaged; what is not known here may be anything.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not a JSON object, or something in it is not of its type; the message names both.
    """
    try:
        config = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: not JSON: {error}") from None
    if not isinstance(config, dict):
        raise ValueError(f"{path}: expected a JSON object, got {_NAMES[type(config)]}")
    for name, types in _TYPES.items():
        value = config.get(name)
        # A bool is an int to isinstance.
        if name in config and type(value) not in types:
            expected = " or ".join(dict.fromkeys(_NAMES[each] for each in types))
            raise ValueError(f"{path}: {name}: expected {expected}, got {value!r:.80}")
    for token in config.get("model_special_tokens") or []:
        if not isinstance(token, str):
            raise ValueError(f"{path}: model_special_tokens: expected strings, got {token!r:.80}")
    for token_id, token in config.get("added_tokens_decoder", {}).items():
        _check_added_token(f"{path}: added_tokens_decoder", token_id, token)


def _check_added_token(where: str, token_id: str, token: Any) -> None:
    if not (token_id.isascii() and token_id.isdigit()):
        raise ValueError(f"{where}: expected ids, got {token_id!r}")
    if not isinstance(token, dict) or not isinstance(token.get("content"), str):
        raise ValueError(f"{where}: token {token_id}: expected an object with a content, got {token!r:.80}")
    for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
        if not isinstance(token.get(flag, False), bool):
            raise ValueError(f"{where}: token {token_id}: {flag}: expected true or false, got {token[flag]!r:.80}")
