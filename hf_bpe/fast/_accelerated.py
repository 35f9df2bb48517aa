"""The accelerated classes: for each fast tokenizer class of transformers one that is also a `BPETokenizerFast`.

They are made when they are needed. So that pickles find them in any process, each is an attribute of this module: the
module and name of the class in transformers, with `/` for `.`.
"""

from __future__ import annotations

import importlib
from functools import cache, reduce
from typing import Any

from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast

from hf_bpe.fast._tokenization_fast import BPETokenizerFast


@cache
def accelerated_class(kind: Any) -> Any:
    """Return the accelerated class of a class of fast tokenizers; it has the same name.

    Methods of the class come first, and those that they call of `PreTrainedTokenizerFast` are ours.
    """
    if issubclass(kind, BPETokenizerFast):
        return kind
    bases = (BPETokenizerFast,) if kind is PreTrainedTokenizerFast else (kind, BPETokenizerFast)
    place = f"{kind.__module__}:{kind.__qualname__}".replace(".", "/")
    names = {"__module__": __name__, "__qualname__": place, "__doc__": kind.__doc__, "_accelerates": kind}
    # transformers looks for it in the class itself: subclasses that have one do not read tokenizer.json as a whole.
    if "__init__" in vars(kind) and kind is not PreTrainedTokenizerFast:
        names["__init__"] = vars(kind)["__init__"]
    return type(kind.__name__, bases, names)


def __getattr__(name: str) -> Any:
    module, colon, path = name.replace("/", ".").partition(":")
    if not colon:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return accelerated_class(reduce(getattr, path.split("."), importlib.import_module(module)))
    except ImportError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {error}") from error
