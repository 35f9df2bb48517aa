"""Accelerate fast tokenizers of transformers: one that is loaded, or all that AutoTokenizer loads.

The accelerated classes, for each class of fast tokenizers one that is also a `BPETokenizerFast`, are made when they are
needed. So that pickles find them in any process, each is an attribute of this module: the module and name of the class
in transformers, with `/` for `.`.
"""

from __future__ import annotations

import importlib
from functools import cache, reduce
from typing import Any, TypeVar

from transformers.tokenization_utils_tokenizers import PreTrainedTokenizerFast
from transformers.utils import logging

from hf_bpe._utils.arguments import short_repr
from hf_bpe.encoding._sessions.prefix_cache import PrefixCache
from hf_bpe.fast._tokenization_fast import BPETokenizerFast
from hf_bpe.tokenizer._calls.direct import ALL_HOOKS
from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

logger = logging.get_logger(__name__)

Tokenizer = TypeVar("Tokenizer")


def accelerate(tokenizer: Tokenizer, *, prefix_cache: PrefixCache | int | str | None = None) -> Tokenizer:
    """Return a tokenizer that does what a fast tokenizer does, with the encoder of hf_bpe.

    The result has the same ids, settings, chat template and files. Its class is a `BPETokenizerFast` and a subclass of
    the tokenizer's own class, whose name it has. The two share the `tokenizers.Tokenizer`, but not their settings.

    Args:
        tokenizer: a fast tokenizer of transformers with byte-level BPE. It stays as it is, unless it is accelerated
            already and gets a cache.
        prefix_cache: where beginnings of texts are kept, for texts that begin alike, such as growing conversations: the
            memory of a new cache, such as "256MB", or a `hf_bpe.encoding.PrefixCache`. None for nowhere.

    Raises:
        TypeError: it is not a fast tokenizer of transformers.
        ValueError: it is not byte-level BPE, has a feature that cannot be represented, which the message names, or
            does not give the same ids for every text that is tried.

    >>> from hf_bpe import BPETokenizer
    >>> from transformers import PreTrainedTokenizerFast
    >>> _ = BPETokenizer.train(["low lower lowest"], vocab_size=258).save_pretrained("low", portable=True)
    >>> tokenizer = accelerate(PreTrainedTokenizerFast.from_pretrained("low"))
    >>> tokenizer.encode("low lower"), isinstance(tokenizer, PreTrainedTokenizerFast)
    ([257, 32, 257, 101, 114], True)
    """
    accelerated: Tokenizer = _accelerated(tokenizer, PrefixCache.of(prefix_cache))
    return accelerated


def _accelerated(tokenizer: Any, cache: PrefixCache | None) -> Any:
    if not isinstance(tokenizer, PreTrainedTokenizerFast):
        advice = ""
        if isinstance(tokenizer, BPETokenizer):
            advice = "; it needs no acceleration"
        elif isinstance(tokenizer, str):
            advice = f"; write accelerate(AutoTokenizer.from_pretrained({short_repr(tokenizer)}))"
        raise TypeError(
            "accelerate: expected a fast tokenizer of transformers (PreTrainedTokenizerFast), got "
            f"{type(tokenizer).__name__}{advice}"
        )
    if isinstance(tokenizer, BPETokenizerFast):
        if cache is not None:
            tokenizer.prefix_cache = cache
        return tokenizer
    name = f"{type(tokenizer).__name__} {tokenizer.name_or_path!r}"
    try:
        kind: Any = type(tokenizer)
        other: Any = object.__new__(_accelerated_class(kind))
        # Settings are changed in place by transformers.
        settings = {
            key: value.copy() if type(value) in (dict, list) else value for key, value in vars(tokenizer).items()
        }
        other._tokenizer = backend = settings.pop("_tokenizer")
        vars(other).update(settings)
        for hook in ALL_HOOKS & settings.keys():
            setattr(other, hook, settings[hook])
        vars(other)["_pipeline_slot"].make_pipeline(backend)
        if cache is not None:
            other.prefix_cache = cache
    except ValueError as error:
        raise ValueError(f"accelerate: {name} cannot be accelerated: {error}") from error
    return other


def patch_transformers(*, prefix_cache: PrefixCache | int | str | None = None) -> None:
    """Make `AutoTokenizer.from_pretrained` accelerate every tokenizer that it loads.

    Args:
        prefix_cache: the `prefix_cache` of all these tokenizers, which share it; see `accelerate`. None for none.

    A tokenizer that cannot be accelerated is returned as it is, with the reason logged as a warning; tokenizers of
    hf_bpe are returned without one. Each is verified once in a process, however often it is loaded. Patching again
    changes the cache only; `unpatch_transformers` undoes it.
    """
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained = _accelerating(_without_acceleration(AutoTokenizer), PrefixCache.of(prefix_cache))


def unpatch_transformers() -> None:
    """Make `AutoTokenizer.from_pretrained` what it was before `patch_transformers`."""
    from transformers import AutoTokenizer

    AutoTokenizer.from_pretrained = _without_acceleration(AutoTokenizer)


def _without_acceleration(auto_tokenizer: type) -> Any:
    """Return what `from_pretrained` is without acceleration."""
    method = vars(auto_tokenizer)["from_pretrained"]
    function = getattr(method, "__func__", None)
    # A wrapper of others has copied attributes of ours.
    return method if hasattr(function, "__wrapped__") else getattr(function, "plain", method)


def _accelerating(plain: Any, cache: PrefixCache | None) -> Any:
    def from_pretrained(cls: type, /, *args: object, **kwargs: object) -> object:
        loaded = accelerated_if_possible(plain.__get__(None, cls)(*args, **kwargs), cache)
        if isinstance(loaded, BPETokenizerFast):
            vars(loaded)["_pipeline_slot"].seal(loaded, kwargs.values())
        return loaded

    from_pretrained.__doc__ = getattr(plain, "__func__", plain).__doc__
    vars(from_pretrained)["plain"] = plain
    return classmethod(from_pretrained)


def accelerated_if_possible(tokenizer: object, cache: PrefixCache | None = None) -> Any:
    """Return an accelerated tokenizer with a cache, or the tokenizer as it is and log why."""
    try:
        if isinstance(tokenizer, BPETokenizer):
            if cache is not None:
                tokenizer.prefix_cache = cache
            return tokenizer
        return _accelerated(tokenizer, cache)
    except (TypeError, ValueError) as error:
        logger.warning("%s", error)
        return tokenizer


@cache
def _accelerated_class(kind: Any) -> Any:
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
        return _accelerated_class(reduce(getattr, path.split("."), importlib.import_module(module)))
    except ImportError as error:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}: {error}") from error
