"""Splitting by expressions: by the compiled ones of the native core, and by `tokenizers`."""

import functools

from tokenizers import Regex, pre_tokenizers

from hf_bpe._native_core import native_core
from hf_bpe.pretokenizers._native_splitting import compile_natively


def native_pieces(text, pattern):
    """Return the pre-tokens that the core makes of a text by a compiled pattern; None if there is no program."""
    chain = compile_natively(native_core(), pattern.chain)
    if isinstance(chain, str):
        return None
    pieces = native_core().pre_tokenize(text.encode("utf-8", "surrogateescape"), chain)
    return [piece.decode("utf-8", "surrogateescape") for piece in pieces]


@functools.lru_cache(maxsize=512)
def splitter(*expressions):
    """Return the pre-tokenizer of `tokenizers` that cuts by each expression in turn."""
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(each), "isolated") for each in expressions])


def split_by_tokenizers(text, expression):
    """Return the pieces into which `tokenizers` cuts a text."""
    return [piece for piece, _ in splitter(expression).pre_tokenize_str(text)]
