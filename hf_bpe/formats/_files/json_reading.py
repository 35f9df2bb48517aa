"""Reading of small, untrusted JSON files, with bounds and located errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hf_bpe._utils.input_files import decode, parse_json, read_bounded


def read_json_object(path: Path) -> dict[str, Any]:
    """Return the content of a file with one JSON object, see `parse_json_object`."""
    return parse_json_object(path, decode(path, read_bounded(path)))


def parse_json_object(path: Path, text: str) -> dict[str, Any]:
    """Parse the text of a file with one JSON object that has no key twice, see `parse_json`."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise ValueError(f"{path}: the key {twice!r:.80} occurs twice")
        return entries

    content = parse_json(path, text, unique)
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return content


def check_ids(vocab: Mapping[str, object], where: str) -> None:
    """Raise a ValueError if a vocabulary has an id that is not an integer, or an id twice."""
    ids: dict[object, str] = {}
    for text, token_id in vocab.items():
        if type(token_id) is not int:
            raise ValueError(f"{where}: token {text!r:.80} has the id {token_id!r:.40}, expected an integer")
        if token_id in ids:
            raise ValueError(f"{where}: tokens {ids[token_id]!r:.80} and {text!r:.80} have the same id, {token_id}")
        ids[token_id] = text
