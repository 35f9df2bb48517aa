"""Merge the settings of a folder's files, as `PreTrainedTokenizerBase._from_pretrained` of transformers 5.24 does."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe._utils.input_files import read_json_object
from hf_bpe.core._checks import check_vocab_ids
from hf_bpe.formats._folder.files import DIGESTS, VOCABULARY_FILES, content_of_token, converted
from hf_bpe.formats._settings import NAMED_TOKENS, SettingValues

_TEMPLATE_KEY = "chat_template_"


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
        check_vocab_ids(added, f"{added_file}")
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
    """Return the chat template of the files for it, which override the configuration."""
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
