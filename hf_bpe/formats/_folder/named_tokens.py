"""The special tokens that settings name, by the rules of transformers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe.formats._settings import NAMED_TOKENS

_GROUPS = ("extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens")


class NamedTokens(NamedTuple):
    """The special tokens in the settings of a tokenizer.

    Attributes:
        names: setting, such as `bos_token` → its token; names of one model, such as `image_token`, come last.
        extra: special tokens without a name.
    """

    names: dict[str, str | AddedToken]
    extra: list[Any]

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> NamedTokens:
        """Find the special tokens in settings.

        Source: `PreTrainedTokenizerBase.__init__` of transformers 5.24.

        Raises:
            TypeError: the value of a setting that names tokens is of another type.
        """
        explicit = settings.get("model_specific_special_tokens") or {}
        if not isinstance(explicit, dict):
            raise TypeError("model_specific_special_tokens must be a dictionary of token name to token value")
        extra = settings.get("extra_special_tokens", settings.get("additional_special_tokens"))
        if not isinstance(extra, (dict, list, tuple, type(None))):
            raise TypeError("extra_special_tokens must be a list/tuple of tokens or a dict of named tokens")
        standard = {name: settings[name] for name in NAMED_TOKENS if settings.get(name) is not None}
        own = {name: token for name, token in settings.items() if name.endswith("_token") and name not in NAMED_TOKENS}
        specific = {
            **(extra if isinstance(extra, dict) else {}),
            **{name: token for name, token in own.items() if isinstance(token, (str, AddedToken))},
            **explicit,
        }
        for name, token in {**standard, **specific}.items():
            if not isinstance(token, (str, AddedToken)):
                raise TypeError(f"Special token {name} has to be either str or AddedToken but got: {type(token)}")
        return cls({**standard, **specific}, [] if isinstance(extra, dict) else [*(extra or ())])

    @property
    def all(self) -> list[str]:
        """The contents of all special tokens, those with a name first."""
        return [*dict.fromkeys(map(str, (*self.names.values(), *self.extra)))]


def names_token(setting: str) -> bool:
    """Return whether a setting names a special token or several."""
    return setting in _GROUPS or (setting.endswith("_token") and setting not in ("add_bos_token", "add_eos_token"))
