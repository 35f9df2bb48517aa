"""The HTML table that notebooks show for a model or a tokenizer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from hf_bpe._utils.visible import fold, fragment, html_in_color, pieces

if TYPE_CHECKING:
    from hf_bpe.core._model import BPEModel
    from hf_bpe.tokenizer._tokenization_bpe import BPETokenizer

_SHOWN = 8
_LONGEST = 32  # bytes of a token that are shown, or signs of a folded one


def html_of_model(model: BPEModel) -> str:
    """Return a table that describes a model, as HTML for notebooks.

    >>> from hf_bpe import BPEModel
    >>> "merges" in html_of_model(BPEModel({97: b"a", 98: b"b", 99: b"ab"}, [(b"a", b"b")]))
    True
    """
    return _table("BPEModel", _rows_of_model(model))


def html_of_tokenizer(tokenizer: BPETokenizer) -> str:
    """Return a table that describes a tokenizer: its model, added tokens and settings.

    >>> from hf_bpe import BPETokenizer
    >>> "pad_token" in html_of_tokenizer(BPETokenizer.train(["low"], 257, pad_token="<pad>"))
    True
    """
    named = {name: _html_of_bytes(str(token).encode(), 0) for name, token in tokenizer.special_tokens_map.items()}
    later = tokenizer.definition.tokens_added_later
    added = {token_id: token.content.encode() for token_id, token in later.items()}
    later_row = {"added later": _some_tokens(added, added)}
    return _table("BPETokenizer", {**named, **_rows_of_model(tokenizer.model, added), **later_row})


def _rows_of_model(model: BPEModel, later: Collection[int] = ()) -> dict[str, str | None]:
    """Return the rows for a model, with ids that were added later: name → HTML, or None for a row to leave out."""
    count_of_bytes = sum(len(token) == 1 for token in model.vocab.values())
    counts = f"{count_of_bytes} bytes, {len(model.special_tokens)} special"
    counts += f", {len(later)} added later" if later else ""
    ids = [*model.vocab, *later]
    longest = sorted(model.vocab, key=lambda token_id: -len(model.vocab[token_id]))[:_SHOWN]
    return {
        "tokens": f"{len(ids):,}: {counts}; ids {min(ids, default=0):,} to {max(ids, default=0):,}",
        "pattern": f"<code>{escape(model.pattern or 'none')}</code>",
        "normalizer": model.normalizer,
        "ignore_merges": "yes" if model.ignore_merges else None,
        "fingerprint": f"<code>{model.fingerprint[:12]}</code>",  # as in its repr
        "special tokens": _some_tokens(model.special_ids().values(), model.vocab),
        "merges": f"{len(model.merges):,}",
        "first merges": _merges(model.merges[:_SHOWN]),
        "last merges": _merges(model.merges[_SHOWN:][-_SHOWN:]),
        "longest tokens": _some_tokens(longest, model.vocab),
    }


def _table(title: str, rows: Mapping[str, str | None]) -> str:
    """Return a table as HTML."""
    cells = (f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items() if value)
    return fragment(f"<table>\n<caption>{title}</caption>\n{''.join(cells)}\n</table>")


def _some_tokens(ids: Iterable[int], tokens: Mapping[int, bytes]) -> str:
    """Return the first few tokens with their ids, as HTML."""
    ids = [*ids]
    shown = [f"{_html_of_bytes(tokens[each], number)}&nbsp;{each}" for number, each in enumerate(ids[:_SHOWN])]
    return ", ".join([*shown, *(["…"] if len(ids) > _SHOWN else [])])


def _merges(merges: Iterable[tuple[bytes, bytes]]) -> str:
    return ", ".join(f"{_html_of_bytes(first, 0)}&nbsp;{_html_of_bytes(second, 1)}" for first, second in merges)


def _html_of_bytes(token: bytes, color: int) -> str:
    """Return a token as HTML; runs of signs are folded, and a long token is cut between characters."""
    folded = fold(pieces(token))
    if len(token) <= _LONGEST or sum(len(piece.text) for piece in folded) <= _LONGEST:
        return html_in_color(folded, color)
    end = _LONGEST
    while end > _LONGEST - 4 and token[end] & 0xC0 == 0x80:
        end -= 1
    return html_in_color(pieces(token[:end]), color) + "…"
