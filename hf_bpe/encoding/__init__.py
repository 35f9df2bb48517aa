"""Encoding and decoding: encoders, added tokens, sessions and streams."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.encoding._decode_stream import DecodeStream
    from hf_bpe.encoding._lazy_encodings import Encoding
    from hf_bpe.encoding._merge_trees import parts_of_tokens, unreachable
    from hf_bpe.encoding._prefix_cache import PrefixCache, PrefixCacheStatistics
    from hf_bpe.encoding._safe_cuts import cut_into_documents
    from hf_bpe.encoding._session import Change, Session

__all__ = [
    "Change",
    "DecodeStream",
    "Encoding",
    "PrefixCache",
    "PrefixCacheStatistics",
    "Session",
    "cut_into_documents",
    "parts_of_tokens",
    "unreachable",
]

# `import hf_bpe` needs neither numpy nor tokenizers, which these import.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "_decode_stream": "DecodeStream",
        "_lazy_encodings": "Encoding",
        "_merge_trees": "parts_of_tokens unreachable",
        "_prefix_cache": "PrefixCache PrefixCacheStatistics",
        "_safe_cuts": "cut_into_documents",
        "_session": "Change Session",
    },
)
