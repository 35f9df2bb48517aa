"""Train, use, measure, edit and convert byte-level BPE tokenizers, native to Hugging Face transformers.

Importing this registers `BPETokenizer` with `transformers.AutoTokenizer`; it imports neither torch nor, until
`BPETokenizer` is asked for, transformers.
"""

from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports
from hf_bpe._utils.progress import Event, Listener
from hf_bpe._version import __version__
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._count import count
from hf_bpe.counting._sources import Source, plan
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.tokenizer._auto import register_when_imported
from hf_bpe.training._train import train, train_bpe

if TYPE_CHECKING:
    from hf_bpe.fast._accelerate import accelerate, patch_transformers, unpatch_transformers
    from hf_bpe.fast._tokenization_fast import BPETokenizerFast
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

__all__ = [
    "BPEModel",
    "BPETokenizer",
    "BPETokenizerFast",
    "Event",
    "Listener",
    "Source",
    "WordCounts",
    "__version__",
    "accelerate",
    "count",
    "patch_transformers",
    "plan",
    "train",
    "train_bpe",
    "unpatch_transformers",
]

_SUBMODULES = ("analysis", "conversion", "distributed", "editing", "playground")

# These import transformers, or are not needed by most programs.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "BPETokenizer": "hf_bpe.tokenizer._tokenization_bpe",
        "BPETokenizerFast": "hf_bpe.fast._tokenization_fast",
        **dict.fromkeys(("accelerate", "patch_transformers", "unpatch_transformers"), "hf_bpe.fast._accelerate"),
    },
    _SUBMODULES,
)


register_when_imported()
