"""The definition of a tokenizer, independent of formats, and the features of it that formats can carry.

A format is a reader, a writer and the list of features that it carries. A definition with other features is refused,
with the name of the feature and the consequence of dropping it, unless the feature decides no ids; then there is a
warning. Nothing is dropped silently.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe.core._model import BPEModel
from hf_bpe.core.pretokenizers import NAMES, canonical_pattern, is_chain
from hf_bpe.engine._dispatch import make_encoder, share_encoder
from hf_bpe.engine._merge_trees import makes_all_tokens
from hf_bpe.tokenizer._template import Template, as_template

END_OF_TEXT = "<|endoftext|>"
"""The default `bos_token` and `eos_token` of vocabularies that have this token."""

FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
"""The flags of an added token, except `special`."""

NAMED_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")

_NAMED_BY_ITSELF = ("bos_token", "eos_token")


@dataclass(frozen=True)
class Definition:
    """A whole tokenizer, independent of the library that runs it.

    Args:
        model: vocabulary, merges, special tokens, pattern. `ignore_merges` becomes False if it has no effect, because
            merges make every token; not every format can store it.
        added_tokens: id → token that is found in text before it is split: the model's special tokens, which may be left
            out if they have no flags, and tokens that were added to the model.
        settings: other keyword arguments of `BPETokenizer`: `bos_token`, `template`, `add_prefix_space`,
            `chat_template`, `padding_side` and so on. None and absence mean the same, except for `bos_token` and
            `eos_token`: if absent, they are `<|endoftext|>` if the model has it. `template` is a `Template` or its JSON
            form; without it, `add_bos_token` and `add_eos_token` become a template. `unused_tokens` are entries of a
            vocabulary to which no text is encoded, as their characters stand for no bytes or they are empty:
            content → id.

    Raises:
        ValueError: the template is invalid, or `add_bos_token` or `add_eos_token` is set without such a token.
    """

    model: BPEModel
    added_tokens: Mapping[int, AddedToken] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model.ignore_merges:
            encoder = make_encoder(self.model)
            if makes_all_tokens(self.model):
                object.__setattr__(self, "model", self.model.with_checked(ignore_merges=False))
                encoder = share_encoder(encoder, self.model)
            # Kept for the tokenizer that is made of this definition, which shares it.
            object.__setattr__(self, "_encoder", encoder)
        special = {
            token_id: AddedToken(token, normalized=False, special=True)
            for token, token_id in self.model.special_ids().items()
        }
        object.__setattr__(self, "added_tokens", dict(sorted({**special, **self.added_tokens}.items())))
        settings = {name: value for name, value in self.settings.items() if value is not None}
        if END_OF_TEXT in self.model.special_tokens:
            settings |= {name: self.settings.get(name, END_OF_TEXT) for name in _NAMED_BY_ITSELF}
        object.__setattr__(self, "settings", _with_template(settings))

    def setting(self, name: str, default: Any = None) -> Any:
        """Return a setting, or the default if it is not set; tokens as str."""
        value = self.settings.get(name, default)
        return str(value) if isinstance(value, AddedToken) else value

    @property
    def template(self) -> Template | None:
        """The special tokens that are added to sequences, None for none."""
        template: Template | None = self.settings.get("template")
        return template

    @property
    def unused_tokens(self) -> dict[str, int]:
        """Entries to which no text is encoded, because they are not made of bytes, or empty, and not added."""
        return dict(self.settings.get("unused_tokens") or {})

    @property
    def bos_eos(self) -> tuple[bool, bool] | None:
        """Whether the template adds `bos_token` before and `eos_token` after each sequence; None if it adds others."""
        if self.template is None:
            return False, False
        return self.template.bos_eos(self.setting("bos_token"), self.setting("eos_token"))

    @property
    def json_settings(self) -> dict[str, Any]:
        """The settings as JSON values."""
        settings = {name: self.setting(name) for name in self.settings}
        return settings if self.template is None else {**settings, "template": self.template.to_json()}

    @property
    def tokens_of_model(self) -> dict[int, AddedToken]:
        """The added tokens that are tokens of the model."""
        return {token_id: token for token_id, token in self.added_tokens.items() if token_id in self.model.vocab}

    @property
    def tokens_added_later(self) -> dict[int, AddedToken]:
        """The added tokens that the model does not have."""
        return {token_id: token for token_id, token in self.added_tokens.items() if token_id not in self.model.vocab}

    @property
    def names(self) -> dict[str, str]:
        """The tokens with names such as `bos_token`, except names that follow from defaults."""
        names = {name: self.setting(name) for name in NAMED_TOKENS if self.setting(name) is not None}
        return {n: token for n, token in names.items() if not (n in _NAMED_BY_ITSELF and token == END_OF_TEXT)}


def _with_template(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with a template in place of `add_bos_token` and `add_eos_token`."""
    template = as_template(settings.pop("template", None))
    added = {name: settings.pop(f"add_{name}", None) for name in _NAMED_BY_ITSELF}
    if template is None:
        if missing := [name for name in _NAMED_BY_ITSELF if added[name] and name not in settings]:
            raise ValueError(f"add_{missing[0]} is set but {missing[0]} is not; expected a token to add")
        template = Template.of_bos_eos(*(str(settings[name]) if added[name] else None for name in _NAMED_BY_ITSELF))
    return settings if template is None else {**settings, "template": template}


