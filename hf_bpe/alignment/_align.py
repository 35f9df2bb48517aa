"""Ids of two tokenizers for the same text, in groups that cover the same bytes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hf_bpe._utils.arguments import check_flag
from hf_bpe.alignment._spans import RowText, row_text
from hf_bpe.alignment._token_table import Flags, token_table
from hf_bpe.encoding._encoder import Numbers

_SHOWN = 20  # bytes on each side of a difference


class Alignment(NamedTuple):
    """Groups of ids of two tokenizers; group g holds `ids_a[a[g, 0] : a[g, 1]]` and `ids_b[b[g, 0] : b[g, 1]]`.

    Attributes:
        a, b: int64, of shape (number of groups, 2): where the ids of each group begin and end. The groups are in order,
            and each id is in one group. A group of ids without text, such as special tokens, may be empty on one side.
    """

    a: Numbers
    b: Numbers


def align(
    ids_a: object,
    tokenizer_a: object,
    ids_b: object,
    tokenizer_b: object,
    *,
    skip_special_tokens: bool = True,
    continued: bool = False,
) -> Alignment:
    """Return the smallest groups of ids of two tokenizers that cover the same bytes of one text.

    A group ends wherever a token of both ends, also inside a character. Special tokens have no text, so that the two
    may have different ones: special tokens at the same place, between the same bytes, are a group by themselves. The
    ids need not be what encoding gives. It takes time in proportion to the text, and nothing is guessed: a text that
    differs is an error.

    Args:
        ids_a, ids_b: a row of ids each: a list, an array or a tensor.
        tokenizer_a, tokenizer_b: see `token_bytes`.
        skip_special_tokens: whether special tokens have no text; else they have their content, which must be the same.
        continued: the ids follow others in their text, so that nothing is removed from their beginning.

    Raises:
        TypeError: the ids are no rows of ints.
        ValueError: an id has no token; or the ids stand for different texts. Two tokenizers of which one normalizes
            text see different texts if the text is not normalized before both encode it.

    >>> from hf_bpe import BPETokenizer
    >>> one = BPETokenizer.train(["slow lower lowest"] * 2, vocab_size=263)
    >>> other = BPETokenizer.train(["the slow newest, the newest slow"] * 2, vocab_size=263)
    >>> text = "slow west"
    >>> one.tokenize(text), other.tokenize(text)
    (['slow', 'Ġ', 'w', 'e', 'st'], ['slo', 'w', 'Ġ', 'west'])
    >>> groups = align(one.encode(text), one, other.encode(text), other)
    >>> groups.a.tolist(), groups.b.tolist()
    ([[0, 1], [1, 2], [2, 5]], [[0, 2], [2, 3], [3, 4]])
    """
    skips, continues = check_flag("skip_special_tokens", skip_special_tokens), check_flag("continued", continued)
    texts = []
    for name, ids, tokenizer in (("ids_a", ids_a, tokenizer_a), ("ids_b", ids_b, tokenizer_b)):
        table = token_table(tokenizer)
        texts.append(row_text(table, table.checked(name, ids), skips, continues))
    a, b = texts
    if a.data != b.data:
        raise ValueError(_difference(a.data, b.data))
    # The places at which a token of both ends; bytes, as there is one for each place in the text.
    is_end = np.zeros((2, len(a.data) + 1), bool)
    for flags, text in zip(is_end, texts, strict=True):
        flags[0] = True
        flags[text.ends] = True
    is_common = is_end[0] & is_end[1]
    bounds = [_bounds(text, is_common) for text in texts]
    # Groups with text end before the tokens without text that follow, which are a group by themselves.
    rows = [np.stack([edges[:-1], edges[1:]], axis=1) for edges in bounds]
    is_some = (rows[0][:, 0] < rows[0][:, 1]) | (rows[1][:, 0] < rows[1][:, 1])
    return Alignment(rows[0][is_some], rows[1][is_some])


def _bounds(text: RowText, is_common: Flags) -> Numbers:
    """Return for each common place the number of ids before it, without and with the ids without text there."""
    has_text = text.begins < text.ends
    places = np.flatnonzero(has_text)
    is_last = is_common[text.ends[places]]  # of the ids that end at a common place
    before = np.concatenate([[0], places[is_last] + 1])
    following = places[np.concatenate([[True], is_last[:-1]])] if len(places) else places
    after = np.concatenate([following, [len(has_text)]])
    bounds: Numbers = np.stack([before, after], axis=1).ravel()
    return bounds


def _difference(a: bytes, b: bytes) -> str:
    size = min(len(a), len(b))
    first = np.flatnonzero(np.frombuffer(a, np.uint8, size) != np.frombuffer(b, np.uint8, size))
    at = int(first[0]) if len(first) else size
    shown = [text[max(at - _SHOWN, 0) : at + _SHOWN] for text in (a, b)]
    return (
        f"align: expected ids of one text, but from byte {at} on the texts differ: {shown[0]!r} and {shown[1]!r}; "
        "encode the same text with both, normalized if one of them normalizes"
    )
