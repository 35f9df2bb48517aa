"""Tokens that two vocabularies share, and tokens of one that begin tokens of the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hf_bpe.alignment._token_table import TokenTable, token_table
from hf_bpe.encoding._encoder import Numbers


class SharedIds(NamedTuple):
    """Tokens of two vocabularies that stand for the same bytes: `a[i]` and `b[i]` are ids of the same token.

    Attributes:
        a, b: int64, of shape (number of shared tokens); `a` is in order.
    """

    a: Numbers
    b: Numbers


class SparseRows(NamedTuple):
    """A sparse matrix by rows: `scipy.sparse.csr_array((data, indices, indptr), shape)` takes these arrays.

    Attributes:
        data: float32: the values that are not 0.
        indices: int64: the column of each value.
        indptr: int64, of shape (rows + 1): the values of row i are `data[indptr[i] : indptr[i + 1]]`.
        shape: the numbers of rows and columns.
    """

    data: npt.NDArray[np.float32]
    indices: Numbers
    indptr: Numbers
    shape: tuple[int, int]


class PrefixMap(NamedTuple):
    """For each token of a teacher the longest token of a student that begins it.

    Attributes:
        ids: int64, of shape (ids of the teacher): the id of the student; -1 if there is none.
        sizes: int64: the number of bytes of that token; 0 if there is none.
        size: the number of ids of the student.
    """

    ids: Numbers
    sizes: Numbers
    size: int

    def to_sparse(self) -> SparseRows:
        """Return the matrix, ids of the teacher by ids of the student, that is 1 where one begins the other.

        Probabilities of the teacher's next token, multiplied by it, are the student's.

        >>> from hf_bpe import BPETokenizer
        >>> teacher = BPETokenizer.train(["slow lower lowest"] * 2, vocab_size=263)
        >>> student = BPETokenizer.train(["the slow newest, the newest slow"] * 2, vocab_size=263)
        >>> matrix = prefix_map(teacher, student).to_sparse()
        >>> matrix.shape, len(matrix.data), matrix.indices[[115, 261]].tolist()  # "s" → "s", "slow" → "slo"
        ((263, 263), 263, [115, 262])
        """
        has_one = self.ids >= 0
        indptr = np.concatenate([[0], np.cumsum(has_one)])
        shape = len(self.ids), self.size
        return SparseRows(np.ones(int(indptr[-1]), np.float32), self.ids[has_one], indptr, shape)


def shared_ids(a: object, b: object) -> SharedIds:
    """Return the ids of the tokens that two tokenizers share.

    Ordinary tokens are shared if they stand for the same bytes (see `token_bytes`), special tokens if they have the
    same content; never one of each kind. No id is in two pairs: if a vocabulary has a token several times, as those
    with byte fallback have letters and their bytes, it is the one that text is encoded to.

    Args:
        a, b: see `token_bytes`.

    >>> from hf_bpe import BPETokenizer
    >>> one = BPETokenizer.train(["slow lower lowest"] * 2, vocab_size=263)
    >>> other = BPETokenizer.train(["the slow newest, the newest slow"] * 2, vocab_size=263)
    >>> pairs = shared_ids(one, other)
    >>> len(pairs.a), bool((pairs.a == pairs.b).all())  # the bytes
    (256, True)
    """
    first, second = token_table(a), token_table(b)
    matches = _equal(first, second)
    own = first.by_preference.astype(np.int64)
    is_preferred = np.zeros(first.size, bool)
    is_preferred[own[_equal(first, first)[own] == own]] = True
    matches[~is_preferred & ~first.is_special] = -1
    ids = np.flatnonzero(matches >= 0)
    return SharedIds(ids, matches[ids])


def prefix_map(teacher: object, student: object) -> PrefixMap:
    """Return for each token of a teacher the longest ordinary token of a student that its bytes begin with.

    So probabilities of a teacher's next token become probabilities of a student's. Special tokens have the one of the
    same content. Of several tokens of the student with the same bytes it is the one that text is encoded to.

    Source: byte-prefix marginalization, arXiv 2607.22334.

    Args:
        teacher, student: see `token_bytes`.

    >>> from hf_bpe import BPETokenizer
    >>> teacher = BPETokenizer.train(["slow lower lowest"] * 2, vocab_size=263)
    >>> student = BPETokenizer.train(["the slow newest, the newest slow"] * 2, vocab_size=263)
    >>> found = prefix_map(teacher, student)
    >>> teacher.decode(261), student.decode(found.ids[261]), int(found.sizes[261])
    ('slow', 'slo', 3)
    """
    first, second = token_table(teacher), token_table(student)
    prefixes = first.longest_prefixes(second)
    _match_special_tokens(prefixes, first, second)
    return PrefixMap(prefixes, _sizes(prefixes, second), second.size)


def _equal(a: TokenTable, b: TokenTable) -> Numbers:
    """Return for each id of `a` the id of the same token of `b`; -1 if there is none."""
    matches = a.longest_prefixes(b)
    matches[_sizes(matches, b) != a.sizes] = -1
    _match_special_tokens(matches, a, b)
    return matches


def _sizes(matches: Numbers, table: TokenTable) -> Numbers:
    """Return the number of bytes of each token that was found; 0 for -1."""
    sizes: Numbers = np.zeros(len(matches), np.int64)
    sizes[matches >= 0] = table.sizes[matches[matches >= 0]]
    return sizes


def _match_special_tokens(matches: Numbers, a: TokenTable, b: TokenTable) -> None:
    """Match special tokens of `a` to special tokens of `b` with the same content only."""
    ids = {b.token(token_id): token_id for token_id in np.flatnonzero(b.is_special).tolist()}
    matches[a.is_special] = [ids.get(a.token(token_id), -1) for token_id in np.flatnonzero(a.is_special).tolist()]
