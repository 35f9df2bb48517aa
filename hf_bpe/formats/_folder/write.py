"""Writing of folders for transformers, which give the same ids in every loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from hf_bpe.formats._construction import NO_LIMIT, PERSISTENT, assemble, check_arguments, constructor_arguments
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files.tokenizer_json_writing import render_tokenizer_json
from hf_bpe.formats._files.vocab_and_merges import write_gpt2
from hf_bpe.formats._folder.consistency import compute_digests
from hf_bpe.formats._folder.files import CONFIG_FILE, DIGESTS, TOKENIZER_FILE, converted
from hf_bpe.formats._settings import SETTINGS, Owner, SettingValues, setting_names
from hf_bpe.formats._template import Template

# In the other files, of this loading, or found anew where the folder is loaded.
_NOT_SAVED = {
    *("model", "vocab_file", "merges_file", "tokenizer_file", "special_tokens_map_file", "name_or_path"),
    *("add_bos_token", "add_eos_token", "files_loaded", "device_map", "slow_tokenizer_class"),
}


def write_folder(definition: Definition, folder: Path) -> None:
    """Write a definition as `BPETokenizer.save_pretrained` does, in an empty folder, without verification."""
    parts = assemble(check_arguments(constructor_arguments(definition)))
    model, definition = parts.model, parts.definition
    if model.alphabet.is_bytes:
        write_gpt2(model, folder)
    settings = {
        **{name: SETTINGS[name].default for name in PERSISTENT},
        **parts.settings,
        **{name: getattr(model, name) for name in ("pattern", "normalizer", "ignore_merges", "drop_missing_bytes")},
        **parts.own,
        **{"model_special_tokens": [*model.special_tokens], "template": parts.template},
        **parts.special.contents,
        **{"extra_special_tokens": [*map(str, parts.special.extra)], "tokenizer_class": "BPETokenizer"},
    }
    settings["model_max_length"] = definition.setting("model_max_length", NO_LIMIT)
    write_other_files(definition, folder, settings, len(parts.vocab))


def write_other_files(
    definition: Definition,
    folder: Path,
    settings: SettingValues,
    vocab_size: int,
    *,
    save_jinja_files: bool = True,
) -> None:
    """Write what a folder holds besides `vocab.json` and `merges.txt`, which it holds already.

    The settings are those of `tokenizer_config.json` besides the added tokens; `vocab_size` counts placeholders, too.
    `save_jinja_files` writes chat templates as files rather than there.
    """
    added, model = definition.added_tokens, definition.model
    if later := {token.content: token_id for token_id, token in added.items() if token_id >= vocab_size}:
        _write_json(folder / "added_tokens.json", later)
    (folder / TOKENIZER_FILE).write_bytes(render_tokenizer_json(definition))
    config = {name: converted(value, _to_json) for name, value in settings.items() if name not in _NOT_SAVED}
    config |= _write_chat_templates(folder, config.pop("chat_template", None), save_jinja_files)
    config["added_tokens_decoder"] = {str(token_id): token.__getstate__() for token_id, token in added.items()}
    if not model.alphabet.is_bytes:  # the folder is read from tokenizer.json, which says the same
        for name in {*setting_names(Owner.MODEL, Owner.OURS)} - {"errors"}:
            config.pop(name, None)
    config |= {"signature": model.signature, DIGESTS: compute_digests(folder)}
    _write_json(folder / CONFIG_FILE, config)


def _write_chat_templates(folder: Path, templates: Any, save_jinja_files: bool) -> SettingValues:
    """Write chat templates, one or several by name; return what `tokenizer_config.json` says of them."""
    if templates is None:
        return {}
    if not save_jinja_files:
        several = isinstance(templates, dict)
        texts = [{"name": name, "template": text} for name, text in templates.items()] if several else templates
        return {"chat_template": texts}
    for name, text in (templates if isinstance(templates, dict) else {"default": templates}).items():
        path = folder / "chat_template.jinja"
        if name != "default":
            path = folder / "additional_chat_templates" / f"{name}.jinja"
            if path.name != f"{name}.jinja":
                raise ValueError(f"Invalid chat template name: {name!r}")
            path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return {}


def _to_json(value: object) -> object:
    if isinstance(value, AddedToken):
        return {**value.__getstate__(), "__type": "AddedToken"}
    return value.to_json() if isinstance(value, Template) else value


def _write_json(path: Path, content: SettingValues) -> None:
    text = json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")
