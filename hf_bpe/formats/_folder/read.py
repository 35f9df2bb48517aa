"""Folders of tokenizers for `from_pretrained`: which files are used, and how other loaders interpret them.

A folder that BPETokenizer has saved for tokens of bytes names its pattern in `tokenizer_config.json` and is read from
`vocab.json` and `merges.txt`. Any other folder is read from its `tokenizer.json` with the result of
`PreTrainedTokenizerFast` of transformers: `tokenizer.json` decides how text is encoded, and the other files name and
add tokens.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

from tokenizers import AddedToken

from hf_bpe._utils.input_files import read_bounded
from hf_bpe._utils.messages import warn_caller
from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._added_tokens.rules import as_special
from hf_bpe.formats._added_tokens import AddedVocabulary, NamedTokens, names_token
from hf_bpe.formats._construction import assemble, check_arguments
from hf_bpe.formats._definition import Definition
from hf_bpe.formats._files.tokenizer_json import (
    added_tokens_of_json,
    definition_of_json,
    padding_and_truncation,
    parse_tokenizer_json,
    resolve_unk_token,
)
from hf_bpe.formats._folder.consistency import check_complete, check_digests
from hf_bpe.formats._folder.files import CLEAN_UP_ANYWAY, DIGESTS, check_config, local_files, missing_vocabulary
from hf_bpe.formats._folder.settings import LegacyFiles, merge_settings
from hf_bpe.formats._pipeline import Pipeline
from hf_bpe.formats._settings import NAMED_TOKENS, Owner, SettingValues, setting_names
from hf_bpe.pretokenizers._pattern import Pattern

_MODEL_SETTINGS = {*setting_names(Owner.MODEL)}.intersection(each.name for each in fields(BPEModel))
# What PreTrainedTokenizerFast ignores.
_OWN_SETTINGS = {*setting_names(Owner.MODEL, Owner.OURS, Owner.PYTHON)}
_CHARACTER_SETTINGS = {"errors", *setting_names(Owner.PYTHON)}
# These classes take add_prefix_space from `tokenizer.json`; other classes build their own pre-tokenizer.
_BY_TOKENIZER_JSON = (None, "PreTrainedTokenizerFast", "TokenizersBackend", "BPETokenizer")


def read_folder(folder: str | os.PathLike[str], **arguments: object) -> Definition:
    """Return the definition in a folder, as `BPETokenizer.from_pretrained` loads it with overriding arguments."""
    read = Folder.local(folder, arguments)
    with read.errors():
        definition = assemble(check_arguments(read.arguments())).definition
    read.check_digests(definition.model)
    return definition


@dataclass
class Folder:
    """The files of a folder or repository."""

    name: str
    files: Mapping[str, str]  # transformers' key of a file → its path, without files that the caller passes
    config: SettingValues  # the content of `tokenizer_config.json`
    overrides: SettingValues  # the settings that the caller passes
    legacy: LegacyFiles | None  # the content of files that are read only if nothing else lists the added tokens
    content: SettingValues | None = None  # of `tokenizer.json`, if the tokenizer is read from it
    _pipeline: Pipeline | None = None  # kept until the tokenizer is made, which shares its encoder

    @classmethod
    def local(cls, folder: str | os.PathLike[str], overrides: SettingValues) -> Folder:
        """Check the files of a local folder, see `read`, and that no save into it was interrupted."""
        check_complete(Path(folder))
        return cls.read(str(folder), local_files(Path(folder)), overrides)

    @classmethod
    def read(cls, name: str, files: Mapping[str, str | None], overrides: SettingValues) -> Folder:
        """Check the files of a folder or repository: transformers' key of each → its path, None if there is none."""
        paths = {key: path for key, path in files.items() if path is not None}
        config = check_config(Path(paths["tokenizer_config_file"])) if "tokenizer_config_file" in paths else {}
        if config.get("init_inputs"):
            raise ValueError(
                f"{name}: tokenizer_config.json: init_inputs: expected none, got {config['init_inputs']!r}"
            )
        legacy = None if "added_tokens_decoder" in {*config, *overrides} else LegacyFiles.read(paths)
        folder = cls(name, paths, config, overrides, legacy)
        has_vocab, has_merges = (key in paths or bool(overrides.get(key)) for key in ("vocab_file", "merges_file"))
        if "model" in overrides or (has_vocab and has_merges and "pattern" in config):
            return folder
        # Other libraries that save such a folder again write neither.
        if (has_vocab or has_merges) and "pattern" in config:
            missing = "merges.txt" if has_vocab else "vocab.json"
            raise ValueError(f"{name}: vocab.json and merges.txt of BPETokenizer belong together; {missing} is missing")
        if "tokenizer_file" in paths:
            path = paths["tokenizer_file"]
            content = parse_tokenizer_json(path, read_bounded(Path(path)))
            if legacy is not None and not isinstance(content.get("added_tokens"), list):
                raise ValueError(f"{path}: added_tokens: expected a list, got {content.get('added_tokens')!r:.80}")
            return replace(folder, content=content)
        if not (has_vocab and has_merges):
            raise ValueError(missing_vocabulary(name))
        return folder

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn errors of loading into a ValueError if the files are damaged or mixed, and not the caller's settings."""
        try:
            yield
        except Exception as error:
            self.check_digests(None)  # mixed files of two tokenizers may fail anywhere
            # Errors for malformed files, except for settings of the caller, which they name.
            of_files = isinstance(error, (AttributeError, LookupError, RecursionError, TypeError))
            if not of_files or any(str(error).startswith(f"{setting} ") for setting in self.overrides):
                raise
            raise ValueError(f"{self.name}: its files are not those of a tokenizer: {error!r:.200}") from error

    def check_digests(self, model: BPEModel | None) -> None:
        """Raise an error if a file is of another save; see `consistency.check_digests`.

        Call it last, because a save may replace the files meanwhile.
        """
        files = {key: path for key, path in self.files.items() if self.overrides.get(key) is None}
        check_digests(self.config, files, model)

    def arguments(self) -> SettingValues:
        """Return the arguments for BPETokenizer: what the files say, overridden by what the caller passes."""
        settings = merge_settings(self.config, self.files, self.overrides, self.legacy, self.content)
        settings["name_or_path"] = self.name
        if "pattern" in settings and settings["pattern"] == self.config.get("pattern"):
            settings["pattern"] = Pattern.read(settings["pattern"])
        if self.content is None:
            return settings
        try:
            return self._arguments_of_tokenizer_json(settings)
        except ValueError as error:
            raise ValueError(f"{self.files['tokenizer_file']}: {error}") from None

    def _arguments_of_tokenizer_json(self, merged: SettingValues) -> SettingValues:
        assert self.content is not None
        ignored = _OWN_SETTINGS - self.overrides.keys() | {"vocab_file", "merges_file"}
        if DIGESTS in self.config and "pattern" not in self.config:  # BPETokenizer saved it, for characters
            ignored -= _CHARACTER_SETTINGS
        settings = padding_and_truncation(self.content)
        settings.pop("model_max_length", None)  # transformers does not read it from there
        settings |= {name: value for name, value in merged.items() if name not in ignored}
        if settings.get("clean_up_tokenization_spaces") and settings.get(CLEAN_UP_ANYWAY):
            raise ValueError(f"{CLEAN_UP_ANYWAY} is set in tokenizer_config.json; decoded text would differ")
        special = NamedTokens.from_settings({name: settings.pop(name) for name in [*settings] if names_token(name)})
        named: dict[str, str | None] = {**dict.fromkeys(NAMED_TOKENS), **special.contents}
        of_file = added_tokens_of_json(self.content)
        added = of_file.copy()
        listed = settings.pop("added_tokens_decoder", {})
        added.add(_tokens_that_transformers_adds(listed, special, added))
        self._warn_of_ids(listed, added)
        definition = definition_of_json({**self.content, "padding": None, "truncation": None}, added, of_file)
        named["unk_token"] = resolve_unk_token(definition, named["unk_token"])
        pipeline = self._pipeline = Pipeline.from_definition(definition)
        self._check(definition, named)
        specific = {name: token for name, token in named.items() if name not in NAMED_TOKENS}
        # transformers names tokens by the other files only.
        of_json = {name: value for name, value in definition.settings.items() if name not in NAMED_TOKENS}
        model_settings = {name: settings.pop(name) for name in _MODEL_SETTINGS if name in settings}
        return {
            **of_json,
            **settings,
            **{name: named[name] for name in ("bos_token", "eos_token")},  # explicit None, or they would get defaults
            **{name: named[name] for name in NAMED_TOKENS if named[name] is not None},
            **({"model_specific_special_tokens": specific} if specific else {}),
            "extra_special_tokens": [*map(str, special.extra)],
            "model": replace(pipeline.model, **model_settings) if model_settings else pipeline.model,
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


def _tokens_that_transformers_adds(
    listed: Mapping[int, AddedToken], special: NamedTokens, added: AddedVocabulary
) -> list[AddedToken]:
    """Return the tokens that PreTrainedTokenizerFast adds to the tokens of `tokenizer.json`, in its order.

    The ids in the other files, whose tokens are `listed`, decide only the order.

    Source: `TokenizersBackend.__init__` of transformers 5.23.
    """
    tokens: list[str | AddedToken] = [token for _, token in sorted(listed.items())]
    present = {*added.ids, *map(str, tokens)}
    for token in (*special.names.values(), *special.extra):
        if not isinstance(token, (str, AddedToken)):
            raise ValueError(f"extra_special_tokens: expected strings and added tokens, got {token!r:.80}")
        if str(token) not in present:
            tokens.append(token)
    names = {*map(str, special.names.values())}
    result = [AddedToken(token, special=True) if isinstance(token, str) else token for token in tokens]
    return [as_special(token) if token.content in names else token for token in result]