def written_out(token: AddedToken) -> dict[str, Any]:
    """Return content and flags of an added token as keyword arguments of `AddedToken`, which are JSON values."""
    return {"content": token.content, **{flag: getattr(token, flag) for flag in (*FLAGS, "special")}}


class PatternNeeded(ValueError):
    """The split pattern is neither in the file nor given."""

    def __init__(self, path: Path, hint: str = "") -> None:
        known = ", ".join(NAMES)
        super().__init__(
            f"{path} does not store the split pattern; give it: {known}, a regular expression, or none{hint}"
        )


class Hints(NamedTuple):
    """What a user knows about a file that the file does not store.

    Attributes:
        pattern: the split pattern; "auto" for that of the file, or the one that its format implies.
        special_tokens: content → id; None for those of the file.
    """

    pattern: str | None = "auto"
    special_tokens: Mapping[str, int] | None = None

    def check(self, pattern: str | None, special_tokens: Mapping[str, int]) -> None:
        """Raise a ValueError if the user contradicts the file."""
        if self.pattern != "auto" and canonical_pattern(self.pattern) != pattern:
            raise ValueError(f"its pattern is {pattern or 'none'!r}; leave the argument out")
        if self.special_tokens is not None and dict(self.special_tokens) != dict(special_tokens):
            raise ValueError(f"its special tokens are {dict(special_tokens)}; leave the argument out")


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
    takes_unknown = definition.model.lacks_bytes and not definition.model.drop_missing_bytes
    uses = {"bos_token": adds_bos, "eos_token": adds_eos, "unk_token": takes_unknown}
    return [name for name in definition.names if not uses.get(name)]


def _has_settings(*names: str) -> Callable[[Definition], bool]:
    return lambda definition: any(map(definition.setting, names))


def _other_settings(definition: Definition) -> dict[str, Any]:
    known = {*NAMED_TOKENS, "add_prefix_space", "trim_offsets", "template", "chat_template", "split_special_tokens"}
    known |= {"unused_tokens"}
    return {name: value for name, value in definition.settings.items() if name not in known}


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


class Peer(NamedTuple):
    """What encodes: usually another library, with the same files.

    Attributes:
        name: the library, and its version.
        encode: (texts, whether to add special tokens) → ids of each text. Special tokens are found in the texts.
        adds: whether it can add special tokens.
        encode_pair: (text, second text) → ids with added special tokens; None if it cannot.
        encode_bytes: the ids of bytes that need not be UTF-8; None if it takes only str.
        offsets: texts → (begin, end) in characters of each id, without added special tokens; None if it has none.
    """

    name: str
    encode: Callable[[list[str], bool], list[list[int]]]
    adds: bool = False
    encode_pair: Callable[[str, str], list[int]] | None = None
    encode_bytes: Callable[[bytes], list[int]] | None = None
    offsets: Callable[[list[str]], list[list[tuple[int, int]]]] | None = None


