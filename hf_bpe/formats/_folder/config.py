"""Checks of `tokenizer_config.json` and other JSON files before transformers reads them without checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hf_bpe._utils.input_files import read_json
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._files.json_reading import check_ids, read_json_object
from hf_bpe.formats._files.tokenizer_json import TOKENIZER_JSON_FEATURES
from hf_bpe.formats._settings import SETTINGS

CONFIG_FILE = "tokenizer_config.json"
FOLDER_FEATURES = TOKENIZER_JSON_FEATURES | {"split_special_tokens", "names", "chat_template", "settings"}
"""Names of the FEATURES that a folder carries, with both files."""
INSISTS = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
DIGESTS = "file_digests"  # file → digest, see hf_bpe.formats._folder.digests

_NULL = type(None)
_TYPES: dict[str, tuple[type, ...]] = {
    **{name: setting.json for name, setting in SETTINGS.items() if setting.json},
    "tokenizer_class": (str, _NULL),
    DIGESTS: (dict, _NULL),
    "auto_map": (dict, list, _NULL),
    "init_inputs": (list,),
}
_NAMES: dict[type, str] = {
    **{str: "a string", bool: "true or false", int: "a number", float: "a number"},
    **{dict: "an object", list: "an array", type(None): "null"},
}


def check_config(path: Path) -> dict[str, Any]:
    """Return the content of a `tokenizer_config.json`, or raise an error if it is damaged.

    Unknown settings are not checked.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a JSON object, or a setting has the wrong type; the message names both.
    """
    config = read_json(path)
    if not isinstance(config, dict):
        raise ValueError(f"{path}: expected a JSON object, got {_NAMES[type(config)]}")
    for name, types in _TYPES.items():
        value = config.get(name)
        # A bool is an int for isinstance.
        if name in config and type(value) not in types:
            expected = " or ".join(dict.fromkeys(_NAMES[each] for each in types))
            raise ValueError(f"{path}: {name}: expected {expected}, got {value!r:.80}")
    for token in config.get("model_special_tokens") or []:
        if not isinstance(token, str):
            raise ValueError(f"{path}: model_special_tokens: expected strings, got {token!r:.80}")
    for token_id, token in config.get("added_tokens_decoder", {}).items():
        _check_added_token(f"{path}: added_tokens_decoder", token_id, token)
    return config


def converted(value: object, convert: Callable[[Any], Any]) -> Any:
    """Return a JSON value with each of its parts converted, or the parts of those that convert to themselves.

    >>> converted({"a": [1, (2,)]}, lambda value: -value if isinstance(value, int) else value)
    {'a': [-1, [-2]]}
    """
    if isinstance(value, BPEModel):  # other files hold it
        return None
    if (made := convert(value)) is not value:
        return made
    if isinstance(value, dict):
        return {name: converted(each, convert) for name, each in value.items()}
    return [converted(each, convert) for each in value] if isinstance(value, (list, tuple)) else value


def content_of_token(token: object) -> str | None:
    """Return the content of a token as a JSON file has it, a string or an object; None for anything else."""
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) else None


def check_special_tokens_map(path: Path) -> dict[str, Any]:
    """Return the content of a `special_tokens_map.json`, or raise an error if it is damaged.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a JSON object of tokens or lists of tokens; the message names the entry.
    """
    content = read_json_object(path)
    for name, value in content.items():
        for token in value if isinstance(value, list) else [value]:
            if token is not None and content_of_token(token) is None:
                raise ValueError(f"{path}: {name}: expected a string or an object with a content, got {token!r:.80}")
    return content


def check_added_tokens(path: Path) -> dict[str, int]:
    """Return the content of an `added_tokens.json`, or raise an error if it is damaged.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not a JSON object of token to id, or has an id twice; the message names both.
    """
    content = read_json_object(path)
    check_ids(content, str(path))
    return content


def _check_added_token(where: str, token_id: str, token: object) -> None:
    if not (token_id.isascii() and token_id.isdigit()):
        raise ValueError(f"{where}: expected ids, got {token_id!r:.80}")
    if not isinstance(token, dict) or not isinstance(token.get("content"), str):
        raise ValueError(f"{where}: token {token_id}: expected an object with a content, got {token!r:.80}")
    for flag in ("single_word", "lstrip", "rstrip", "normalized", "special"):
        if not isinstance(token.get(flag, False), bool):
            raise ValueError(f"{where}: token {token_id}: {flag}: expected true or false, got {token[flag]!r:.80}")
