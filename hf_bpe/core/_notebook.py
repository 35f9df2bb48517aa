"""What notebooks show of a model or a tokenizer: what it is, in a few rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from hf_bpe._utils.visible import fragment, html_of_token
from hf_bpe.core._model import BPEModel

if TYPE_CHECKING:
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

_SHOWN = 8
_LONGEST = 32  # bytes of a token that are shown


def html_of_model(model: BPEModel) -> str:
    """Return a table of what a model is, as HTML for notebooks.

    >>> "merges" in html_of_model(BPEModel({97: b"a", 98: b"b", 99: b"ab"}, [(b"a", b"b")]))
    True
    """
    return _table("BPEModel", _rows(model))


def html_of_tokenizer(tokenizer: BPETokenizer) -> str:
    """Return a table of what a tokenizer is: its model, and what it adds to it.

    >>> from hf_bpe import BPETokenizer
    >>> "pad_token" in html_of_tokenizer(BPETokenizer.train(["low"], 257, pad_token="<pad>"))
    True
    """
    named = {name: f"{_token(str(token).encode(), 0)}" for name, token in tokenizer.special_tokens_map.items()}
    later = tokenizer.definition.tokens_added_later
    added = {token_id: token.content.encode() for token_id, token in later.items()}
    return _table("BPETokenizer", {**_rows(tokenizer.model), "added later": _some(added, added), **named})


def _rows(model: BPEModel) -> dict[str, str | None]:
    count_of_bytes = sum(len(token) == 1 for token in model.vocab.values())
    counts = f"{count_of_bytes} bytes, {len(model.special_tokens)} special"
    longest = sorted(model.vocab, key=lambda token_id: -len(model.vocab[token_id]))[:_SHOWN]
    return {
        "tokens": f"{model.vocab_size}: {counts}; ids {min(model.vocab, default=0)} to {max(model.vocab, default=0)}",
        "pattern": f"<code>{escape(model.pattern or 'none')}</code>",
        "normalizer": model.normalizer,
        "ignore_merges": "yes" if model.ignore_merges else None,
        "special tokens": _some(model.special_ids().values(), model.vocab),
        "merges": str(len(model.merges)),
        "first merges": _merges(model.merges[:_SHOWN]),
        "last merges": _merges(model.merges[_SHOWN:][-_SHOWN:]),
        "longest tokens": _some(longest, model.vocab),
        "signature": f"<code>{escape(model.signature)}</code>",
    }


def _table(title: str, rows: Mapping[str, str | None]) -> str:
    cells = (f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items() if value)
    return fragment(f"<table>\n<caption>{title}</caption>\n{''.join(cells)}\n</table>")


def _some(ids: Iterable[int], tokens: Mapping[int, bytes]) -> str:
    """Return some tokens with their ids."""
    ids = [*ids]
    shown = [f"{_token(tokens[each], number)}&nbsp;{each}" for number, each in enumerate(ids[:_SHOWN])]
    return ", ".join([*shown, *(["…"] if len(ids) > _SHOWN else [])])


def _merges(merges: Iterable[tuple[bytes, bytes]]) -> str:
    return ", ".join(f"{_token(first, 0)}&nbsp;{_token(second, 1)}" for first, second in merges)


def _token(token: bytes, colour: int) -> str:
    """Return a token as HTML; of a long one its beginning, cut between characters."""
    if len(token) <= _LONGEST:
        return html_of_token(token, colour)
    end = _LONGEST
    while end > _LONGEST - 4 and token[end] & 0xC0 == 0x80:
        end -= 1
    return html_of_token(token[:end], colour) + "…"
