"""Folders of tokenizers for `from_pretrained`: which files are used, and how other loaders interpret them.

A folder that BPETokenizer has saved for tokens of bytes names its pattern in `tokenizer_config.json` and is read from
`vocab.json` and `merges.txt`. Any other folder is read from its `tokenizer.json` with the result of
`PreTrainedTokenizerFast` of transformers: `tokenizer.json` decides how text is encoded, and the other files name and
add tokens.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from tokenizers import AddedToken
from transformers.tokenization_utils_base import PreTrainedTokenizerBase

from hf_bpe._utils.callers import warn_caller
from hf_bpe._utils.input_files import read_bounded
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._added_tokens import as_special
from hf_bpe.formats._added_vocabulary import AddedVocabulary
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._folder.config import DIGESTS, check_added_tokens, check_config, check_special_tokens_map
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._settings import NAMED_TOKENS, Owner, setting_names
from hf_bpe.formats._tokenizer_json import (
    added_tokens_of_json,
    definition_of_json,
    padding_and_truncation,
    parse_tokenizer_json,
    resolve_unk_token,
)
from hf_bpe.tokenizer._transformers_compat import INSISTS

_MODEL_SETTINGS = {*setting_names(Owner.MODEL)}.intersection(each.name for each in fields(BPEModel))
# What PreTrainedTokenizerFast ignores.
_OWN_SETTINGS = {*setting_names(Owner.MODEL, Owner.OURS, Owner.PYTHON)}
_KEPT_OF_CHARACTERS = {"errors", *setting_names(Owner.PYTHON)}
# These classes take add_prefix_space from `tokenizer.json`; other classes build their own pre-tokenizer.
_BY_TOKENIZER_JSON = (None, "PreTrainedTokenizerFast", "TokenizersBackend", "BPETokenizer")
_OLD_FILES = {"special_tokens_map_file": check_special_tokens_map, "added_tokens_file": check_added_tokens}
_STANDARD_NAMES = PreTrainedTokenizerBase.SPECIAL_TOKENS_ATTRIBUTES

HUB_ARGUMENTS = frozenset(
    (
        *("cache_dir", "code_revision", "force_download", "local_files_only", "proxies", "revision", "subfolder"),
        *("token", "trust_remote_code", "use_fast", "_commit_hash", "_from_auto"),
    )
)
"""Arguments of from_pretrained that say where the files are and who may run code."""

OWN_FILES = ("tokenizer.json", "vocab.json", "merges.txt")
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


def needs_conversion(folder: Path, options: Mapping[str, object]) -> bool:
    """Return whether a local folder only holds a vocabulary that `BPETokenizer.convert_from` reads."""
    if not folder.is_dir() or passes_vocabulary(options) or any((folder / name).is_file() for name in OWN_FILES):
        return False
    return any((folder / name).is_file() for name in OTHER_FILES) or any(folder.glob("*.tiktoken"))


def passes_vocabulary(options: Mapping[str, object]) -> bool:
    """Return whether the caller of from_pretrained passes the vocabulary."""
    return any(name in options for name in ("model", "vocab_file", "merges_file", "tokenizer_file", "gguf_file"))


@dataclass(frozen=True)
class Folder:
    """The files of a folder or repository.

    Args:
        name: the folder or repository.
        config: the content of `tokenizer_config.json`.
        overrides: names of the settings that the caller passes.
        tokenizer_json: the path of `tokenizer.json`, if the tokenizer is read from it.
        content: the content of `tokenizer.json`.
    """

    name: str
    config: Mapping[str, Any]
    overrides: frozenset[str]
    tokenizer_json: str = ""
    content: Mapping[str, Any] | None = None
    _pipelines: list[Pipeline] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def of(cls, name: str | os.PathLike[str], files: Mapping[str, str | None], overrides: Mapping[str, Any]) -> Folder:
        """Check the files of a folder or repository: transformers' key of each → its path, None if there is none.

        Raises:
            OSError: a file cannot be read.
            ValueError: a file is damaged, or the folder holds no readable tokenizer.
        """
        of_caller = {kind: overrides[kind] for kind in ("vocab_file", "merges_file") if overrides.get(kind)}
        paths = {kind: path for kind, path in files.items() if path is not None} | of_caller
        config = check_config(Path(paths["tokenizer_config_file"])) if "tokenizer_config_file" in paths else {}
        if config.get("init_inputs"):
            raise ValueError(
                f"{name}: tokenizer_config.json: init_inputs: expected none, got {config['init_inputs']!r}"
            )
        # Only then does transformers read its legacy files and the added tokens of tokenizer.json.
        is_old = "added_tokens_decoder" not in {*config, *overrides}
        for kind, check in _OLD_FILES.items():
            if is_old and kind in paths:
                check(Path(paths[kind]))
        folder = cls(str(name), config, frozenset(overrides))
        vocabulary = {kind: kind in paths for kind in ("vocab_file", "merges_file")}
        if "model" in overrides or (all(vocabulary.values()) and "pattern" in config):
            return folder
        # Other libraries that save such a folder again write neither.
        if any(vocabulary.values()) and "pattern" in config:
            missing = "merges.txt" if vocabulary["vocab_file"] else "vocab.json"
            raise ValueError(f"{name}: vocab.json and merges.txt of BPETokenizer belong together; {missing} is missing")
        if "tokenizer_file" in paths:
            path = paths["tokenizer_file"]
            content = parse_tokenizer_json(path, read_bounded(Path(path)))
            if is_old and not isinstance(content.get("added_tokens"), list):
                raise ValueError(f"{path}: added_tokens: expected a list, got {content.get('added_tokens')!r:.80}")
            return replace(folder, tokenizer_json=path, content=content)
        if not all(vocabulary.values()):
            raise ValueError(_missing(folder.name))
        return folder

    def listed_tokens(self, files: Mapping[str, str | None]) -> dict[str, Any]:
        """Return the argument in which transformers looks for added tokens before it parses `tokenizer.json` for them.

        Empty if it looks in other files, too, or if the tokens are malformed, which it reports.
        """
        is_old = "added_tokens_decoder" not in {*self.config, *self.overrides}
        if self.content is None or not is_old or any(map(files.get, _OLD_FILES)):
            return {}
        try:
            tokens = [dict(token) for token in self.content["added_tokens"]]
            return {"added_tokens_decoder": {token.pop("id"): AddedToken(**token) for token in tokens}}
        except (LookupError, TypeError, ValueError):
            return {}

    def settings(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for BPETokenizer.

        Args:
            kwargs: the settings that transformers found in the files, and those of the caller.

        Raises:
            ValueError: BPETokenizer cannot represent `tokenizer.json`, or the files contradict each other about ids or
                text.

        Warns:
            UserWarning: an added token has a different id in `tokenizer_config.json` or `added_tokens.json`.
        """
        if self.content is None:
            return {**kwargs}
        try:
            return self._settings_of_tokenizer_json(kwargs)
        except ValueError as error:
            raise ValueError(f"{self.tokenizer_json}: {error}") from None

    def _settings_of_tokenizer_json(self, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        assert self.content is not None
        ignored = _OWN_SETTINGS - self.overrides | {"vocab_file", "merges_file"}
        if DIGESTS in self.config and "pattern" not in self.config:  # BPETokenizer saved it, for characters
            ignored -= _KEPT_OF_CHARACTERS
        settings = padding_and_truncation(self.content)
        settings.pop("model_max_length", None)  # transformers does not read it from there
        settings |= {name: value for name, value in kwargs.items() if name not in ignored}
        if settings.get("clean_up_tokenization_spaces") and settings.get(INSISTS):
            raise ValueError(f"{INSISTS} is set in tokenizer_config.json; decoded text would differ")
        special = {name: settings.pop(name) for name in [*settings] if _is_special(name)}
        base = PreTrainedTokenizerBase(**special)  # it knows which settings name tokens
        named = {name: token if token is None else str(token) for name, token in base._special_tokens_map.items()}
        of_file = added_tokens_of_json(self.content)
        added = of_file.copy()
        listed = settings.pop("added_tokens_decoder", {})
        added.add(_tokens_that_transformers_adds(listed, base, added))
        self._warn_of_ids(listed, added)
        definition = definition_of_json({**self.content, "padding": None, "truncation": None}, added, of_file)
        named["unk_token"] = resolve_unk_token(definition, named["unk_token"])
        pipeline = Pipeline.of(definition)
        self._pipelines.append(pipeline)  # kept until the tokenizer is made, which shares its encoder
        self._check(definition, named)
        specific = {name: token for name, token in named.items() if name not in _STANDARD_NAMES}
        # transformers names tokens by the other files only.
        of_json = {name: value for name, value in definition.settings.items() if name not in NAMED_TOKENS}
        of_model = {name: settings.pop(name) for name in _MODEL_SETTINGS if name in settings}
        return {
            **of_json,
            **settings,
            **{name: named[name] for name in ("bos_token", "eos_token")},  # explicit None, or they would get defaults
            **{name: named[name] for name in _STANDARD_NAMES if named[name] is not None},
            **({"model_specific_special_tokens": specific} if specific else {}),
            "extra_special_tokens": [*map(str, base._extra_special_tokens)],
            "model": replace(pipeline.model, **of_model) if of_model else pipeline.model,
            "added_tokens_decoder": dict(definition.added_tokens),
        }

    def _check(self, definition: Definition, named: Mapping[str, str | None]) -> None:
        """Refuse settings that PreTrainedTokenizerFast and BPETokenizer interpret differently."""
        are_special = {token.content: token.special for token in definition.added_tokens.values()}
        for name, token in named.items():
            if token is not None and not are_special.get(token, True):
                raise ValueError(
                    f"{name} is {token!r:.80}, which is no special token there, and added_tokens_decoder of "
                    "tokenizer_config.json does not name it; make it special in one of the files"
                )
        is_there, asked = definition.setting("add_prefix_space", False), self.config.get("add_prefix_space")
        class_name = self.config.get("tokenizer_class")
        is_clear = class_name in _BY_TOKENIZER_JSON or asked is None or "add_prefix_space" in self.overrides
        if not is_clear and asked != is_there:
            raise ValueError(
                f"add_prefix_space is {is_there}, and {asked} in tokenizer_config.json, which {class_name} may go by; "
                "load it with add_prefix_space=True or False"
            )

    def _warn_of_ids(self, listed: Mapping[int, AddedToken], added: AddedVocabulary) -> None:
        moved = [
            f"{token.content!r:.80} {added.ids[token.content]} (not {token_id})"
            for token_id, token in listed.items()
            if added.ids.get(token.content, token_id) != token_id
        ]
        if moved:
            warn_caller(
                f"{self.name}: added tokens have other ids by tokenizer.json than by the other files: "
                f"{', '.join(moved[:8])}{', …' if len(moved) > 8 else ''}; as in PreTrainedTokenizerFast",
            )


def _is_special(name: str) -> bool:
    if name in ("extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens"):
        return True
    return name.endswith("_token") and name not in ("add_bos_token", "add_eos_token")


def _tokens_that_transformers_adds(
    listed: Mapping[int, AddedToken], base: PreTrainedTokenizerBase, added: AddedVocabulary
) -> list[AddedToken]:
    """Return the tokens that PreTrainedTokenizerFast adds to those of `tokenizer.json`, in the same order.

    The ids in the other files, whose tokens are `listed`, decide only the order; `base` has the named tokens.

    Source: `TokenizersBackend.__init__` of transformers 5.23.
    """
    tokens: list[str | AddedToken] = [token for _, token in sorted(listed.items())]
    contents = {*added.ids, *map(str, tokens)}
    named = [token for token in base._special_tokens_map.values() if token is not None]
    for token in (*named, *base._extra_special_tokens):
        if not isinstance(token, (str, AddedToken)):
            raise ValueError(f"extra_special_tokens: expected strings and added tokens, got {token!r:.80}")
        if str(token) not in contents:
            tokens.append(token)
    names = {*map(str, named)}
    result = [AddedToken(token, special=True) if isinstance(token, str) else token for token in tokens]
    return [as_special(token) if token.content in names else token for token in result]


def _missing(name: str) -> str:
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
