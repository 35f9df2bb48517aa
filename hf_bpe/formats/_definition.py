"""The definition of a tokenizer, independent of formats and of the library that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tokenizers import AddedToken

from hf_bpe.core._model import BPEModel
from hf_bpe.encoding._encoder import Options
from hf_bpe.formats._settings import NAMED_TOKENS, SETTINGS, SettingValues
from hf_bpe.formats._template import Template, as_template

END_OF_TEXT = "<|endoftext|>"
"""The default `bos_token` and `eos_token` of vocabularies that have this token."""

FLAGS = ("single_word", "lstrip", "rstrip", "normalized")
"""The flags of an added token, except `special`."""

ENCODING_SETTINGS = tuple(name for name in Options._fields if name in SETTINGS)
"""The settings that are options of encoding."""

_NAMED_BY_ITSELF = ("bos_token", "eos_token")


@dataclass(frozen=True)
class Definition:
    """A whole tokenizer, independent of the library that runs it.

    Args:
        model: vocabulary, merges, special tokens, pattern and normalizer.
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
    settings: SettingValues = field(default_factory=dict)

    def __post_init__(self) -> None:
        special = {
            token_id: AddedToken(token, normalized=False, special=True)
            for token, token_id in self.model.special_ids().items()
        }
        object.__setattr__(self, "added_tokens", dict(sorted({**special, **self.added_tokens}.items())))
        settings = {name: value for name, value in self.settings.items() if value is not None}
        if END_OF_TEXT in self.model.special_tokens:
            settings |= {name: self.settings.get(name, END_OF_TEXT) for name in _NAMED_BY_ITSELF}
        object.__setattr__(self, "settings", _with_template(settings))

    def setting(self, name: str, default: object = None) -> Any:
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
        """Two flags: `bos_token` is added before, `eos_token` after each sequence; None for another template."""
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
        model_ids = {*self.model.token_arrays.numbers}
        return {token_id: token for token_id, token in self.added_tokens.items() if token_id not in model_ids}

    @property
    def size(self) -> int:
        """The number of ids from 0 on, as `len` of a tokenizer counts them."""
        return 1 + max((*self.model.vocab, *self.added_tokens, *self.unused_tokens.values()), default=-1)

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


def encoding_options(settings: SettingValues) -> Options:
    """Return the options of encoding that settings name."""
    return Options(**{name: settings[name] for name in ENCODING_SETTINGS if name in settings})


def with_all_special_tokens(definition: Definition) -> Definition:
    """Return a definition with all special tokens in its model; files do not tell which were added later."""
    model = definition.model
    taken = {*model.vocab.values()}
    added = {i: token.content for i, token in definition.tokens_added_later.items() if token.special}
    later = {i: content for i, content in added.items() if content.encode() not in taken}
    if not later:
        return definition
    vocab = {**model.vocab, **{token_id: content.encode() for token_id, content in later.items()}}
    specials = (*model.special_tokens, *later.values())
    return replace(definition, model=replace(model, vocab=vocab, special_tokens=specials))


def token_to_json(token: AddedToken) -> dict[str, str | bool]:
    """Return content and flags of an added token as keyword arguments of `AddedToken`, which are JSON values."""
    return {"content": token.content, **{flag: getattr(token, flag) for flag in (*FLAGS, "special")}}
