"""Train, use, measure, edit and convert BPE tokenizers, native to Hugging Face transformers.

Importing this registers `BPETokenizer` with `transformers.AutoTokenizer`; it imports neither torch nor, until
`BPETokenizer` is asked for, transformers.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hf_bpe._utils.lazy_exports import lazy_exports
from hf_bpe._version import __version__
from hf_bpe.tokenizer._auto import register_when_imported

if TYPE_CHECKING:
    # So that type checkers know `hf_bpe.editing` after `import hf_bpe`, too.
    from hf_bpe import alignment as alignment
    from hf_bpe import analysis as analysis
    from hf_bpe import canonical as canonical
    from hf_bpe import conversion as conversion
    from hf_bpe import core as core
    from hf_bpe import counting as counting
    from hf_bpe import distributed as distributed
    from hf_bpe import editing as editing
    from hf_bpe import encoding as encoding
    from hf_bpe import fast as fast
    from hf_bpe import formats as formats
    from hf_bpe import normalizers as normalizers
    from hf_bpe import playground as playground
    from hf_bpe import pretokenizers as pretokenizers
    from hf_bpe import reference as reference
    from hf_bpe import token_files as token_files
    from hf_bpe import tokenizer as tokenizer
    from hf_bpe import training as training
    from hf_bpe._utils.progress import Event, Listener
    from hf_bpe.core._model import BPEModel
    from hf_bpe.counting._count import count
    from hf_bpe.counting._sources import Source, plan
    from hf_bpe.counting._word_counts import WordCounts
    from hf_bpe.fast._accelerated import accelerate, patch_transformers, unpatch_transformers
    from hf_bpe.fast._tokenization_fast import BPETokenizerFast
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer
    from hf_bpe.training._train import train, train_bpe

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

_PACKAGES = (
    *("alignment", "analysis", "canonical", "conversion", "core", "counting", "distributed", "editing", "encoding"),
    *("fast", "formats", "normalizers", "playground", "pretokenizers", "reference", "token_files", "tokenizer"),
    "training",
)


def _other_names() -> Mapping[str, str]:
    from hf_bpe.tokenizer._other_names import OTHER_NAMES_OF_PACKAGE

    return OTHER_NAMES_OF_PACKAGE


if not TYPE_CHECKING:  # or type checkers would take any name
    # On first use: transformers and numpy take a second, and a program or a command needs few of these.
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "_utils.progress": "Event Listener",
            "core._model": "BPEModel",
            "counting._count": "count",
            "counting._sources": "Source plan",
            "counting._word_counts": "WordCounts",
            "training._train": "train train_bpe",
            "tokenizer._tokenization_bpe": "BPETokenizer",
            "fast._tokenization_fast": "BPETokenizerFast",
            "fast._accelerated": "accelerate patch_transformers unpatch_transformers",
        },
        _PACKAGES,
        other_names=_other_names,
    )


register_when_imported()
