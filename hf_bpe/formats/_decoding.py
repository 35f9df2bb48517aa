"""The decoders of a `tokenizer.json`, by which tokens of characters become text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from hf_bpe._utils.arguments import short_repr, wrong_type
from hf_bpe.core._model import BPEModel
from hf_bpe.normalizers._steps import MAX_GROWTH, SPACE, total_growth

_FIELDS: dict[str, dict[str, type]] = {
    "ByteFallback": {},
    "Fuse": {},
    "Replace": {"pattern": dict, "content": str},
    "Strip": {"content": str, "start": int, "stop": int},
    "Metaspace": {"replacement": str, "prepend_scheme": str, "split": bool},
}
_OPTIONAL: dict[str, dict[str, Any]] = {"Metaspace": {"prepend_scheme": "always", "split": True}}
_MAX_DECODERS = 64


def canonical_decoding(value: str | Mapping[str, Any] | None) -> str | None:
    """Return the canonical form of the decoder of a model with characters: its JSON in one line, or None for bytes.

    It is given as in a `tokenizer.json`, as JSON or the mapping it stands for: Replace of a string, ByteFallback, Fuse,
    Strip, Metaspace, or a Sequence of these. Another value is a TypeError, another decoder a ValueError.

    >>> canonical_decoding({"type": "Sequence", "decoders": [{"type": "Fuse"}]})
    '{"type":"Fuse"}'
    """
    if value is None:
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"decoding: expected the JSON of a decoder, got {short_repr(value)}") from None
    if not isinstance(value, Mapping):
        raise wrong_type("decoding", "a decoder as in a tokenizer.json", value)
    waiting: list[object] = [value]
    parts: list[dict[str, Any]] = []
    while waiting:
        part = waiting.pop()
        if not isinstance(part, Mapping):
            raise ValueError(f"decoding: expected a decoder, got {short_repr(part)}")
        if part.get("type") == "Sequence" and isinstance(part.get("decoders"), (list, tuple)):
            waiting += reversed(part["decoders"])
        else:
            parts.append(_checked(part))
    if len(parts) > _MAX_DECODERS:
        raise ValueError(f"decoding: expected at most {_MAX_DECODERS} decoders, got {len(parts)}")
    growth = sum(total_growth(part for part in parts if part["type"] == "Replace"))
    if growth > MAX_GROWTH:
        raise ValueError(
            f"decoding: its Replace can make a token {growth:,.0f} times as long; expected at most {MAX_GROWTH} times "
            "(bytes of UTF-8)"
        )
    content = parts[0] if len(parts) == 1 else {"type": "Sequence", "decoders": parts}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def default_decoding(model: BPEModel) -> str | None:
    """Return the decoder of a model that training made, as files of such models have it; None for bytes.

    >>> default_decoding(BPEModel({0: b"a"}, [])) is None
    True
    """
    if model.alphabet.is_bytes:
        return None
    metaspace = model.pre_tokenizer.metaspace
    space = SPACE if metaspace is None else metaspace.replacement
    puts_one = not {SPACE, " "}.isdisjoint(model.normalization.prepended)
    parts: list[dict[str, Any]] = [{"type": "Replace", "pattern": {"String": space}, "content": " "}]
    if model.alphabet.byte_fallback:
        parts.append({"type": "ByteFallback"})
    parts.append({"type": "Fuse"})
    if puts_one or (metaspace is not None and metaspace.prepend_scheme != "never"):
        parts.append({"type": "Strip", "content": " ", "start": 1, "stop": 0})
    return canonical_decoding({"type": "Sequence", "decoders": parts})


@lru_cache(maxsize=64)
def decoders_of(decoding: str) -> Sequence[Mapping[str, Any]]:
    """Return the decoders that a canonical decoder applies one after the other."""
    content = json.loads(decoding)
    return tuple(content.get("decoders", [content]))


def _checked(part: Mapping[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind not in _FIELDS:
        raise ValueError(f"decoding: {short_repr(kind)} is not supported, expected {', '.join(_FIELDS)} or a Sequence")
    fields = {**_OPTIONAL.get(kind, {}), **part}
    checked: dict[str, Any] = {"type": kind}
    for field, expected in _FIELDS[kind].items():
        value = fields.get(field)
        if type(value) is not expected:
            raise ValueError(f"decoding: {kind}: {field}: expected {expected.__name__}, got {short_repr(value)}")
        checked[field] = value
    if kind == "Replace" and ([*checked["pattern"]] != ["String"] or not checked["pattern"]["String"]):
        raise ValueError(f"decoding: Replace: pattern: expected a String, got {short_repr(checked['pattern'])}")
    if kind == "Strip" and (len(checked["content"]) != 1 or checked["start"] < 0 or checked["stop"] != 0):
        raise ValueError(  # `tokenizers` panics if it strips more at the end than a token has
            f"decoding: Strip: expected a character, start from 0 on, and stop 0, got {short_repr(dict(part))}"
        )
    if kind == "Metaspace" and (
        len(checked["replacement"]) != 1 or checked["prepend_scheme"] not in ("always", "first", "never")
    ):
        raise ValueError(
            f"decoding: Metaspace: expected a character and a prepend_scheme, got {short_repr(dict(part))}"
        )
    return checked
