"""The text of ids: bytes of tokens, spans of ids, alignment of two tokenizers, translation between vocabularies.

All take the tokenizers of hf_bpe and any fast tokenizer of transformers with a byte-level vocabulary or one with byte
fallback; only a `Translator` writes the ids of a tokenizer of hf_bpe. They need the native core.
"""

from hf_bpe.alignment._align import Alignment, align
from hf_bpe.alignment._pairs import EncodedPair, encode_pair
from hf_bpe.alignment._spans import Spans, TokenBytes, spans, token_bytes
from hf_bpe.alignment._translator import Translator
from hf_bpe.alignment._vocabularies import PrefixMap, SharedIds, SparseRows, prefix_map, shared_ids

__all__ = [
    "Alignment",
    "EncodedPair",
    "PrefixMap",
    "SharedIds",
    "Spans",
    "SparseRows",
    "TokenBytes",
    "Translator",
    "align",
    "encode_pair",
    "prefix_map",
    "shared_ids",
    "spans",
    "token_bytes",
]
