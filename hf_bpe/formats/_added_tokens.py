"""Added tokens of a tokenizer, and the special tokens among all tokens.

transformers copies the vocabulary for every call of `add_tokens`. Here a call only copies the added tokens, twice:
dictionaries are replaced as a whole and never changed, so other threads and shallow copies see the tokens either before
or after the call. Everything derived from all added tokens, such as the encoder that finds them, is built on next use.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tokenizers import AddedToken

from hf_bpe.encoding._added_tokens.rules import as_special
from hf_bpe.formats._settings import NAMED_TOKENS, SettingValues

logger = logging.getLogger(__name__)

_GROUPS = ("extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens")


class AddedTokens(NamedTuple):
    """The tokens that were added to a model.

    Attributes:
        tokens: id → token.
        ids: content → id.
        total: the number of all tokens, with those of the model; the id of the next one.
        newly_special: tokens that the last call made special.
    """

    tokens: dict[int, AddedToken]
    ids: dict[str, int]
    total: int
    newly_special: Sequence[AddedToken] = ()

    @classmethod
    def of(cls, tokens: dict[int, AddedToken], vocab: Mapping[str, int]) -> AddedTokens:
        """Return the tokens with what follows from them; `vocab` is printable token → id of the model."""
        ids = {token.content: token_id for token_id, token in tokens.items()}
        return cls(tokens, ids, len(vocab) + sum(token not in vocab for token in ids))  # as many as `get_vocab()` has


def add_tokens(
    new_tokens: Iterable[str | AddedToken],
    are_special: bool,
    special: set[str],
    before: AddedTokens,
    vocab: Mapping[str, int],
    *,
    verbose: bool,
) -> AddedTokens:
    """Add tokens by the rules of transformers; tokens that already have an id keep it.

    The contents of new special tokens are added to `special`, which has those of all.

    Raises:
        TypeError: a token is neither a str nor an AddedToken.
    """
    tokens, ids = {**before.tokens}, {**before.ids}
    newly_special, count, next_id = [], 0, before.total
    for token in new_tokens:
        if not isinstance(token, (str, AddedToken)):
            raise TypeError(f"Token {token} is not a string but a {type(token)}.")
        content = str(token)
        if content == "" or (isinstance(token, str) and token in ids):
            continue
        if isinstance(token, str):
            is_special = are_special or token in special
            token = AddedToken(token, normalized=not is_special, special=is_special)
        elif are_special:
            token = as_special(token)
        token_id = ids.get(content, vocab.get(content))
        if token_id is None:
            # A file may have given ids beyond the number of tokens.
            token_id = next_id if next_id not in tokens else max(tokens) + 1
            next_id = token_id + 1
            count += 1
        if token.special and content not in special:
            special.add(content)
            newly_special.append(token)
        ids[content], tokens[token_id] = token_id, token
        if verbose:
            logger.info("Adding %s to the vocabulary", content)
    return AddedTokens(tokens, ids, before.total + count, newly_special)


class NamedTokens(NamedTuple):
    """The special tokens in the settings of a tokenizer.

    Attributes:
        names: setting, such as `bos_token` → its token; names of one model, such as `image_token`, come last.
        extra: special tokens without a name.
    """

    names: dict[str, str | AddedToken]
    extra: list[Any]

    @classmethod
    def of(cls, settings: SettingValues) -> NamedTokens:
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
    def contents(self) -> dict[str, str]:
        """Setting → content of its token."""
        return {name: str(token) for name, token in self.names.items()}

    @property
    def all(self) -> list[str]:
        """The contents of all special tokens, those with a name first."""
        return [*dict.fromkeys(map(str, (*self.names.values(), *self.extra)))]


def names_token(setting: str) -> bool:
    """Return whether a setting names a special token or several."""
    return setting in _GROUPS or (setting.endswith("_token") and setting not in ("add_bos_token", "add_eos_token"))
