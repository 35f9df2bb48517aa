"""The bulk methods of BPETokenizer: checks of their arguments, and what is more than a call of the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from transformers.utils import logging

from hf_bpe._utils.arguments import (
    Check,
    at_least,
    check_flag,
    check_int,
    check_sequence,
    optional,
    wrong_type,
)
from hf_bpe._utils.processes import default_threads
from hf_bpe._utils.tables import elements, refuse_tables
from hf_bpe.encoding import _randomness
from hf_bpe.encoding._batch_layout import MAX_IDS
from hf_bpe.encoding._encoder import AnyText

logger = logging.get_logger(__name__)

_AT_MOST_THREADS = 1 << 16

ARGUMENTS: dict[str, Check] = {
    **_randomness.ARGUMENTS,
    "split_special_tokens": optional(check_flag),
    "num_workers": optional(at_least(1)),
    "length": optional(lambda name, value: check_int(name, value, 0, MAX_IDS)),
}
"""Checks of the arguments of bulk methods."""


def are_rows_of_ids(rows: Sequence[Any]) -> bool:
    """Say whether all rows are lists or tuples that begin with an int, as nearly always, without a call for each."""
    return {*map(type, rows)} <= {list, tuple} and {type(row[0]) for row in rows if row} <= {int}


def are_several_rows(sequences: Any) -> bool:
    """Say whether these are surely rows of ids: lists or arrays of them, or an array of two dimensions."""
    if isinstance(sequences, (list, tuple)):
        if are_rows_of_ids(sequences):
            return len(sequences) > 0
        return all(getattr(row, "ndim", 0) == 1 for row in sequences)
    return getattr(sequences, "ndim", 0) == 2 and len(sequences) > 0


def check_text(name: str, value: Any) -> Any:
    """Return the value if it is a str or bytes."""
    if not isinstance(value, (str, bytes)):
        try:
            memoryview(value)  # a mutable buffer, which the native core would read while another thread changes it
        except TypeError:
            raise wrong_type(name, "str or bytes", value) from None
        raise TypeError(
            f"{name}: expected str or bytes, got {type(value).__name__}, which can change; give bytes(text)"
        )
    return value


def check_texts(name: str, value: Any) -> list[AnyText]:
    """Return a copy of a list of texts, each str or bytes, because another thread may change the list."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: expected a list of texts, got a single {type(value).__name__}; write [text]")
    if isinstance(value, (list, tuple)):
        texts = [*value]
    else:
        refuse_tables(name, value)
        texts = [*elements(name, check_sequence(name, value, "a list of texts"))]
    if not (all(map(str.__instancecheck__, texts)) or {*map(type, texts)} <= {str, bytes}):
        for at, text in enumerate(texts):
            check_text(f"{name}[{at}]", text)
    return texts


def threads_of(num_workers: int | None) -> int:
    """Return the number of threads for `num_workers`."""
    return default_threads() if num_workers is None else min(num_workers, _AT_MOST_THREADS)
