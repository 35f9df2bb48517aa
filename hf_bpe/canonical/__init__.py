"""Canonical ids: check and repair them, heal prompts, and mask the tokens that may not follow."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.canonical._canonical import CanonicalIds, Healing

__all__ = ["CanonicalIds", "Healing"]

# These import numpy, which `import hf_bpe` does not need.
__getattr__, __dir__ = lazy_exports(__name__, {"_canonical": "CanonicalIds Healing"})
