"""Sidecars: JSON files for the features that a format cannot carry; `x.tiktoken` has `x.tiktoken.json`.

A sidecar holds a definition without vocabulary and merges. `pat_str` and `special_tokens` are the arguments of
`tiktoken.Encoding`, which has none for chains of stages; the rest is only for our readers.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe._utils.input_files import read_json_object
from hf_bpe.core._model import MODEL_OPTIONS
from hf_bpe.formats._definition import Definition, token_to_json
from hf_bpe.formats._settings import SETTINGS
from hf_bpe.pretokenizers._pattern import Pattern

WHOLE_TEXT = r"(?s:.+)"
"""The expression for no pre-tokenization, where a format needs an expression."""

SIDECAR_FEATURES = frozenset(
    {
        *("pattern", "special_tokens", "flags", "added_tokens", "prefix_space", "trim_offsets", "bos_eos", "template"),
        *("split_special_tokens", "normalizer", "ignore_merges", "missing_bytes", "unused_tokens", "names"),
        *("chat_template", "settings"),
    }
)
"""Names of the FEATURES that a sidecar can store."""

_KIND = "hf_bpe sidecar"
_TYPES: dict[str, tuple[type, ...]] = {
    "pattern": (str, type(None)),
    "special_tokens": (dict,),
    **{name: SETTINGS[name].json for name in MODEL_OPTIONS},
    "signature": (str,),
    "added_tokens": (dict,),
    "settings": (dict,),
}


class Sidecar(NamedTuple):
    """The content of a sidecar; `options` are the options of the model."""

    pattern: Pattern
    special_tokens: dict[str, int]
    options: dict[str, Any]
    signature: str
    added_tokens: dict[int, AddedToken]
    settings: dict[str, Any]

    def complete(self, definition: Definition) -> Definition:
        """Return a definition with the sidecar's settings.

        The reader has used pattern and special tokens, and knows by the file itself whether merges are ignored.
        """
        model = replace(definition.model, **{**self.options, "ignore_merges": definition.model.ignore_merges})
        return Definition(model.with_signature(self.signature), self.added_tokens, self.settings)


def sidecar_path(path: Path) -> Path:
    """Return the path of a file's sidecar."""
    return path.with_name(path.name + ".json")


def write_sidecar(definition: Definition, path: Path) -> None:
    """Write the sidecar of a file."""
    model = definition.model
    content = {
        "kind": _KIND,
        "pattern": model.pattern,
        "pat_str": None if model.pre_tokenizer.is_chain else model.pre_tokenizer.expression or WHOLE_TEXT,
        "special_tokens": model.special_ids(),
        **model.options,
        "signature": model.signature,
        "added_tokens": {token_id: token_to_json(token) for token_id, token in definition.added_tokens.items()},
        "settings": definition.json_settings,
    }
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    sidecar_path(path).write_text(text, encoding="utf-8", newline="\n")


def read_sidecar(path: Path) -> Sidecar | None:
    """Read the sidecar of a file, None if there is none."""
    file = sidecar_path(path)
    if not file.exists():
        return None
    content = read_json_object(file)
    if content.get("kind") != _KIND:
        raise ValueError(f'{file}: expected the sidecar of {path.name}, with "kind": "{_KIND}"')
    for name, types in _TYPES.items():
        if name not in content:
            raise ValueError(f"{file}: expected an entry {name!r}, got none")
        if type(content[name]) not in types:
            raise ValueError(f"{file}: {name}: expected {types[0].__name__}, got {content[name]!r:.80}")
    try:
        pattern = Pattern.read(content["pattern"])
        added = {int(i): AddedToken(**token) for i, token in content["added_tokens"].items()}
        if wrong := [token_id for token_id in content["special_tokens"].values() if type(token_id) is not int]:
            raise ValueError(f"special_tokens: expected ids, got {wrong[0]!r:.80}")
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise ValueError(f"{file}: {error!r:.200}" if type(error) is not ValueError else f"{file}: {error}") from None
    return Sidecar(
        pattern,
        content["special_tokens"],
        {name: content[name] for name in MODEL_OPTIONS},
        content["signature"],
        added,
        content["settings"],
    )
