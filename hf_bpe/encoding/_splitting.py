"""Splitting of text into pre-tokens by the native core, or by the reference where the core cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hf_bpe import reference
from hf_bpe._native_core import native_core
from hf_bpe.pretokenizers._native_splitting import native_pattern, splits_natively

if TYPE_CHECKING:
    from hf_bpe.pretokenizers._pattern import Pattern


def pre_tokenize(data: bytes, pattern: Pattern) -> list[bytes]:
    """Cut text into pre-tokens by the native core; by the reference if there is no core, or it refuses the pattern."""
    native = native_core()
    if native is None or not splits_natively(pattern):
        return reference.pre_tokenize(data, pattern)
    pieces: list[bytes] = native.pre_tokenize(data, native_pattern(native, pattern))
    return pieces
