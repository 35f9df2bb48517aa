"""Splitting by the compiled expressions of the native core."""

from hf_bpe._native_core import native_core
from hf_bpe.pretokenizers import Pattern
from hf_bpe.pretokenizers._native import compile_natively


def native_pieces(text, pattern):
    """Return the pre-tokens that the core makes of a text by a compiled pattern; None if there is no program."""
    chain = compile_natively(native_core(), Pattern(pattern).chain)
    if isinstance(chain, str):
        return None
    pieces = native_core().pre_tokenize(text.encode("utf-8", "surrogateescape"), chain)
    return [piece.decode("utf-8", "surrogateescape") for piece in pieces]
