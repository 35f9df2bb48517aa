"""Normalizers: what is done to text before it is split."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.normalizers._apply import to_nfc
    from hf_bpe.normalizers._names import canonical_normalizer, normalizer_json

__all__ = ["canonical_normalizer", "normalizer_json", "to_nfc"]

# Applying normalizers takes numpy and tokenizers, which `import hf_bpe` does not need.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "canonical_normalizer": "hf_bpe.normalizers._names",
        "normalizer_json": "hf_bpe.normalizers._names",
        "to_nfc": "hf_bpe.normalizers._apply",
    },
)
