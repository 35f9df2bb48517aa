"""Splitting by the native core, next to what other engines make of a pattern."""

import importlib.util

from hf_bpe.engine._native_patterns import NotNativeError, native_pattern


def native_pieces(text, pattern):
    """Return the pre-tokens that the native core makes of a text as str; None if it cannot split by the pattern."""
    if importlib.util.find_spec("hf_bpe._native") is None:
        return None
    from hf_bpe import _native

    try:
        known = native_pattern(_native, pattern)
    except NotNativeError:
        return None
    pieces = _native.pre_tokenize(text.encode("utf-8", "surrogateescape"), known)
    return [piece.decode("utf-8", "surrogateescape") for piece in pieces]
