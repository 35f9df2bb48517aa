"""Work on clusters: counting on Ray, and ids for the columns of Arrow that engines hand from machine to machine."""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports
from hf_bpe.distributed._ray import count

if TYPE_CHECKING:
    from hf_bpe.distributed._arrow import ArrowEncoder

__all__ = ["ArrowEncoder", "count"]

# Encoding takes transformers, which counting does not need.
__getattr__, __dir__ = lazy_exports(__name__, {"ArrowEncoder": "hf_bpe.distributed._arrow"})
