"""The steps of a normalizer: which there are, how they are read, and how much longer they can make a text.

`tokenizers` normalizes in Rust, where running out of memory ends the process. So what a normalizer can do to a text is
limited when it is read, and what it may do to one text before it runs.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hf_bpe._utils.arguments import short_repr
from hf_bpe.pretokenizers._stages import MAX_STAGES

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
READS_SPACE: Step = {"type": "Replace", "pattern": {"String": SPACE}, "content": " "}
PREPENDS_SPACE: Step = {"type": "Prepend", "prepend": SPACE}
"""The steps of such models: they write and read spaces in this way, and put one before text."""

MAX_GROWTH = 256
"""The limit of growth of a character in normalizers, in UTF-8; NFKC, the most of a single one, makes it 11 times
as long."""
MAX_NORMALIZED_BYTES = 1 << 30
"""The limit of a normalized text's length; `tokenizers` holds 17 bytes for each of these."""

# How much longer the UTF-8 of a character can be: U+FDFA becomes 18 characters (Unicode Standard Annex #15).
_GROWTH = {"NFC": 3.0, "NFD": 3.0, "NFKC": 11.0, "NFKD": 11.0, "Lowercase": 1.5, "StripAccents": 1.0, "Strip": 1.0}
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_GROWTH_OF_OTHERS = 11.0  # kinds that hf_bpe refuses


def parse_steps(value: str | Mapping[str, Any]) -> list[Step]:
    """Return the steps of a normalizer, which is a name, or as in a `tokenizer.json`: JSON or the mapping.

    It is a ValueError if there is no such normalizer, or `tokenizers` has no defined result for it.
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


class Growth(NamedTuple):
    """The most that normalizers make of a text of n bytes: `factor` * n + `added` bytes."""

    factor: float = 1.0
    added: float = 0.0

    def after(self, other: Growth) -> Growth:
        """Return the growth of another normalizer followed by this one."""
        return Growth(self.factor * other.factor, self.factor * other.added + self.added)


def total_growth(steps: Iterable[Step]) -> Growth:
    """Return the growth of normalizers that are applied one after the other, none of them a Sequence.

    >>> total_growth([{"type": "Prepend", "prepend": "_"}, {"type": "NFC"}])
    Growth(factor=3.0, added=3.0)
    """
    *_, growth = Growth(), *_growths(steps)
    return growth


def _growths(steps: Iterable[Step]) -> Iterator[Growth]:
    """Yield the growth of text by the first normalizer, by the first two, and so on."""
    before = growth = Growth()
    form = 1.0
    for step in steps:
        if step["type"] in FORMS:  # several in a row give what one of them gives
            form = max(form, _GROWTH[step["type"]])
            growth = Growth(form).after(before)
        else:
            before = growth = _step_growth(step).after(growth)
            form = 1.0
        yield growth


def check_growth(steps: Sequence[Step]) -> None:
    """Raise a ValueError for successive normalizers, none of them a Sequence, that make a text too long."""
    if len(steps) > MAX_STAGES:
        raise ValueError(f"normalizer: a Sequence of {len(steps)} normalizers; expected at most {MAX_STAGES}")
    for number, growth in enumerate(_growths(steps)):
        if sum(growth) > MAX_GROWTH:
            kind = steps[number]["type"]
            place = f"{kind}, number {number + 1} of {len(steps)}" if len(steps) > 1 else kind
            raise ValueError(
                f"normalizer: with {place}, a character can become {sum(growth):,.0f} times as long; expected at most "
                f"{MAX_GROWTH} times (bytes of UTF-8)"
            )


def is_bounded(normalizer: Any) -> bool:
    """Return whether a normalizer of a `tokenizer.json`, of any kind, is within the limits of `check_growth`."""
    steps, waiting = [], [normalizer]
    try:
        while waiting:
            value = waiting.pop()
            if value is not None and value["type"] == "Sequence":
                waiting += reversed(value["normalizers"])
            elif value is not None:
                steps.append(value)
        check_growth(steps)
    except (ValueError, LookupError, TypeError, AttributeError):
        return False
    return True


def check_growth_of_text(growth: Growth, text: str) -> None:
    """Raise a ValueError if a text could become too long for a process when normalizers of this growth are applied."""
    if growth.factor * 4 * len(text) + growth.added <= MAX_NORMALIZED_BYTES:  # without encoding it
        return
    size = len(text.encode())
    maximum = growth.factor * size + growth.added
    if maximum > max(size, MAX_NORMALIZED_BYTES):
        raise ValueError(
            f"a text of {size:,} bytes could become {maximum:,.0f} bytes when it is normalized; expected at most "
            f"{MAX_NORMALIZED_BYTES:,}: divide it into several texts"
        )


def _step_growth(step: Step) -> Growth:
    kind = step["type"]
    if kind == "Prepend":
        return Growth(added=len(step["prepend"].encode()))
    if kind == "Replace":
        [(syntax, text)] = step["pattern"].items()
        content = len(step["content"].encode())
        if syntax == "String":
            return Growth(max(1.0, content / len(text.encode())))
        # A match has a byte at least; matches of nothing are between all characters, and at the end.
        return Growth(1.0 + content, content) if _matches_nothing(text) else Growth(max(1.0, content))
    return Growth(_GROWTH.get(kind, _GROWTH_OF_OTHERS))


def _matches_nothing(expression: str) -> bool:
    """Return whether an expression may match an empty text, as far as it is understood here."""
    from hf_bpe.pretokenizers._regex.checks import may_be_empty
    from hf_bpe.pretokenizers._regex.parser import parse

    try:
        return may_be_empty(parse(expression))
    except ValueError:
        return True
