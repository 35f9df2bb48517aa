"""Pre-tokenizers: how text is cut into pre-tokens before any merge, and the printable form of bytes."""

from hf_bpe.pretokenizers._byte_level import from_printable, to_printable
from hf_bpe.pretokenizers._named_patterns import CHAINS, NAMES, PATTERNS
from hf_bpe.pretokenizers._native_splitting import split
from hf_bpe.pretokenizers._pattern import UNICODE_VERSION, Pattern
from hf_bpe.pretokenizers._stages import (
    ByteLevel,
    CharDelimiterSplit,
    Digits,
    Metaspace,
    PreTokenizer,
    Punctuation,
    Split,
    Stage,
    Whitespace,
    WhitespaceSplit,
)

__all__ = [
    "CHAINS",
    "NAMES",
    "PATTERNS",
    "UNICODE_VERSION",
    "ByteLevel",
    "CharDelimiterSplit",
    "Digits",
    "Metaspace",
    "Pattern",
    "PreTokenizer",
    "Punctuation",
    "Split",
    "Stage",
    "Whitespace",
    "WhitespaceSplit",
    "from_printable",
    "split",
    "to_printable",
]
