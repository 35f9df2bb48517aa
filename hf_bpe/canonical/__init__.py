"""Canonical ids: check and repair them, heal prompts, and mask the tokens that may not follow."""

from hf_bpe.canonical._canonical import CanonicalIds, Healing

__all__ = ["CanonicalIds", "Healing"]
