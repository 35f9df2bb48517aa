"""Normalizers: what is done to text before it is split."""

from hf_bpe.normalizers._normalizer import Normalizer, to_nfc

__all__ = ["Normalizer", "to_nfc"]
