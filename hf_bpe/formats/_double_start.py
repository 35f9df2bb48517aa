"""A warning for texts that begin with the token which the template puts before them."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tokenizers import AddedToken

from hf_bpe.encoding._encoder import AnyText, Options, TemplateIds

logger = logging.getLogger(__name__)

_warned: set[str] = set()


def warn_of_double_start(content: str) -> None:
    """Log, once for each token in a process, that a text begins with a special token that is added to it, too."""
    if content not in _warned:
        _warned.add(content)
        logger.warning(
            "a text begins with %r, and the tokenizer puts this token before each text, so that it is there twice; "
            "give add_special_tokens=False for text that a chat template rendered",
            content,
        )


def check_start(text: AnyText, template: TemplateIds, added_tokens: Mapping[int, AddedToken], options: Options) -> None:
    """Warn of a text that begins with the first token which a template puts before it.

    Args:
        text: the first of the texts of a call: whoever makes this mistake makes it in all.
        template: the ids that are put around it.
        added_tokens: id → token that is found in text.
        options: how it is encoded.
    """
    first = template[0][0] if template[0] else None
    if first is None or options.split_special_tokens or type(text) is not str:
        return
    if first in added_tokens:
        content = added_tokens[first].content
        if text.startswith(content):
            warn_of_double_start(content)
