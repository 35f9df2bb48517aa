"""Encoding and decoding by the native core or, where it is not built, by plain Python, with the same results."""

from hf_bpe.engine._decode_stream import DecodeStream
from hf_bpe.engine._dispatch import native_core
from hf_bpe.engine._merge_trees import parts_of_tokens, unreachable
from hf_bpe.engine._normalizers import NormalizedTexts, to_nfc
from hf_bpe.engine._safe_cuts import cut_into_documents

__all__ = [
    "DecodeStream",
    "NormalizedTexts",
    "cut_into_documents",
    "native_core",
    "parts_of_tokens",
    "to_nfc",
    "unreachable",
]
