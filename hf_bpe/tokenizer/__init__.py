"""The tokenizers for transformers: BPETokenizer, and BPETokenizerFast, which accelerates fast tokenizers."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.tokenizer._accelerate import accelerate, patch_transformers, unpatch_transformers
    from hf_bpe.tokenizer._canonical import CanonicalIds, Healing
    from hf_bpe.tokenizer._lazy_encodings import Encoding
    from hf_bpe.tokenizer._session import Change, Session
    from hf_bpe.tokenizer._template import Piece, Template
    from hf_bpe.tokenizer._token_files.encoding import EncodedFiles
    from hf_bpe.tokenizer._token_tree import Leaf, TokenTree
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer
    from hf_bpe.tokenizer._tokenization_fast import BPETokenizerFast

__all__ = [
    "BPETokenizer",
    "BPETokenizerFast",
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
    "accelerate",
    "patch_transformers",
    "unpatch_transformers",
]

# Imported on first use: importing transformers takes a second, and most modules of this package do not need it.
__getattr__ = lazy_exports(
    __name__,
    {
        "BPETokenizer": "hf_bpe.tokenizer._tokenization_bpe",
        "BPETokenizerFast": "hf_bpe.tokenizer._tokenization_fast",
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
        **dict.fromkeys(("accelerate", "patch_transformers", "unpatch_transformers"), "hf_bpe.tokenizer._accelerate"),
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
