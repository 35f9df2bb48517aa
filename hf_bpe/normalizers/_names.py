r"""Normalizers: what a model does to text before it is split, as in the `normalizer` of a `tokenizer.json`.

A model holds its normalizer as a str: "NFC", or the JSON of any other in one line. This module says which there are and
gives each one spelling. `hf_bpe.encoding` applies them with the `tokenizers` library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hf_bpe._utils.arguments import short_repr, wrong_type
from hf_bpe.normalizers._growth import check_growth

NAMES = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")
"""The normalizers without arguments."""

_FIELDS = {
    **dict.fromkeys(NAMES, ()),
    "Strip": ("strip_left", "strip_right"),
    "Replace": ("pattern", "content"),
    "Prepend": ("prepend",),
}
_EXPECTED = f"{', '.join(_FIELDS)} or a Sequence of these"

Part = dict[str, Any]
"""A normalizer that is no Sequence, as in a `tokenizer.json`."""


def canonical_normalizer(value: str | Mapping[str, Any] | None) -> str | None:
    r"""Return the canonical form of a normalizer: None, "NFC", or JSON in one line.

    Nested sequences become one, and a sequence of one normalizer becomes that normalizer.

    Args:
        value: None for no normalizer, a name ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"), or a
            normalizer as in a `tokenizer.json`: JSON or the mapping it stands for, of these and of Strip, Replace,
            Prepend and Sequence.

    Raises:
        TypeError: the value is neither None nor a str nor a mapping.
        ValueError: there is no such normalizer, it has no defined result in `tokenizers`, or it could make a character
            more than 256 times as long.

    >>> canonical_normalizer({"type": "Sequence", "normalizers": [{"type": "NFC"}]})
    'NFC'
    >>> canonical_normalizer("Lowercase")
    '{"type":"Lowercase"}'
    >>> canonical_normalizer("BertNormalizer")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: normalizer: expected one of None, 'NFC', ... or the JSON of a normalizer, got 'BertNormalizer'
    """
    if value is None or (isinstance(value, str) and value == "NFC"):
        return value
    if isinstance(value, str):
        value = {"type": value} if value in NAMES else _parsed(value)
    if not isinstance(value, Mapping):
        raise wrong_type("normalizer", "a str, a mapping or None", value)
    parts = _parse_parts(value)
    check_growth(parts)
    if not parts:
        return None
    if parts == [{"type": "NFC"}]:
        return "NFC"
    content = parts[0] if len(parts) == 1 else {"type": "Sequence", "normalizers": parts}
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def normalizer_json(normalizer: str | None) -> dict[str, Any] | None:
    """Return a canonical normalizer as `tokenizer.json` writes it.

    >>> normalizer_json("NFC")
    {'type': 'NFC'}
    """
    if normalizer is None:
        return None
    content: dict[str, Any] = {"type": normalizer} if normalizer in NAMES else json.loads(normalizer)
    return content


def parts_of_normalizer(normalizer: str | None) -> list[Part]:
    """Return the normalizers that a canonical normalizer applies one after the other.

    >>> parts_of_normalizer('{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"StripAccents"}]}')
    [{'type': 'NFD'}, {'type': 'StripAccents'}]
    """
    content = normalizer_json(normalizer)
    return [] if content is None else list(content.get("normalizers", [content]))


def describe(normalizer: str) -> str:
    """Return a canonical normalizer for a message.

    >>> describe('{"type":"Sequence","normalizers":[{"type":"NFD"},{"type":"Prepend","prepend":" "}]}')
    'the normalizer NFD, Prepend'
    """
    return f"the normalizer {', '.join(part['type'] for part in parts_of_normalizer(normalizer))}"


def leaves_no_space(normalizer: str | None) -> bool:
    """Return whether text certainly has no space after a canonical normalizer: it replaces them, and makes none later.

    >>> leaves_no_space('{"type":"Replace","pattern":{"String":" "},"content":"▁"}')
    True
    """
    is_left = True
    for part in parts_of_normalizer(normalizer):
        made = str(part.get("content", part.get("prepend", "")))
        if part["type"] == "Replace" and part["pattern"] == {"String": " "}:
            is_left = " " in made
        elif part["type"] not in ("Replace", "Prepend", "Strip") or " " in made:
            is_left = True
    return not is_left


def keeps_beginning(normalizer: str | None) -> bool:
    """Return whether something certainly remains of the first character of any text after a canonical normalizer."""
    return all(
        part["type"] not in ("Strip", "StripAccents", "Replace")
        or (part["type"] == "Replace" and "String" in part["pattern"] and part["content"] != "")
        for part in parts_of_normalizer(normalizer)
    )


def _parsed(text: str) -> Mapping[str, object]:
    names = ", ".join(map(repr, (None, *NAMES)))
    expected = f"normalizer: expected one of {names} or the JSON of a normalizer, got {short_repr(text)}"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(expected) from None
    if not isinstance(content, dict):
        raise ValueError(expected)
    return content


def _parse_parts(content: object) -> list[Part]:
    parts: list[Part] = []
    waiting = [content]  # instead of recursion, for which JSON may be too deep
    while waiting:
        value = waiting.pop()
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            raise ValueError(f'normalizer: expected an object with a "type", got {short_repr(value)}')
        if value["type"] == "Sequence":
            if value.keys() != {"type", "normalizers"} or not isinstance(value["normalizers"], (list, tuple)):
                raise ValueError(f'normalizer: Sequence: expected a list "normalizers", got {short_repr(dict(value))}')
            waiting += reversed(value["normalizers"])
        else:
            parts.append(_checked(value))
    return parts


def _checked(value: Mapping[str, Any]) -> Part:
    kind = value["type"]
    fields = _FIELDS.get(kind)
    if fields is None:
        raise ValueError(f"normalizer: {short_repr(kind)} is not supported, expected {_EXPECTED}")
    if {*value} != {"type", *fields}:
        wanted = ", ".join(fields) or "nothing"
        raise ValueError(f'normalizer: {kind}: expected {wanted} next to "type", got {short_repr(dict(value))}')
    if kind == "Replace":
        return {"type": kind, "pattern": _checked_pattern(value["pattern"]), "content": _text(value, "content")}
    if kind == "Prepend":
        if not _text(value, "prepend"):
            raise ValueError("normalizer: Prepend: prepend: expected text, got ''; tokenizers panics on that")
        return {"type": kind, "prepend": value["prepend"]}
    for field in fields:
        if not isinstance(value[field], bool):
            raise ValueError(f"normalizer: {kind}: {field}: expected true or false, got {short_repr(value[field])}")
    return {"type": kind, **{field: value[field] for field in fields}}


def _checked_pattern(pattern: object) -> dict[str, str]:
    if not isinstance(pattern, Mapping) or {*pattern} not in ({"String"}, {"Regex"}):
        raise ValueError(
            f'normalizer: Replace: pattern: expected {{"String": …}} or {{"Regex": …}}, got {short_repr(pattern)}'
        )
    [(kind, text)] = pattern.items()
    if not _text(pattern, kind):
        raise ValueError(
            "normalizer: Replace: pattern: expected text, got ''; tokenizers has no defined result for that"
        )
    if kind == "Regex":
        from tokenizers import Regex  # compiles the expression; only needed here

        try:
            Regex(text)
        except Exception as error:
            raise ValueError(f"normalizer: Replace: pattern: {short_repr(text)}: {error}") from None
    return {kind: text}


def _text(value: Mapping[str, object], field: str) -> str:
    text = value[field]
    if not isinstance(text, str):
        raise ValueError(f"normalizer: {field}: expected text, got {short_repr(text)}")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"normalizer: {field}: {text!r} holds a lone surrogate, so it has no UTF-8 form") from None
    return text
