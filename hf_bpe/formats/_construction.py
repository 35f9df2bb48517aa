"""The parts of a tokenizer, made of the arguments of BPETokenizer's constructor."""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from operator import itemgetter
from pathlib import Path
from typing import Any

from tokenizers import AddedToken

from hf_bpe._utils.arguments import Check, check_path, optional
from hf_bpe.core._arrays import WrittenVocab
from hf_bpe.core._model import BPEModel, check_model
from hf_bpe.encoding._added_tokens.rules import as_special, check_added_ids, special_tokens_in
from hf_bpe.formats._added_tokens import AddedTokens, NamedTokens
from hf_bpe.formats._definition import END_OF_TEXT, Definition
from hf_bpe.formats._files.tokenizer_json_writing import check_prefix_space, placeholders
from hf_bpe.formats._files.vocab_and_merges import read_gpt2_with_unused
from hf_bpe.formats._settings import CHECKS, NAMED_TOKENS, SETTINGS, Owner, SettingValues, is_default, setting_names
from hf_bpe.formats._template import BOS_EOS_OF_PATTERN, Template, as_template, check_tokens
from hf_bpe.normalizers._normalizer import Normalizer
from hf_bpe.pretokenizers._pattern import Pattern

PERSISTENT = tuple(name for name, setting in SETTINGS.items() if setting.is_saved)
"""Settings that are attributes of a tokenizer, and that `save_pretrained` takes from `init_kwargs`."""

NO_LIMIT = int(1e30)  # what transformers writes for no model_max_length
BOS_EOS_FLAGS = ("add_bos_token", "add_eos_token")
CONSTRUCTOR: dict[str, Check] = {
    "vocab_file": optional(check_path),
    "merges_file": optional(check_path),
    "model": optional(check_model),
    **CHECKS,
}
"""Checks of the arguments of `BPETokenizer`."""

# The model, where it was loaded from, and what the model or the template say.
_NOT_IN_DEFINITION = {name for name, setting in SETTINGS.items() if not setting.is_in_definition}
_NOT_IN_DEFINITION |= {"model", "tokenizer_file", "init_inputs", "is_local", "local_files_only", "backend"}
# What BPETokenizer assumes of a model where its settings are not given.
_DEFAULTS = {field.name: field.default for field in fields(BPEModel) if field.name in setting_names(Owner.MODEL)}


@dataclass(frozen=True)
class Parts:
    """What a tokenizer consists of."""

    model: BPEModel
    vocab: WrittenVocab  # of printable tokens of the model, with placeholders for ids that have no token
    added: AddedTokens
    special: NamedTokens
    template: Template | None
    own: SettingValues  # of BPETokenizer alone, without the template
    settings: SettingValues  # the arguments for transformers

    @property
    def definition(self) -> Definition:
        """The definition of the tokenizer."""
        settings = {"token_type_ids_pattern": "all_zeros", **self.settings, **self.own, "template": self.template}
        if isinstance(templates := settings.get("chat_template"), (list, tuple)):
            settings["chat_template"] = {each["name"]: each["template"] for each in templates}
        if "extra_special_tokens" not in settings:
            settings.pop("additional_special_tokens", None)
        extra, tokens = [*map(str, self.special.extra)], self.added.tokens
        limit = settings.get("model_max_length", settings.get("max_len"))
        return Definition(self.model, tokens, changed_settings(settings, self.special.contents, extra, tokens, limit))


def check_arguments(arguments: SettingValues) -> SettingValues:
    """Return the arguments of `BPETokenizer` as their checks return them."""
    return {name: CONSTRUCTOR[name](name, value) if name in CONSTRUCTOR else value for name, value in arguments.items()}


