"""Features of tokenizers that a format may be unable to carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe.formats._definition import FLAGS, Definition
from hf_bpe.formats._settings import SETTINGS


class Feature(NamedTuple):
    """A feature of tokenizers that a format may be unable to carry.

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


def _without_settings(*names: str) -> Callable[[Definition], Definition]:
    def without(definition: Definition) -> Definition:
        settings = {name: value for name, value in definition.settings.items() if name not in names}
        return replace(definition, settings=settings)

    return without


def _without_flags(definition: Definition) -> Definition:
    tokens = {token_id: _plain(token) for token_id, token in definition.added_tokens.items()}
    return replace(definition, added_tokens=tokens)


def _without_special_tokens(definition: Definition) -> Definition:
    specials = {token.encode() for token in definition.model.special_tokens}
    vocab = {token_id: token for token_id, token in definition.model.vocab.items() if token not in specials}
    return replace(definition, model=replace(definition.model, vocab=vocab, special_tokens=()), added_tokens={})


def _plain(token: AddedToken) -> AddedToken:
    return AddedToken(token.content, normalized=False, special=token.special)


def _mere_names(definition: Definition) -> list[str]:
    """Return the names of tokens, such as `bos_token`, that decide no ids."""
    adds_bos, adds_eos = definition.bos_eos or (False, False)
    uses = {"bos_token": adds_bos, "eos_token": adds_eos, "unk_token": definition.model.refuses_bytes}
    return [name for name in definition.names if not uses.get(name)]


def _has_settings(*names: str) -> Callable[[Definition], bool]:
    return lambda definition: any(map(definition.setting, names))


def _other_settings(definition: Definition) -> dict[str, Any]:
    """Return the settings that are no feature of their own."""
    own = {name for name, setting in SETTINGS.items() if setting.feature != "settings"}
    return {name: value for name, value in definition.settings.items() if name not in own}


FEATURES: dict[str, Feature] = {
    "pattern": Feature(
        lambda definition: True,
        "the split pattern",
        "readers would split text by another pattern and get other ids",
        True,
        lambda definition: definition,  # `Format.reduce` knows which pattern readers use instead
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
    "prefix_space": Feature(
        _has_settings("add_prefix_space"),
        "add_prefix_space",
        "readers would give the first word of a text different ids",
        True,
        _without_settings("add_prefix_space"),
    ),
    "trim_offsets": Feature(
        _has_settings("trim_offsets"),
        "trim_offsets",
        "readers would include white space in the offsets of tokens",
        False,
        _without_settings("trim_offsets"),
    ),
    "bos_eos": Feature(
        lambda definition: any(definition.bos_eos or ()),
        "add_bos_token and add_eos_token",
        "readers would leave out the tokens that begin and end a sequence",
        True,
        _without_settings("template"),
    ),
    "template": Feature(
        lambda definition: definition.bos_eos is None,
        "the template, which adds other tokens to sequences than bos_token before and eos_token after each",
        "readers would leave these tokens out, or add others",
        True,
        _without_settings("template"),
    ),
    "split_special_tokens": Feature(
        _has_settings("split_special_tokens"),
        "split_special_tokens",
        "readers would find special tokens in text",
        True,
        _without_settings("split_special_tokens"),
    ),
    "normalizer": Feature(
        lambda definition: definition.model.normalizer is not None,
        "the normalizer",
        "readers would not normalize text and would get other ids for text that is not normalized",
        True,
        lambda definition: replace(definition, model=replace(definition.model, normalizer=None)),
    ),
    "ignore_merges": Feature(
        lambda definition: definition.model.ignore_merges,
        "ignore_merges",
        "readers would split words that are tokens which no merges make",
        True,
        lambda definition: replace(definition, model=replace(definition.model, ignore_merges=False)),
    ),
    "missing_bytes": Feature(
        lambda definition: definition.model.drop_missing_bytes,
        "bytes that are dropped because they have no token",
        "readers would refuse text with such bytes, or put another token in their place",
        True,
        lambda definition: replace(definition, model=replace(definition.model, drop_missing_bytes=False)),
    ),
    "unused_tokens": Feature(
        _has_settings("unused_tokens"),
        "tokens that no text is encoded to",
        "readers would decode their ids differently",
        False,
        _without_settings("unused_tokens"),
    ),
    "names": Feature(
        lambda definition: bool(_mere_names(definition)),
        "which token is bos_token, eos_token, pad_token, …",
        "readers have to set them",
        False,
        lambda definition: _without_settings(*_mere_names(definition))(definition),
    ),
    "chat_template": Feature(
        _has_settings("chat_template"),
        "the chat template",
        "readers have to set it",
        False,
        _without_settings("chat_template"),
    ),
    "settings": Feature(
        lambda definition: bool(_other_settings(definition)),
        "settings of BPETokenizer (padding_side, model_max_length, errors, …)",
        "readers have to set them",
        False,
        lambda definition: _without_settings(*_other_settings(definition))(definition),
    ),
}
"""All features that a format may be unable to carry, in the order of the documentation's matrix."""
