"""Train, use, measure, edit and convert byte-level BPE tokenizers, native to Hugging Face transformers.

Importing this registers `BPETokenizer` with `transformers.AutoTokenizer`; it imports neither torch nor, until
`BPETokenizer` is asked for, transformers.
"""

from typing import TYPE_CHECKING

from hf_bpe._version import __version__
from hf_bpe.core._model import BPEModel
from hf_bpe.counting._count import count
from hf_bpe.counting._sources import Source, plan
from hf_bpe.counting._word_counts import WordCounts
from hf_bpe.tokenizer._auto import register_when_imported
from hf_bpe.training._train import train, train_bpe

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

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


def __getattr__(name: str) -> object:
    if name == "BPETokenizer":
        from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

        return BPETokenizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_when_imported()
