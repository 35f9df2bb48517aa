"""Encoding and decoding: encoders, added tokens, sessions and streams."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.encoding._cuts.safe import cut_into_documents
    from hf_bpe.encoding._lazy_encodings import Encoding
    from hf_bpe.encoding._merge_trees import parts_of_tokens, unreachable
    from hf_bpe.encoding._sessions.prefix_cache import PrefixCache, PrefixCacheStatistics
    from hf_bpe.encoding._sessions.session import Change, Session
    from hf_bpe.encoding._sessions.streams import DecodeStream

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
        "_cuts.safe": "cut_into_documents",
        "_lazy_encodings": "Encoding",
        "_merge_trees": "parts_of_tokens unreachable",
        "_sessions.prefix_cache": "PrefixCache PrefixCacheStatistics",
        "_sessions.session": "Change Session",
        "_sessions.streams": "DecodeStream",
    },
)
