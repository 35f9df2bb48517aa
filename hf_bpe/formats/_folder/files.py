"""The files of a folder: which of them are read, and what those besides the vocabulary say, checked.

Source: `PreTrainedTokenizerBase._from_pretrained` of transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe._utils.input_files import read_json
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import FLAGS
from hf_bpe.formats._files.json_reading import check_ids, read_json_object
from hf_bpe.formats._files.tokenizer_json import TOKENIZER_JSON_FEATURES
from hf_bpe.formats._settings import NAMED_TOKENS, SETTINGS, SettingValues

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
INSISTS = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output"
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

_TEMPLATE_KEY = "chat_template_"


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
    for token_id, token in config.get("added_tokens_decoder", {}).items():
        where = f"{path}: added_tokens_decoder"
        if not (token_id.isascii() and token_id.isdigit()):
            raise ValueError(f"{where}: expected ids, got {token_id!r:.80}")
        if not isinstance(token, dict) or not isinstance(token.get("content"), str):
            raise ValueError(f"{where}: token {token_id}: expected an object with a content, got {token!r:.80}")
        for flag in (*FLAGS, "special"):
            if not isinstance(token.get(flag, False), bool):
                raise ValueError(f"{where}: token {token_id}: {flag}: expected true or false, got {token[flag]!r:.80}")
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


class LegacyFiles(NamedTuple):
    """The content of the files that are only read if nothing lists the added tokens."""

    special_tokens_map: SettingValues
    added_tokens: Mapping[str, int]

    @classmethod
    def read(cls, files: Mapping[str, str]) -> LegacyFiles:
        """Read the files; raise an OSError or a ValueError if one is damaged."""
        names_file, added_file = (files.get(key) for key in ("special_tokens_map_file", "added_tokens_file"))
        names, added = (read_json_object(Path(file)) if file else {} for file in (names_file, added_file))
        for name, value in names.items():
            for token in value if isinstance(value, list) else [value]:
                if token is not None and content_of_token(token) is None:
                    expected = "expected a string or an object with a content"
                    raise ValueError(f"{names_file}: {name}: {expected}, got {token!r:.80}")
        check_ids(added, f"{added_file}")
        return cls(names, added)


def merge_settings(
    config: SettingValues,
    files: Mapping[str, str],
    overrides: SettingValues,
    legacy: LegacyFiles | None,
    content: SettingValues | None,
) -> dict[str, Any]:
    """Return the arguments of a tokenizer's constructor, made of the fields of a `Folder`.

    Tokens that have flags are of the type `AddedToken`.
    """
    settings = {name: value for name, value in config.items() if name not in ("tokenizer_class", "init_inputs")}
    if "tokenizer_file" in files:
        settings = {name: value for name, value in settings.items() if name not in ("add_bos_token", "add_eos_token")}
    settings |= {**_chat_template(files), **overrides}
    if "additional_special_tokens" in settings and not settings.get("extra_special_tokens"):
        settings["extra_special_tokens"] = settings.pop("additional_special_tokens")
    unnamed = [name for name in settings if name.endswith("_token") and name not in NAMED_TOKENS]
    specific = {name: settings.pop(name) for name in unnamed if isinstance(settings[name], str | AddedToken)}
    if isinstance(settings.get("extra_special_tokens"), dict):
        specific |= settings.pop("extra_special_tokens")
    if specific:
        settings["model_specific_special_tokens"] = specific
    # Those of the configuration may be anywhere.
    settings |= {key: files.get(key) for key in VOCABULARY_FILES if overrides.get(key) is None}
    if legacy is None:
        tokens = [(int(token_id), _added_token(token)) for token_id, token in settings["added_tokens_decoder"].items()]
    else:
        _merge_special_tokens_map(settings, legacy.special_tokens_map, overrides)
        tokens = _legacy_tokens(settings, legacy.added_tokens) if legacy.added_tokens else []
        if content is None and "tokenizer_file" in files:
            content = read_json_object(Path(files["tokenizer_file"]))
        for entry in () if content is None else content["added_tokens"]:
            tokens.append((entry["id"], AddedToken(**{name: entry[name] for name in entry if name != "id"})))
    settings["added_tokens_decoder"] = dict(tokens)
    settings = {name: converted(value, _parsed_token) for name, value in settings.items() if name != DIGESTS}
    by_content = {token.content: token for _, token in tokens}
    named = {name: settings[name] for name in NAMED_TOKENS if settings.get(name) is not None}
    return settings | {name: by_content.get(str(token), token) for name, token in named.items()}


def _chat_template(files: Mapping[str, str]) -> SettingValues:
    """Return the setting of the files with chat templates, which override that of the configuration."""
    keys = [key for key in files if key.startswith(_TEMPLATE_KEY)]
    keys.sort(key="chat_template_file".__ne__)  # the default first
    names = ["default" if key == "chat_template_file" else key.removeprefix(_TEMPLATE_KEY) for key in keys]
    texts = {name: Path(files[key]).read_text(encoding="utf-8") for name, key in zip(names, keys, strict=True)}
    return {"chat_template": texts["default"] if [*texts] == ["default"] else texts} if texts else {}


def _added_token(token: object) -> AddedToken:
    token = AddedToken(**token) if isinstance(token, dict) else token
    if not isinstance(token, AddedToken):
        raise TypeError(
            f"Found a {token.__class__} in the saved `added_tokens_decoder`, should be a dictionary or an AddedToken "
            "instance"
        )
    return token


def _merge_special_tokens_map(settings: dict[str, Any], names: SettingValues, overrides: SettingValues) -> None:
    for name, value in names.items():
        if overrides.get(name):
            continue
        if name == "extra_special_tokens" and isinstance(value, list):
            tokens = [AddedToken(**token, special=True) if isinstance(token, dict) else token for token in value]
            before = settings.get(name) or []
            value = [*before, *(token for i, token in enumerate(tokens) if token not in [*before, *tokens[:i]])]
        elif name != "extra_special_tokens" and isinstance(value, dict):
            value = AddedToken(**{**value, "special": True})
        settings[name] = value
    if isinstance(settings.get("extra_special_tokens"), dict):
        settings.setdefault("model_specific_special_tokens", {}).update(settings.pop("extra_special_tokens"))


def _legacy_tokens(settings: SettingValues, ids: Mapping[str, int]) -> list[tuple[int, AddedToken]]:
    special = {str(settings[name]) for name in NAMED_TOKENS if settings.get(name)}
    special.update(map(str, settings.get("extra_special_tokens") or []))
    return [
        (token_id, AddedToken(content, normalized=content not in special, special=content in special))
        for content, token_id in ids.items()
    ]


def _parsed_token(value: object) -> object:
    if isinstance(value, dict) and value.get("__type") == "AddedToken":
        return AddedToken(**{name: value[name] for name in value if name != "__type"})
    return value
