"""Compatibility with older releases of transformers 5, detected by feature rather than by version."""

from __future__ import annotations

from typing import Any

from transformers.tokenization_utils_base import PreTrainedTokenizerBase
from transformers.utils import logging

from hf_bpe.formats._folder.config import INSISTS

logger = logging.get_logger(__name__)

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


def cleans_up(tokenizer: Any, option: bool | None) -> bool:
    """Return whether decoding by a fast tokenizer with byte-level BPE cleans up spaces.

    Releases of transformers that have a second setting ignore this for BPE, and say so once, unless it insists.
    """
    if not (tokenizer.clean_up_tokenization_spaces if option is None else option):
        return False
    if getattr(tokenizer, INSISTS, True):
        return True
    logger.warning_once(
        "transformers ignores clean_up_tokenization_spaces=True for BPE, whose texts it would corrupt; set it to "
        f"False, or {INSISTS} to True"
    )
    return False
