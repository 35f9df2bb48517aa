"""The steps of a normalizer: which there are, and how they are read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hf_bpe._utils.arguments import short_repr

NAMES = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")
"""The steps without arguments."""

FIELDS = {
    **dict.fromkeys(NAMES, ()),
    "Strip": ("strip_left", "strip_right"),
    "Replace": ("pattern", "content"),
    "Prepend": ("prepend",),
}
"""The arguments of each step."""

_EXPECTED = f"{', '.join(FIELDS)} or a Sequence of these"

Step = Mapping[str, Any]
"""A normalizer that is no Sequence, as in a `tokenizer.json`."""

SPACE = "▁"
"""The character that stands for a space in models whose alphabet is characters."""

WRITES_SPACE: Step = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
PREPENDS_SPACE: Step = {"type": "Prepend", "prepend": SPACE}
"""The steps of such models: they write spaces in this way, and put one before text."""


def parse_steps(value: str | Mapping[str, Any]) -> list[Step]:
    """Return the steps of a normalizer, which is a name, or as in a `tokenizer.json`: JSON or the mapping.

    Raises:
        ValueError: there is no such normalizer, or `tokenizers` has no defined result for it.
    """
    steps: list[Step] = []
    waiting: list[Any] = [_parse_text(value) if isinstance(value, str) else value]
    while waiting:  # instead of recursion, for which JSON may be too deep
        value = waiting.pop()
        if not isinstance(value, Mapping) or not isinstance(value.get("type"), str):
            raise ValueError(f'normalizer: expected an object with a "type", got {short_repr(value)}')
        if value["type"] == "Sequence":
            if value.keys() != {"type", "normalizers"} or not isinstance(value["normalizers"], (list, tuple)):
                raise ValueError(f'normalizer: Sequence: expected a list "normalizers", got {short_repr(dict(value))}')
            waiting += reversed(value["normalizers"])
        else:
            steps.append(_checked(value))
    return steps


def _parse_text(text: str) -> Mapping[str, Any]:
    if text in NAMES:
        return {"type": text}
    names = ", ".join(map(repr, (None, *NAMES)))
    expected = f"normalizer: expected one of {names} or the JSON of a normalizer, got {short_repr(text)}"
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(expected) from None
    if not isinstance(content, dict):
        raise ValueError(expected)
    return content


def _checked(value: Step) -> Step:
    kind = value["type"]
    fields = FIELDS.get(kind)
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
