"""Splitting by the compiled expressions of the native core."""

import importlib.util

from hf_bpe.pretokenizers._native import compile_natively


def native_pieces(text, pattern):
    """Return the pre-tokens that the native core makes of a text as str; None if there is no program."""
    if importlib.util.find_spec("hf_bpe._native") is None:
        return None
    from hf_bpe import _native

    chain = compile_natively(_native, pattern)
    if isinstance(chain, str):
        return None
    pieces = _native.pre_tokenize(text.encode("utf-8", "surrogateescape"), chain)
    return [piece.decode("utf-8", "surrogateescape") for piece in pieces]