def assemble(arguments: SettingValues) -> Parts:
    """Return the parts of the tokenizer that `BPETokenizer` makes of its arguments, which are checked."""
    settings = {**arguments}
    model, *files = (settings.pop(name, None) for name in ("model", "vocab_file", "merges_file"))
    model_settings = {name: settings.pop(name, _DEFAULTS.get(name)) for name in setting_names(Owner.MODEL)}
    model_settings["pattern"] = Pattern.parse(model_settings["pattern"])
    model_settings["normalizer"] = Normalizer.parse(model_settings["normalizer"]).canonical
    listed = settings.pop("added_tokens_decoder", {})
    model, unused = find_model(model, files, model_settings, listed.values(), settings.get("tokenizer_file"))
    own = {name: settings.pop(name, SETTINGS[name].default) for name in setting_names(Owner.OURS)}
    template, adds_bos, adds_eos = own.pop("template"), *(settings.pop(name, None) for name in BOS_EOS_FLAGS)
    check_prefix_space(model.pre_tokenizer, own["add_prefix_space"])
    own["unused_tokens"] = unused | dict(own["unused_tokens"] or {})
    contents = {token_id: str(token) for token_id, token in listed.items()}
    vocab = make_vocabulary(model, own["unused_tokens"], contents)
    if END_OF_TEXT in model.special_tokens:
        settings.setdefault("bos_token", END_OF_TEXT)
        settings.setdefault("eos_token", END_OF_TEXT)
    special = NamedTokens.from_settings(settings)
    added = _all_added_tokens(model, vocab, AddedTokens.from_tokens(dict(listed), vocab), special, settings)
    special = special._replace(extra=[*special.extra, *added.newly_special])
    names, template = special.contents, as_template(template)
    if (pattern := settings.pop("special_tokens_pattern", None)) is not None:
        if pattern not in BOS_EOS_OF_PATTERN:
            raise ValueError(f"special_tokens_pattern: expected one of {[*BOS_EOS_OF_PATTERN]}, got {pattern!r}")
        template = Template.of_names(names, *BOS_EOS_OF_PATTERN[pattern])
    if adds_bos is not None or adds_eos is not None:  # as fast tokenizers take one without the other
        template = Template.of_names(names, adds_bos or False, adds_eos or False)
    check_tokens(template, ChainMap(added.ids, vocab.find(template.tokens if template else [])))
    return Parts(model, vocab, added, special, template, own, settings)


def _all_added_tokens(
    model: BPEModel, vocab: WrittenVocab, listed: AddedTokens, special: NamedTokens, settings: SettingValues
) -> AddedTokens:
    """Return the added tokens in the arguments with special tokens that these do not list, by transformers' rules."""
    contents = {*special.all}
    vocab.find(contents)
    missing = [content for content in special.all if content not in listed.ids]
    added = listed.with_tokens(missing, True, contents, vocab)
    named = [token for token in special_tokens_in(settings) if isinstance(token, AddedToken)]
    flags = {added.ids[token.content]: as_special(token) for token in named}
    added = AddedTokens.from_tokens({**added.tokens, **flags}, vocab)
    # If the unnamed special tokens are given, added tokens need no other mark.
    marked = {*contents, *(added.ids if "extra_special_tokens" in settings else ())}
    unmarked = [each for each in model.special_tokens if each not in marked]
    return added.with_tokens(unmarked, True, contents, vocab)


def changed_settings(
    settings: SettingValues,
    names: Mapping[str, str],
    extra: Sequence[str],
    added_tokens: Mapping[int, AddedToken],
    model_max_length: float | None,
) -> dict[str, Any]:
    """Return the settings of a tokenizer that are not the default."""
    limit = model_max_length if model_max_length is not None and model_max_length < 10**20 else None
    renamed = {"model_specific_special_tokens", *NamedTokens.from_settings(settings).names}  # may have changed
    settings = {name: value for name, value in settings.items() if name not in renamed}
    settings |= {**dict.fromkeys(NAMED_TOKENS), **names, "model_max_length": limit}
    is_implied = {*extra} == {*special_without_name(added_tokens, settings)}
    settings["extra_special_tokens"] = None if is_implied else [*extra]
    return {
        name: value
        for name, value in settings.items()
        if name not in _NOT_IN_DEFINITION and not is_default(name, value)
    }


def with_named_tokens(definition: Definition) -> Definition:
    """Return a definition in which every named token is an added token, as loading its folder makes it."""
    if {*NamedTokens.from_settings(definition.settings).all}.issubset(map(str, definition.added_tokens.values())):
        return definition
    return assemble(check_arguments(constructor_arguments(definition))).definition


def special_without_name(tokens: Mapping[int, AddedToken], settings: SettingValues) -> list[str]:
    """Return the contents of the special tokens that no setting names."""
    named = {*map(str, map(settings.get, NAMED_TOKENS))}
    return [token.content for token in tokens.values() if token.special and token.content not in named]


def constructor_arguments(
    definition: Definition, model: BPEModel | None = None, overrides: SettingValues | None = None
) -> dict[str, Any]:
    """Return the arguments of `BPETokenizer` for a definition, with overrides; `model` is one that runs."""
    tokens = {**definition.added_tokens, **(overrides or {}).get("added_tokens_decoder", {})}
    settings = {**definition.settings, **(overrides or {})}
    settings.setdefault("extra_special_tokens", special_without_name(tokens, settings))
    return {**settings, "model": model or definition.model, "added_tokens_decoder": tokens}


