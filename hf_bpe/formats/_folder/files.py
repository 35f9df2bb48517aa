"""The files of a folder: which of them are read, and checks of `tokenizer_config.json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

from hf_bpe._utils.input_files import read_json
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import FLAGS
from hf_bpe.formats._files.tokenizer_json import TOKENIZER_JSON_FEATURES
from hf_bpe.formats._settings import SETTINGS

TOKENIZER_FILE = "tokenizer.json"
VOCABULARY_FILES = {"vocab_file": "vocab.json", "merges_file": "merges.txt", "tokenizer_file": TOKENIZER_FILE}
"""transformers' key of a file with the vocabulary → its name."""

OWN_FILES = tuple(reversed(VOCABULARY_FILES.values()))  # the usual one first, because each may be asked for on the Hub
OTHER_FILES = ("tekken.json", "tiktoken.model", "qwen.tiktoken")
"""The names of files that only `BPETokenizer.convert_from` reads; any other `*.tiktoken` is one, too."""
FOLDER_FILES = (
    *OWN_FILES,
    *OTHER_FILES,
    "*.tiktoken",
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "config.json", "generation_config.json"),
    *("chat_template.jinja", "additional_chat_templates/*.jinja"),
    "tokenization_kimi.py",  # is compared with what is known of it, and not run
)
"""All files of a folder that loading and converting read, as patterns of paths in it."""

CONFIG_FILE = "tokenizer_config.json"
FOLDER_FEATURES = TOKENIZER_JSON_FEATURES | {"split_special_tokens", "names", "chat_template", "settings"}
"""Names of the FEATURES that a folder carries, with both files."""
CLEAN_UP_ANYWAY = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
DIGESTS = "file_digests"  # file → digest, see hf_bpe.formats._folder.consistency

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


def needs_conversion(folder: Path, options: Mapping[str, object]) -> bool:
    """Return whether a local folder only holds a vocabulary that `BPETokenizer.convert_from` reads."""
    if not folder.is_dir() or passes_vocabulary(options) or any((folder / name).is_file() for name in OWN_FILES):
        return False
    return any((folder / name).is_file() for name in OTHER_FILES) or any(folder.glob("*.tiktoken"))


def passes_vocabulary(options: Mapping[str, object]) -> bool:
    """Return whether the caller of from_pretrained passes the vocabulary."""
    return any(name in options for name in ("model", "vocab_file", "merges_file", "tokenizer_file", "gguf_file"))


_KEYS = {
    **VOCABULARY_FILES,
    "tokenizer_config_file": CONFIG_FILE,
    "special_tokens_map_file": "special_tokens_map.json",
    "added_tokens_file": "added_tokens.json",
    "chat_template_file": "chat_template.jinja",
}


def local_files(folder: Path) -> dict[str, str]:
    """Return the files of a folder that loading reads, by their keys in transformers."""
    paths = {key: folder / name for key, name in _KEYS.items()}
    templates = folder.glob("additional_chat_templates/*.jinja")
    paths |= {f"chat_template_{path.name.removesuffix('.jinja')}": path for path in templates}
    return {key: str(path) for key, path in paths.items() if path.is_file()}


def missing_vocabulary(name: str) -> str:
    """Return the message for a folder without a tokenizer, with advice for the files that it holds."""
    is_folder = Path(name).is_dir()
    files = sorted(path.name for path in Path(name).iterdir()) if is_folder else []
    ways = {
        ".gguf": "BPETokenizer.convert_from reads {file}",
        "encoder.json": "rename {file} to vocab.json, and vocab.bpe to merges.txt",
        ".model": "BPETokenizer.convert_from reads {file}, or says what does",
    }
    hints = [way.format(file=file) for ending, way in ways.items() for file in files if file.endswith(ending)]
    holds = f"; it holds {', '.join(files[:8]) or 'nothing'}{', …' if len(files) > 8 else ''}" if is_folder else ""
    return (
        f"{name} is not a folder to load: expected tokenizer.json, which alone is enough, or vocab.json and merges.txt"
        f"{holds}"
        f"{'. ' if hints else ''}{'; '.join(hints[:2])}"
    )


def check_config(path: Path) -> dict[str, Any]:
    """Return the content of a `tokenizer_config.json`, or raise an error if a known setting has the wrong type."""
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
    where, flags = f"{path}: added_tokens_decoder", (*FLAGS, "special")
    for token_id, token in config.get("added_tokens_decoder", {}).items():
        if not (token_id.isascii() and token_id.isdigit()):
            raise ValueError(f"{where}: expected ids, got {token_id!r:.80}")
        if not isinstance(token, dict) or not isinstance(token.get("content"), str):
            raise ValueError(f"{where}: token {token_id}: expected an object with a content, got {token!r:.80}")
        if {*map(type, map(token.get, flags, repeat(False)))} != {bool}:  # there may be thousands
            flag = next(flag for flag in flags if type(token.get(flag, False)) is not bool)
            raise ValueError(f"{where}: token {token_id}: {flag}: expected true or false, got {token[flag]!r:.80}")
    return config


def converted(value: object, convert: Callable[[Any], Any]) -> Any:
    """Return a JSON value with each part converted, or the parts of a part that converts to itself.

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
