"""The HTML tables that notebooks show for a model, and for a tokenizer that has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from hf_bpe._utils.visible import fold, fragment, html_in_color, pieces
from hf_bpe.core._provenance import Model

_SHOWN = 8
_LONGEST = 32  # bytes of a token that are shown, or signs of a folded one


def html_of_model(model: Model) -> str:
    """Return a table that describes a model."""
    longest = sorted(model.vocab, key=lambda token_id: -len(model.vocab[token_id]))[:_SHOWN]
    rows = {
        "ignore_merges": "yes" if model.ignore_merges else "",
        "merges": f"{len(model.merges):,}",
        "first merges": _merges(model.merges[:_SHOWN]),
        "last merges": _merges(model.merges[_SHOWN:][-_SHOWN:]),
        "longest tokens": _some_tokens(longest, model.vocab),
    }
    return _table("BPEModel", _common_rows(model, {}) | rows)


def html_of_tokenizer(model: Model, names: Mapping[str, str], later: Mapping[int, str]) -> str:
    """Return a table of what a tokenizer has besides its model's merges.

    `names` are such as `pad_token` → content, and `later` the tokens that it has added, by id.
    """
    named = {name: _html_of_bytes(content.encode(), 0) for name, content in names.items()}
    added = {token_id: content.encode() for token_id, content in later.items()}
    rows = {"added later": _some_tokens(added, added), "merges": "<code>.model</code> shows them"}
    return _table("BPETokenizer", named | _common_rows(model, added) | rows)


def _table(title: str, rows: Mapping[str, str]) -> str:
    """Return an HTML table of names and values; rows without a value are left out."""
    cells = (f"<tr><th>{escape(name)}</th><td>{value}</td></tr>" for name, value in rows.items() if value)
    return fragment(f"<table>\n<caption>{title}</caption>\n{''.join(cells)}\n</table>")


def _common_rows(model: Model, later: Mapping[int, bytes]) -> dict[str, str]:
    """Return the rows for a model and for a tokenizer, with the tokens that it has added: name → HTML."""
    count_of_bytes = sum(len(token) == 1 for token in model.vocab.values())
    counts = f"{count_of_bytes} bytes, {len(model.special_tokens)} special"
    counts += f", {len(later)} added later" if later else ""
    ids = [*model.vocab, *later]
    return {
        "tokens": f"{len(ids):,}: {counts}; ids {min(ids, default=0):,} to {max(ids, default=0):,}",
        "pattern": f"<code>{escape(model.pattern or 'none')}</code>",
        "normalizer": escape(model.normalizer or ""),
        "fingerprint": f"<code>{model.fingerprint[:12]}</code>",  # as in its repr
        "special tokens": _some_tokens(model.special_ids().values(), model.vocab),
    }


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
