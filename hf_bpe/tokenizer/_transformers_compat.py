"""Compatibility with older releases of transformers 5, detected by feature rather than by version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformers.tokenization_utils_base import PreTrainedTokenizerBase

# The replacements of `clean_up_tokenization_spaces`, in this order.
_CLEANED = (
    *((" .", "."), (" ?", "?"), (" !", "!"), (" ,", ","), (" ' ", "'")),
    *((" n't", "n't"), (" 'm", "'m"), (" 's", "'s"), (" 've", "'ve"), (" 're", "'re")),
)


def clean_up_tokenization(tokenizer: Any, text: str) -> str:
    """Remove spaces before punctuation as `PreTrainedTokenizerBase.clean_up_tokenization` does, new in 5.3."""
    if hasattr(PreTrainedTokenizerBase, "clean_up_tokenization"):
        cleaned: str = tokenizer.clean_up_tokenization(text)
        return cleaned
    for spaced, plain in _CLEANED:
        text = text.replace(spaced, plain)
    return text


@contextmanager
def constructor_errors() -> Iterator[None]:
    """Reraise the error of a tokenizer's constructor.

    Without protobuf, `from_pretrained` raises an ImportError instead before 5.6.
    """
    try:
        yield
    except ImportError as error:
        if error.__context__ is None or "protobuf" not in str(error):
            raise
        raise error.__context__ from None
