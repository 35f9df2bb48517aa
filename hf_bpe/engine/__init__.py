"""Encoding and decoding by the native core or, where it is not built, by plain Python, with the same results."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.engine._decode_stream import DecodeStream
    from hf_bpe.engine._dispatch import native_core
    from hf_bpe.engine._merge_trees import parts_of_tokens, unreachable
    from hf_bpe.engine._normalized_texts import NormalizedTexts
    from hf_bpe.engine._normalizers import to_nfc
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

# `import hf_bpe` needs neither numpy nor tokenizers, which most of these import.
__getattr__ = lazy_exports(
    __name__,
    {
        "DecodeStream": "hf_bpe.engine._decode_stream",
        "NormalizedTexts": "hf_bpe.engine._normalized_texts",
        "cut_into_documents": "hf_bpe.engine._safe_cuts",
        "native_core": "hf_bpe.engine._dispatch",
        "parts_of_tokens": "hf_bpe.engine._merge_trees",
        "to_nfc": "hf_bpe.engine._normalizers",
        "unreachable": "hf_bpe.engine._merge_trees",
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
