"""Train, use, measure, edit and convert byte-level BPE tokenizers, native to Hugging Face transformers.

Importing this registers `BPETokenizer` with `transformers.AutoTokenizer`; it imports neither torch nor, until
`BPETokenizer` is asked for, transformers.
"""

from typing import TYPE_CHECKING

from hf_bpe.auto import register_when_imported
from hf_bpe.corpus import Source, plan
from hf_bpe.counting import count
from hf_bpe.counts import WordCounts
from hf_bpe.model import BPEModel
from hf_bpe.training import train, train_bpe

if TYPE_CHECKING:
    from hf_bpe.tokenization_bpe import BPETokenizer

__all__ = [
    "BPEModel",
    "BPETokenizer",
    "Source",
    "WordCounts",
    "__version__",
    "count",
    "plan",
    "train",
    "train_bpe",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "BPETokenizer":
        from hf_bpe.tokenization_bpe import BPETokenizer

        return BPETokenizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


register_when_imported()
