"""Files of token ids in the formats of trainers: encoded in parallel, resumably, and written atomically.

Sources become pieces on disk, in any order. The pieces in their order are one stream of ids, which packing cuts into
rows, and rows fill shards. A format is a writer of rows that knows nothing else.
"""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from hf_bpe.token_files._manifest import EncodedFiles
    from hf_bpe.token_files._merge import merge_manifests

__all__ = ["EncodedFiles", "merge_manifests"]

# The modules of the formats need less than this one.
__getattr__, __dir__ = lazy_exports(__name__, {"_manifest": "EncodedFiles", "_merge": "merge_manifests"})
