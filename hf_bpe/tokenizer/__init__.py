"""BPETokenizer, the tokenizer for transformers, and the values that its methods take and return."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.tokenizer._canonical import CanonicalIds, Healing
    from hf_bpe.tokenizer._lazy_encodings import Encoding
    from hf_bpe.tokenizer._session import Change, Session
    from hf_bpe.tokenizer._template import Piece, Template
    from hf_bpe.tokenizer._token_files.encoding import EncodedFiles
    from hf_bpe.tokenizer._token_tree import Leaf, TokenTree
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

__all__ = [
    "BPETokenizer",
    "CanonicalIds",
    "Change",
    "EncodedFiles",
    "Encoding",
    "Healing",
    "Leaf",
    "Piece",
    "Session",
    "Template",
    "TokenTree",
]

# Imported on first use: importing transformers takes a second, and most modules of this package do not need it.
__getattr__ = lazy_exports(
    __name__,
    {
        "BPETokenizer": "hf_bpe.tokenizer._tokenization_bpe",
        "CanonicalIds": "hf_bpe.tokenizer._canonical",
        "Change": "hf_bpe.tokenizer._session",
        "EncodedFiles": "hf_bpe.tokenizer._token_files.encoding",
        "Encoding": "hf_bpe.tokenizer._lazy_encodings",
        "Healing": "hf_bpe.tokenizer._canonical",
        "Leaf": "hf_bpe.tokenizer._token_tree",
        "Piece": "hf_bpe.tokenizer._template",
        "Session": "hf_bpe.tokenizer._session",
        "Template": "hf_bpe.tokenizer._template",
        "TokenTree": "hf_bpe.tokenizer._token_tree",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