def find_model(
    model: BPEModel | None,
    files: Sequence[str | os.PathLike[str] | None],
    settings: SettingValues,
    added_tokens: Iterable[AddedToken],
    tokenizer_file: str | os.PathLike[str] | None = None,
) -> tuple[BPEModel, dict[str, int]]:
    """Return the model that `BPETokenizer` is given or reads from its files, and tokens that no text is encoded to.

    Settings are those of the model, canonical, by name. Unless they name special tokens, those of a file are the added
    tokens that are special. `tokenizer_file` is what classes of transformers take instead, for the message.
    """
    vocab_file, merges_file = files
    arguments = dict(settings)
    signature = arguments.pop("signature")
    if model is not None:
        specials = arguments["model_special_tokens"]
        arguments["pattern"] = arguments["pattern"].canonical
        if (
            any(file is not None for file in files)
            or any(arguments[name] not in (default, getattr(model, name)) for name, default in _DEFAULTS.items())
            or (specials is not None and {*specials} != {*model.special_tokens})
        ):
            got = ", ".join(f"{name}={value!r:.80}" for name, value in arguments.items())
            raise ValueError(
                "BPETokenizer takes either a model, or files and their settings; got "
                f"{model}, {vocab_file=}, {merges_file=}, {got}"
            )
        return model.with_signature(signature), {}
    if vocab_file is not None and merges_file is None:
        raise ValueError(
            "BPETokenizer takes vocab_file, a vocab.json, and merges_file; got only "
            f"{os.fspath(vocab_file)!r}: write {loading_call(vocab_file)}"
        )
    if vocab_file is None and tokenizer_file is not None:
        raise ValueError(
            "BPETokenizer takes a model, or vocab_file and merges_file; got only "
            f"tokenizer_file={os.fspath(tokenizer_file)!r}: write {loading_call(tokenizer_file)}"
        )
    if vocab_file is None or merges_file is None:
        raise ValueError(
            f"BPETokenizer needs a model, or vocab_file and merges_file; got {vocab_file=}, {merges_file=}"
        )
    specials = arguments.pop("model_special_tokens")
    if specials is None:
        specials = [token.content for token in added_tokens if token.special] or None
    pattern = arguments.pop("pattern")
    model, unused = read_gpt2_with_unused(
        vocab_file, merges_file, special_tokens=specials, pattern=pattern, leave_out_ordinary=True
    )
    return model.with_checked(**arguments).with_signature(signature), unused


def loading_call(path: str | os.PathLike[str]) -> str:
    """Return the call that loads a folder, a name of the Hub, or a file."""
    file = Path(path)
    if file.is_dir() or not file.suffix or not (file.is_file() or file.suffix == ".json"):
        return f"BPETokenizer.from_pretrained({os.fspath(path)!r})"
    if file.suffix == ".json":  # of a folder that has the settings, too
        return f"BPETokenizer.from_pretrained({str(file.parent)!r})"
    return f"BPETokenizer.convert_from({os.fspath(path)!r})"


def make_vocabulary(model: BPEModel, unused: Mapping[str, int], added: Mapping[int, str]) -> WrittenVocab:
    """Return printable token → id for all ids of a tokenizer, without gaps.

    Given are the model, tokens to which no text is encoded, and id → content of added tokens.
    """
    vocab = WrittenVocab(model.token_arrays, not model.alphabet.is_bytes, model.special_ids())
    if unused:
        entries = vocab.entries
        taken = {token_id: token for token, token_id in entries.items()}
        for token, token_id in unused.items():
            if token in entries or token_id in taken:
                other = f"{taken.get(token_id, token)!r} {entries.get(token, token_id)}"
                raise ValueError(f"unused_tokens: {token!r:.80} {token_id}: the vocabulary has {other}")
        vocab = WrittenVocab(more=dict(sorted({**entries, **unused}.items(), key=itemgetter(1))))
    check_added_ids(added, vocab)
    # transformers uses the number of entries as the id of a new token and as the size of models, so with a gap in the
    # ids both would be wrong. An added token may have the id of a hole, as files of others have them.
    later = placeholders(vocab, added)
    return replace(vocab, more=vocab.more | later) if later else vocab
