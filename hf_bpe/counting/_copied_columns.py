"""The columns of records that are copied next to the ids of their texts, as text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hf_bpe.pretokenizers._byte_level import repair_surrogates


def as_texts(values: Iterable[Any]) -> tuple[str | None, ...]:
    """Return the values of a record as text: strings as they are, null as None, all others as JSON.

    Bytes are read as UTF-8, and what JSON does not know, such as a date, is what `str` prints.

    Raises:
        ValueError: a value is nested too deeply.

    >>> from datetime import date
    >>> as_texts(["a", None, 7, {"en": 0.5}, b"b", date(2026, 1, 2)])
    ('a', None, '7', '{"en": 0.5}', 'b', '2026-01-02')
    """
    return tuple(None if value is None else repair_surrogates(_as_text(value)) for value in values)


def _as_text(value: Any) -> str:
    if not isinstance(value, (bool, int, float, list, tuple, dict)):
        return _as_string(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=_as_string)
    except RecursionError:
        raise ValueError("a value to copy is nested too deeply") from None


def _as_string(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