@dataclass(frozen=True)
class Format:
    """A file format.

    Args:
        name: the name for users.
        what: a short description.
        is_file: whether it is one file rather than a folder.
        carries: names of FEATURES that its files carry; "pattern" may be left to `patterns`.
        matches: (path, first bytes of a file) → whether the content has this format.
        read: (path, hints) → definition. Raises OSError, and ValueError with the location of an error.
        write: (definition, path) → files at or in that path, which is in a folder of its own. Raises ValueError for
            properties beyond FEATURES that it cannot carry, such as an order of ids.
        patterns: the canonical patterns that it can carry, None for any pattern.
        has_chains: whether any pattern includes chains of stages, and not only what is one expression.
        sidecar: features that only our reader restores, from a sidecar file.
        peer: (path, definition) → the other library that encodes with the file, or None if it cannot. Raises
            ImportError if that library is not installed.
        suffix: the suffix of file names, by which `write` tells the format; "" for folders.
        other_suffixes: suffixes of other formats that its files may have, too, if the format is given by name.
        last: for a folder, the files that its readers require, in the order in which `staged_folder` moves them into
            place.
    """

    name: str
    what: str
    is_file: bool
    carries: frozenset[str]
    matches: Callable[[Path, bytes], bool]
    read: Callable[[Path, Hints], Definition]
    write: Callable[[Definition, Path], None]
    patterns: frozenset[str | None] | None = None
    has_chains: bool = True
    sidecar: frozenset[str] = frozenset()
    peer: Callable[[Path, Definition], Peer | None] | None = None
    suffix: str = ""
    other_suffixes: frozenset[str] = frozenset()
    last: tuple[str, ...] = ()

    def carries_pattern(self, pattern: str | None) -> bool:
        """Return whether a file can carry this pattern."""
        if self.patterns is None:
            return "pattern" in self.carries | self.sidecar and (self.has_chains or not is_chain(pattern))
        return pattern in self.patterns

    def missing(self, definition: Definition) -> dict[str, Feature]:
        """Return the features that a tokenizer has and this format cannot carry."""
        kept = self.carries | self.sidecar
        return {
            name: feature
            for name, feature in FEATURES.items()
            if (
                not self.carries_pattern(definition.model.pattern)
                if name == "pattern"
                else name not in kept and feature.is_used(definition)
            )
        }

    def reduce(self, definition: Definition, drop: Iterable[str] = ()) -> Definition:
        """Return the part of a tokenizer that can be written.

        Args:
            definition: the tokenizer.
            drop: names of features that may be dropped although ids depend on them.

        Raises:
            ValueError: the format cannot carry a feature that is not in `drop`, or a name in `drop` is unknown.

        Warns:
            UserWarning: a feature that decides no ids is dropped and is not in `drop`.
        """
        drop = {*drop}
        if unknown := sorted(drop - FEATURES.keys()):
            raise ValueError(f"drop: expected some of {', '.join(FEATURES)}, got {unknown[0]!r}")
        for name, feature in self.missing(definition).items():
            if name == "pattern" and name in drop and self.patterns and len(self.patterns) == 1:
                definition = replace(definition, model=replace(definition.model, pattern=next(iter(self.patterns))))
                continue
            if name not in drop or name == "pattern":
                shown = f"{feature.what}, {definition.model.pattern!r}" if name == "pattern" else feature.what
                if feature.decides_ids:
                    raise ValueError(
                        f"the format {self.name} cannot carry {shown}: {feature.loss}; choose another format, or drop "
                        f"{name!r} explicitly"
                    )
                warnings.warn(f"the format {self.name} does not carry {shown}: {feature.loss}", stacklevel=3)
            definition = feature.without(definition)
        return definition
