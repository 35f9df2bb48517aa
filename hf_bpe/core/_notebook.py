"""The HTML table that notebooks show for a model, or for a tokenizer that has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from hf_bpe._utils.visible import fold, fragment, html_in_color, pieces
from hf_bpe.core._provenance import Model

_SHOWN = 8
_LONGEST = 32  # bytes of a token that are shown, or signs of a folded one


def html_of_model(
    model: Model,
    title: str = "BPEModel",
    *,
    names: Mapping[str, str] | None = None,
    later: Mapping[int, str] | None = None,
) -> str:
    """Return a table that describes a model, as HTML for notebooks.

    `names` are those of a tokenizer, such as `pad_token` → content, and `later` the tokens that it has added, by id.
    """
    named = {name: _html_of_bytes(content.encode(), 0) for name, content in (names or {}).items()}
    added = {token_id: content.encode() for token_id, content in (later or {}).items()}
    rows = {**named, **_rows_of_model(model, added), "added later": _some_tokens(added, added)}
    cells = (f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items() if value)
    return fragment(f"<table>\n<caption>{title}</caption>\n{''.join(cells)}\n</table>")


def _rows_of_model(model: Model, later: Mapping[int, bytes]) -> dict[str, str | None]:
    """Return the rows for a model, with tokens that were added later: name → HTML, or None for a row to leave out."""
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
