"""Added tokens by the rules of transformers and of `tokenizers`, and the special tokens among all tokens.

transformers copies the vocabulary for every call of `add_tokens`. Here a call only copies the added tokens, twice:
dictionaries are replaced as a whole and never changed, so other threads and shallow copies see the tokens either before
or after the call. Everything derived from all added tokens, such as the encoder that finds them, is built on next use.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tokenizers import AddedToken

from hf_bpe.core._arrays import WrittenVocab
from hf_bpe.encoding._added_tokens.rules import as_special
from hf_bpe.formats._settings import NAMED_TOKENS, SettingValues

logger = logging.getLogger(__name__)

_GROUPS = ("extra_special_tokens", "additional_special_tokens", "model_specific_special_tokens")


class AddedTokens(NamedTuple):
    """The tokens that were added to a model."""

    tokens: dict[int, AddedToken]
    ids: dict[str, int]  # by content
    total: int  # the number of all tokens, with those of the model; the id of the next one
    newly_special: Sequence[AddedToken] = ()  # which the last call made special

    @classmethod
    def from_tokens(cls, tokens: dict[int, AddedToken], vocab: WrittenVocab) -> AddedTokens:
        """Return the tokens with what follows from them; `vocab` is printable token → id of the model."""
        ids = {token.content: token_id for token_id, token in tokens.items()}
        return cls(tokens, ids, len(vocab) + len(ids.keys() - vocab.find(ids).keys()))  # as many as `get_vocab()` has

    def with_tokens(
        self,
        new_tokens: Iterable[str | AddedToken],
        are_special: bool,
        special: set[str],
        vocab: Mapping[str, int],
        *,
        verbose: bool = False,
    ) -> AddedTokens:
        """Return these tokens and new ones, by the rules of transformers; tokens that already have an id keep it.

        The contents of new special tokens are added to `special`, which has those of all.
        """
        tokens, ids = {**self.tokens}, {**self.ids}
        newly_special, count, next_id = [], 0, self.total
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
        return AddedTokens(tokens, ids, self.total + count, newly_special)


class AddedVocabulary:
    """The tokens that were added to a vocabulary, with the ids that `tokenizers` gives them.

    A token that is special once stays special. Source of the rules: `added_vocabulary.rs` of tokenizers 0.23.

    >>> added = AddedVocabulary(WrittenVocab(more={"a": 0, "b": 1}))
    >>> added.add([AddedToken("<x>"), AddedToken("b", special=True)])
    >>> added.ids
    {'<x>': 2, 'b': 1}
    """

    def __init__(self, vocab: WrittenVocab) -> None:
        self._vocab = vocab
        self._highest = max(vocab.ids, default=-1)
        self.tokens: dict[int, AddedToken] = {}  # in the order in which they were added
        self.ids: dict[str, int] = {}

    def copy(self) -> AddedVocabulary:
        """Return a vocabulary with the same tokens, to which tokens may be added."""
        copied = copy.copy(self)
        copied.tokens, copied.ids = {**self.tokens}, {**self.ids}
        return copied

    def add(self, tokens: Sequence[AddedToken]) -> None:
        """Add tokens like one call of `Tokenizer.add_tokens`.

        Tokens of the model and tokens added before keep their ids; others get the next ids. Empty tokens are ignored.
        """
        size = len(self._vocab)
        highest = max(self.tokens, default=-1)
        following = highest + 1 if highest >= size else size
        known = self._vocab.find(token.content for token in tokens)
        for token in tokens:
            if not token.content:
                continue
            token_id = self.ids.get(token.content, known.get(token.content))
            if token_id is None:
                token_id, following = following, following + 1
                # Never lower than the number of tokens; if the ids have gaps, it may be in use.
                if token_id <= self._highest and token_id in self._vocab.values():
                    taken = next(text for text, i in self._vocab.items() if i == token_id)
                    raise ValueError(
                        f"added_tokens: tokenizers gives {token.content!r:.80} the id {token_id}, which {taken!r:.80} "
                        "has, as the ids of the vocabulary have gaps; expected ids without gaps, or added tokens "
                        "that are in the vocabulary"
                    )
            before = self.tokens.get(token_id)
            is_special = token.special or (before is not None and before.special)
            self.tokens[token_id] = as_special(token) if is_special else token
            self.ids[token.content] = token_id

    def id_of(self, token: str) -> int | None:
        """Return the id of an added token or of a token of the model; None if there is no such token."""
        return self.ids.get(token, self._vocab.get(token))


class NamedTokens(NamedTuple):
    """The special tokens in the settings of a tokenizer."""

    names: dict[str, str | AddedToken]  # by setting; names of one model, such as `image_token`, come last
    extra: list[str | AddedToken]  # those without a name

    @classmethod
    def from_settings(cls, settings: SettingValues) -> NamedTokens:
        """Find the special tokens in settings.

        Source: `PreTrainedTokenizerBase.__init__` of transformers 5.24.
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
