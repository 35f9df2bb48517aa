"""Added tokens of a tokenizer, and the special tokens among all tokens.

transformers copies the vocabulary for every call of `add_tokens`. Here a call only copies the added tokens, twice:
dictionaries are replaced as a whole and never changed, so other threads and shallow copies see the tokens either before
or after the call. Everything derived from all added tokens, such as the encoder that finds them, is built on next use.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken
from transformers.utils import logging

from hf_bpe._utils.arguments import check_int, optional
from hf_bpe.engine._added_tokens import as_special, special_tokens_in
from hf_bpe.engine._encoder import Encoder, tuples_of
from hf_bpe.tokenizer._inherited import SETTINGS, CheckedTokenizer

if TYPE_CHECKING:
    from typing_extensions import Self

logger = logging.get_logger(__name__)


class Derived:
    """Values derived from the added and special tokens of a tokenizer, built on first use.

    An instance belongs to one state of the tokenizer, which replaces it when tokens are added. Its pickle does not
    depend on what was built, because `datasets` uses the pickle of a tokenizer as its fingerprint.

    Args:
        base: the encoder of the model without added tokens.
        added_tokens: id → token; never changed.
    """

    def __init__(self, base: Encoder, added_tokens: Mapping[int, AddedToken]) -> None:
        self.base = base
        self._added_tokens = added_tokens
        self._encoder: Encoder | None = None
        self._special_ids: bytes | None = None

    def __reduce__(self) -> tuple[type[Derived], tuple[Encoder, dict[int, AddedToken]]]:
        return Derived, (self.base, dict(self._added_tokens))

    @property
    def encoder(self) -> Encoder:
        """The encoder that finds the added tokens."""
        encoder = self._encoder
        if encoder is None:  # concurrent threads may each build one
            encoder = self._encoder = self.base.with_added_tokens(tuples_of(self._added_tokens.items()))
        return encoder

    def special_ids(self, tokenizer: AddedVocabulary) -> bytes:
        """Return a byte for each id up to the highest special one: 1 if decoding can skip the id."""
        if self._special_ids is None:
            flagged = (token_id for token_id, token in self._added_tokens.items() if token.special)
            named = map(tokenizer.convert_tokens_to_ids, tokenizer.special_tokens_map.values())
            ids = {
                *flagged,
                *(token_id for token_id in named if token_id is not None),
            }  # a token has no id before it is added
            is_special = bytearray(max(ids, default=-1) + 1)
            for token_id in ids:
                is_special[token_id] = 1
            self._special_ids = bytes(is_special)
        return self._special_ids

    def with_other_names(self) -> Derived:
        """Return derived values for changed special tokens of the tokenizer."""
        other = Derived(self.base, self._added_tokens)
        other._encoder = self._encoder
        return other


class AddedVocabulary(CheckedTokenizer):
    """The part of BPETokenizer that adds tokens."""

    # Attributes of BPETokenizer.
    encoder: dict[str, int]
    total_vocab_size: int
    _derived: Derived
    _added_tokens_decoder: dict[int, AddedToken]
    _added_tokens_encoder: dict[str, int]
    _extra_special_tokens: list[str | AddedToken]
    _special_tokens_map: dict[str, Any]

    @property
    def _engine(self) -> Encoder:
        return self._derived.encoder

    @property
    def _special_ids(self) -> bytes:
        return self._derived.special_ids(self)

    def __copy__(self) -> Self:
        """Return a tokenizer that shares the model but has its own added tokens."""
        other = type(self).__new__(type(self))
        shared = ("encoder", "decoder")  # of the model; these never change
        for name, value in self.__getstate__().items():
            is_own = isinstance(value, (dict, list)) and name not in shared
            other.__dict__[name] = copy.copy(value) if is_own else value
        return other

    def __getstate__(self) -> dict[str, Any]:
        return vars(self).copy()  # a snapshot of the attributes, for pickle and copy

    def __setattr__(self, key: str, value: Any) -> None:
        if key.endswith("_token_id"):
            value = optional(check_int)(key, value)
        elif key in SETTINGS:
            value = SETTINGS[key](key, value)
        name = key.removesuffix("_ids").removesuffix("_id")
        is_special = name in self.SPECIAL_TOKENS_ATTRIBUTES or name == "extra_special_tokens"
        if is_special:
            self._special_tokens_map = {**self._special_tokens_map}  # transformers changes it in place
        super().__setattr__(key, value)
        if is_special and "_derived" in vars(self):
            self._derived = self._derived.with_other_names()

    @property
    def added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Id → added token, in the order of the ids."""
        return dict(sorted(self._added_tokens_decoder.items()))

    @added_tokens_decoder.setter
    def added_tokens_decoder(self, value: Mapping[int, str | AddedToken]) -> None:
        for token_id, token in value.items():
            if not isinstance(token_id, int) or not isinstance(token, (str, AddedToken)):
                raise TypeError(f"added_tokens_decoder: expected int → str or AddedToken, got {token_id!r}: {token!r}")
        tokens = {i: AddedToken(token) if isinstance(token, str) else token for i, token in value.items()}
        self._take({**self._added_tokens_decoder, **tokens})

    def add_special_tokens(self, *args: Any, **kwargs: Any) -> int:
        """Name special tokens and add missing ones to the vocabulary, as in transformers; return the number added."""
        # transformers changes several attributes one by one, so a copy is changed and then adopted as a whole.
        before, changed = self.__getstate__(), copy.copy(self)
        added: int = super(AddedVocabulary, changed).add_special_tokens(*args, **kwargs)
        self.__dict__.update({name: value for name, value in vars(changed).items() if value is not before.get(name)})
        return added

    def _keep_flags(self, settings: Mapping[str, Any]) -> None:
        """Keep the given flags of special tokens, which transformers drops for Python tokenizers."""
        given = [token for token in special_tokens_in(settings) if isinstance(token, AddedToken)]
        flags = {self._added_tokens_encoder[token.content]: as_special(token) for token in given}
        self._take({**self._added_tokens_decoder, **flags})

    def _update_total_vocab_size(self) -> None:
        self._take(self._added_tokens_decoder)

    def _update_trie(self, unique_no_split_tokens: list[str] | None = None) -> None:
        """Leave the trie of transformers empty, because it is not used here and a long token in it breaks pickle."""

    def _add_tokens(self, new_tokens: Sequence[str | AddedToken] | None, special_tokens: bool = False) -> int:
        """Add tokens by the rules of transformers; tokens that already have an id keep it.

        Returns:
            The number of tokens that got an id.

        Raises:
            TypeError: a token is neither a str nor an AddedToken.
        """
        ids, tokens = {**self._added_tokens_encoder}, {**self._added_tokens_decoder}
        special = {*map(str, self._extra_special_tokens), *self.special_tokens_map.values()}
        next_id, extra, added = len(self), [], 0
        for token in new_tokens or []:
            if not isinstance(token, (str, AddedToken)):
                raise TypeError(f"Token {token} is not a string but a {type(token)}.")
            content = str(token)
            if content == "" or (isinstance(token, str) and token in ids):
                continue
            if isinstance(token, str):
                is_special = special_tokens or token in special
                token = AddedToken(token, normalized=not is_special, special=is_special)
            elif special_tokens:
                token = as_special(token)
            token_id = ids.get(content, self.encoder.get(content))
            if token_id is None:
                # A file may have given ids beyond the number of tokens.
                token_id = next_id if next_id not in tokens else max(tokens) + 1
                next_id = token_id + 1
                added += 1
            if token.special and content not in special:
                special.add(content)
                extra.append(token)
            ids[content], tokens[token_id] = token_id, token
            if self.verbose:
                logger.info("Adding %s to the vocabulary", content)
        self._take(tokens, ids, extra, self.total_vocab_size + added)
        return added

    def _take(
        self,
        tokens: dict[int, AddedToken],
        ids: dict[str, int] | None = None,
        extra_special: Iterable[AddedToken] = (),
        total: int | None = None,
    ) -> None:
        """Replace the added tokens atomically for other threads; other arguments default to derived values."""
        if ids is None:
            ids = {token.content: token_id for token_id, token in tokens.items()}
        if total is None:  # the number of keys in `get_vocab()`
            total = len(self.encoder) + len(ids.keys() - self.encoder.keys())
        self.__dict__.update(
            _added_tokens_decoder=tokens,
            _added_tokens_encoder=ids,
            _extra_special_tokens=[*self._extra_special_tokens, *extra_special],
            total_vocab_size=total,
            _derived=Derived(self._derived.base, tokens),
        )
