"""Added tokens of a tokenizer, and the special tokens among all tokens.

transformers copies the vocabulary for every call of `add_tokens`. Here a call only copies the added tokens, twice:
dictionaries are replaced as a whole and never changed, so other threads and shallow copies see the tokens either before
or after the call. Everything derived from all added tokens, such as the encoder that finds them, is built on next use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter

from tokenizers import AddedToken
from transformers.utils import logging

from hf_bpe.encoding._added_tokens import as_special
from hf_bpe.encoding._encoder import AddedTokenTuple, Encoder, tuples_of
from hf_bpe.encoding._stochastok import TokenSplits

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
        self._splits: TokenSplits | None = None

    def __reduce__(self) -> tuple[type[Derived], tuple[Encoder, dict[int, AddedToken]]]:
        return Derived, (self.base, dict(self._added_tokens))

    @property
    def encoder(self) -> Encoder:
        """The encoder that finds the added tokens."""
        encoder = self._encoder
        if encoder is None:  # concurrent threads may each build one
            encoder = self._encoder = self.base.with_added_tokens(self.token_tuples)
        return encoder

    @property
    def splits(self) -> TokenSplits:
        """The pairs that StochasTok splits tokens into."""
        if self._splits is None:
            self._splits = TokenSplits(self.base.model, self._added_tokens)
        return self._splits

    @property
    def token_tuples(self) -> tuple[AddedTokenTuple, ...]:
        """The added tokens in the form that encoders take."""
        return tuples_of(self._added_tokens.items())

    def special_ids(self, named: Callable[[], Iterable[int | None]]) -> bytes:
        """Return a byte for each id, 1 if decoding can skip it; `named` returns the ids of named special tokens.

        A named token has no id before it is added.
        """
        if self._special_ids is None:
            flagged = (token_id for token_id, token in self._added_tokens.items() if token.special)
            ids = {*flagged, *(token_id for token_id in named() if token_id is not None)}
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


def with_unused(vocab: dict[str, int], unused: Mapping[str, int]) -> dict[str, int]:
    """Return a printable vocabulary with the tokens to which no text is encoded.

    Raises:
        ValueError: such a token, or its id, is in the vocabulary.
    """
    if not unused:
        return vocab
    taken = {token_id: token for token, token_id in vocab.items()}
    for token, token_id in unused.items():
        if token in vocab or token_id in taken:
            other = f"{taken.get(token_id, token)!r} {vocab.get(token, token_id)}"
            raise ValueError(f"unused_tokens: {token!r} {token_id}: the vocabulary has {other}")
    return dict(sorted({**vocab, **unused}.items(), key=itemgetter(1)))


def add_tokens(
    new_tokens: Iterable[str | AddedToken],
    are_special: bool,
    special: set[str],
    added: tuple[Mapping[int, AddedToken], Mapping[str, int]],
    vocab: Mapping[str, int],
    next_id: int,
    *,
    verbose: bool,
) -> tuple[dict[int, AddedToken], dict[str, int], list[AddedToken], int]:
    """Add tokens by the rules of transformers; tokens that already have an id keep it.

    Args:
        new_tokens, are_special: what to add, and whether as special tokens.
        special: the contents of all special tokens, to which new ones are added.
        added: id → token and content → id, for the tokens that were added before.
        vocab: printable token → id, for the tokens of the model.
        next_id: the number of all tokens.
        verbose: whether to log the tokens.

    Returns:
        All added tokens in the form of `added`, the tokens that became special, and how many tokens got an id.

    Raises:
        TypeError: a token is neither a str nor an AddedToken.
    """
    tokens, ids = {**added[0]}, {**added[1]}
    extra, count = [], 0
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
            extra.append(token)
        ids[content], tokens[token_id] = token_id, token
        if verbose:
            logger.info("Adding %s to the vocabulary", content)
    return tokens, ids, extra, count
