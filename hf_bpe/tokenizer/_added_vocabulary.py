"""Added tokens of a tokenizer, and the special tokens among all tokens.

transformers copies the vocabulary for every call of `add_tokens`. Here a call only copies the added tokens, twice:
dictionaries are replaced as a whole and never changed, so other threads and shallow copies see the tokens either before
or after the call. Everything derived from all added tokens, such as the encoder that finds them, is built on next use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import itemgetter

from tokenizers import AddedToken
from transformers.utils import logging

from hf_bpe.encoding._added_tokens import as_special

logger = logging.get_logger(__name__)


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
