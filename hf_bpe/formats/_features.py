"""Features of tokenizers that a format may be unable to carry."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe._utils.messages import warn_caller
from hf_bpe.core._model import BPEModel
from hf_bpe.formats._definition import FLAGS, Definition
from hf_bpe.formats._settings import SETTINGS, Owner


class Feature(NamedTuple):
    """A feature of tokenizers that a format may be unable to carry.

    No format carries a feature that its `carries` or `sidecar` does not name.

    Attributes:
        is_used: returns whether a tokenizer has the feature.
        what: the feature in words, for a message.
        loss: the consequence for readers of a file without the feature.
        decides_ids: whether ids or decoded text depend on the feature.
        without: returns the tokenizer without the feature.
    """

    is_used: Callable[[Definition], bool]
    what: str
    loss: str
    decides_ids: bool
    without: Callable[[Definition], Definition]


def _settings_feature(name: str, what: str, loss: str, decides_ids: bool) -> Feature:
    """Return a feature that consists of the settings whose row in SETTINGS names it."""

    def own_settings() -> list[str]:
        return [setting for setting, row in SETTINGS.items() if row.feature == name]

    def is_used(definition: Definition) -> bool:
        return any(
            getattr(definition.model, each) if SETTINGS[each].owner is Owner.MODEL else definition.setting(each)
            for each in own_settings()
        )

    def without(definition: Definition) -> Definition:
        own = own_settings()
        if defaults := {each: getattr(BPEModel, each) for each in own if SETTINGS[each].owner is Owner.MODEL}:
            definition = replace(definition, model=replace(definition.model, **defaults))
        return _without_settings(definition, own)

    return Feature(is_used, what, loss, decides_ids, without)


def _without_settings(definition: Definition, names: Collection[str]) -> Definition:
    settings = {name: value for name, value in definition.settings.items() if name not in names}
    return replace(definition, settings=settings)


_without_template = partial(_without_settings, names=["template"])


def _refuse_to_drop_characters(definition: Definition) -> Definition:
    raise ValueError("drop: the alphabet of characters cannot be dropped, as tokens of bytes have no equivalent")


def _without_flags(definition: Definition) -> Definition:
    tokens = definition.added_tokens.items()
    plain = {i: AddedToken(token.content, normalized=False, special=token.special) for i, token in tokens}
    return replace(definition, added_tokens=plain)


def _without_special_tokens(definition: Definition) -> Definition:
    specials = {token.encode() for token in definition.model.special_tokens}
    vocab = {token_id: token for token_id, token in definition.model.vocab.items() if token not in specials}
    return replace(definition, model=replace(definition.model, vocab=vocab, special_tokens=()), added_tokens={})


def _mere_names(definition: Definition) -> list[str]:
    """Return the names of tokens, such as `bos_token`, that decide no ids."""
    adds_bos, adds_eos = definition.bos_eos or (False, False)
    uses = {"bos_token": adds_bos, "eos_token": adds_eos, "unk_token": definition.model.refuses_bytes}
    return [name for name in definition.names if not uses.get(name)]


def _other_settings(definition: Definition) -> dict[str, Any]:
    """Return the settings that are no feature of their own."""
    own = {name for name, setting in SETTINGS.items() if setting.feature != "settings"}
    return {name: value for name, value in definition.settings.items() if name not in own}


# A feature that consists of settings is what they are in words, the loss, and whether they decide ids.
_ROWS: dict[str, Feature | tuple[str, str, bool]] = {
    "pattern": Feature(
        lambda definition: True,
        "the split pattern",
        "readers would split text by another pattern and get other ids",
        True,
        lambda definition: definition,  # `Format.reduce` knows which pattern readers use instead
    ),
    "characters": Feature(
        lambda definition: not definition.model.alphabet.is_bytes,
        "an alphabet of characters, in the manner of SentencePiece",
        "readers would take the tokens for tokens of bytes and get other ids",
        True,
        _refuse_to_drop_characters,
    ),
    "special_tokens": Feature(
        lambda definition: bool(definition.model.special_tokens),
        "special tokens",
        "readers would not find them in text",
        True,
        _without_special_tokens,
    ),
    "flags": Feature(
        lambda definition: any(getattr(token, flag) for token in definition.tokens_of_model.values() for flag in FLAGS),
        "flags of special tokens (lstrip, rstrip, single_word, normalized)",
        "readers would find these tokens elsewhere, or not strip their white space",
        True,
        _without_flags,
    ),
    "added_tokens": Feature(
        lambda definition: (
            bool(definition.tokens_added_later) or not all(token.special for token in definition.added_tokens.values())
        ),
        "tokens that were added to the model",
        "readers would split them like other text",
        True,
        lambda definition: replace(
            definition,
            added_tokens={i: token for i, token in definition.tokens_of_model.items() if token.special},
        ),
    ),
    "prefix_space": ("add_prefix_space", "readers would give the first word of a text different ids", True),
    "trim_offsets": ("trim_offsets", "readers would include white space in the offsets of tokens", False),
    "bos_eos": Feature(
        lambda definition: any(definition.bos_eos or ()),
        "add_bos_token and add_eos_token",
        "readers would leave out the tokens that begin and end a sequence",
        True,
        _without_template,
    ),
    "template": Feature(
        lambda definition: definition.bos_eos is None,
        "the template, which adds other tokens to sequences than bos_token before and eos_token after each",
        "readers would leave these tokens out, or add others",
        True,
        _without_template,
    ),
    "split_special_tokens": ("split_special_tokens", "readers would find special tokens in text", True),
    "normalizer": (
        "the normalizer",
        "readers would not normalize text and would get other ids for text that is not normalized",
        True,
    ),
    "ignore_merges": ("ignore_merges", "readers would split words that are tokens which no merges make", True),
    "missing_bytes": (
        "bytes that are dropped because they have no token",
        "readers would refuse text with such bytes, or put another token in their place",
        True,
    ),
    "decoding": ("the decoder", "readers would decode ids to other text", False),
    "unused_tokens": ("tokens that no text is encoded to", "readers would decode their ids differently", False),
    "names": Feature(
        lambda definition: bool(_mere_names(definition)),
        "which token is bos_token, eos_token, pad_token, …",
        "readers have to set them",
        False,
        lambda definition: _without_settings(definition, _mere_names(definition)),
    ),
    "chat_template": ("the chat template", "readers have to set it", False),
    "settings": Feature(
        lambda definition: bool(_other_settings(definition)),
        "settings of BPETokenizer (padding_side, model_max_length, errors, …)",
        "readers have to set them",
        False,
        lambda definition: _without_settings(definition, _other_settings(definition)),
    ),
}
FEATURES: dict[str, Feature] = {
    name: row if isinstance(row, Feature) else _settings_feature(name, *row) for name, row in _ROWS.items()
}
"""All features that a format may be unable to carry, in the order of the documentation's matrix."""


def missing_features(definition: Definition, carried: Collection[str]) -> dict[str, Feature]:
    """Return the features that a tokenizer has beyond the carried ones."""
    return {name: each for name, each in FEATURES.items() if name not in carried and each.is_used(definition)}


def without_missing_features(
    definition: Definition, carried: Collection[str], format_name: str, drop: Collection[str] = ()
) -> Definition:
    """Return the part of a tokenizer that files can hold, see `Format.reduce`.

    Features in `drop` are dropped, but for "pattern": no file says by which pattern its readers split instead.
    """
    missing = missing_features(definition, carried)
    more = {"pattern": f", {definition.model.pattern!r:.80}"}
    said = {name: f"{each.what}{more.get(name, '')}: {each.loss}" for name, each in missing.items()}
    said = {name: each for name, each in said.items() if name not in drop or name == "pattern"}
    if refused := [name for name in said if missing[name].decides_ids]:
        raise ValueError(
            f"the format {format_name} cannot carry {'; and '.join(said[name] for name in refused)}; choose another "
            f"format, or give drop={refused}"
        )
    for name, feature in missing.items():
        if name in said:
            warn_caller(f"the format {format_name} does not carry {said[name]}")
        definition = feature.without(definition)
    return definition
