"""A context and its continuation encoded as one text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hf_bpe._utils.arguments import check_flag, check_str
from hf_bpe.alignment._spans import row_text
from hf_bpe.alignment._token_table import token_table
from hf_bpe.encoding._native_paths import encode_batch
from hf_bpe.formats._pipeline import Pipeline


class EncodedPair(NamedTuple):
    """The ids of a context and its continuation.

    Attributes:
        ids: the ids of both as one text.
        start: the index of the first id that holds a part of the continuation; if no id does, that of the first special
            token after the text, or the number of ids.
        spans_join: whether this id also holds the end of the context.
    """

    ids: list[int]
    start: int
    spans_join: bool


def encode_pair(tokenizer: object, context: str, continuation: str, *, add_special_tokens: bool = True) -> EncodedPair:
    """Return the ids of a context and its continuation, encoded as one text, and where the continuation begins.

    So a model sees the ids that it was trained on, whatever side of the join a space is on. Where a token spans the
    join, `ids[start:]` hold the end of the context, too. The continuation begins where the text of the ids first
    differs from that of the context alone; so it does where a normalizer joins the two, as an accent to its letter.

    Args:
        tokenizer: a tokenizer of hf_bpe, or a fast tokenizer of transformers.
        context: the first part of the text.
        continuation: the second part.
        add_special_tokens: add the special tokens of the template, as in `encode`.

    >>> from hf_bpe import BPETokenizer
    >>> tokenizer = BPETokenizer.train(["slow lower lowest"] * 2, vocab_size=263)
    >>> encode_pair(tokenizer, "slow", " lowest"), encode_pair(tokenizer, "slow ", "lowest")
    (EncodedPair(ids=[261, 262], start=1, spans_join=False), EncodedPair(ids=[261, 262], start=1, spans_join=True))
    """
    texts = [check_str("context", context), context + check_str("continuation", continuation)]
    adds, table = check_flag("add_special_tokens", add_special_tokens), token_table(tokenizer)
    before, after, rows = _encoded(tokenizer, texts, adds)
    of_context, of_both = (row_text(table, table.checked("ids", row), False, False) for row in rows)
    size = min(len(of_context.data), len(of_both.data))
    alone, together = (np.frombuffer(text.data, np.uint8, size) for text in (of_context, of_both))
    is_other = alone != together
    same = int(is_other.argmax()) if is_other.any() else size
    reaches = of_both.ends > same
    start = int(reaches.argmax()) if reaches.any() else len(reaches)
    spans_join = bool(reaches.any()) and bool(of_both.begins[start] < len(of_context.data))
    return EncodedPair([*before, *rows[1], *after], len(before) + start, spans_join)


def _encoded(tokenizer: Any, texts: list[str], adds: bool) -> tuple[list[int], list[int], list[list[int]]]:
    """Return the special tokens before and after a text, and the ids of texts without these."""
    pipeline = tokenizer if isinstance(tokenizer, Pipeline) else getattr(tokenizer, "_pipeline", None)
    if isinstance(pipeline, Pipeline):
        as_text = getattr(tokenizer, "split_special_tokens", None)
        before, after = pipeline.template_ids(1, adds)
        return [*before], [*after], encode_batch(pipeline.encoder, [*texts], pipeline.options(as_text), 1)
    rows = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    whole = tokenizer(texts[1], add_special_tokens=adds)["input_ids"]
    # The special tokens of the template are the same for any text; this one has at least one id.
    mask = tokenizer("a", add_special_tokens=adds, return_special_tokens_mask=True)["special_tokens_mask"]
    number = mask.index(0) if 0 in mask else len(mask)
    return whole[:number], whole[number + len(rows[1]) :], rows
