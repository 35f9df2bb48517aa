"""The HTML table that notebooks show for a tokenizer: its model and its added tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hf_bpe.core._notebook import html_of_bytes, rows_of_model, signature_row, some_tokens, table

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer


def html_of_tokenizer(tokenizer: BPETokenizer) -> str:
    """Return a table that describes a tokenizer: its model, added tokens and settings.

    >>> from hf_bpe import BPETokenizer
    >>> "pad_token" in html_of_tokenizer(BPETokenizer.train(["low"], 257, pad_token="<pad>"))
    True
    """
    named = {name: html_of_bytes(str(token).encode(), 0) for name, token in tokenizer.special_tokens_map.items()}
    later = tokenizer.definition.tokens_added_later
    added = {token_id: token.content.encode() for token_id, token in later.items()}
    model, later_row = tokenizer.model, {"added later": some_tokens(added, added)}
    return table("BPETokenizer", {**named, **rows_of_model(model), **later_row, **signature_row(model)})
