"""Reading of small text files that may be anything: bounded, decoded, and with errors that say where."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST_BYTES = 1 << 28  # the largest vocabularies there are take an eighth


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: it cannot be read.
        ValueError: it is larger than any vocabulary.
    """
    with path.open("rb") as file:
        is_larger = os.fstat(file.fileno()).st_size > MOST_BYTES
        content = b"" if is_larger else file.read(MOST_BYTES + 1)
    if is_larger or len(content) > MOST_BYTES:
        raise ValueError(f"{path}: is larger than {MOST_BYTES >> 20} MiB, and no vocabulary is; is it another file?")
    return content


def decode(path: Path, content: bytes) -> str:
    """Return a file's text, without the mark that some editors put before it.

    Raises:
        ValueError: it is not UTF-8; the message says where.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}: not UTF-8 at byte {error.start}, in line {line}: {error.reason}") from None


def read_json_object(path: Path) -> dict[str, Any]:
    """Return what a file of one JSON object says.

    Raises:
        OSError: it cannot be read.
        ValueError: what `parse_json_object` raises.
    """
    return parse_json_object(path, decode(path, read_bytes(path)))


def parse_json_object(path: Path, text: str) -> dict[str, Any]:
    """Return what the text of a file of one JSON object says.

    Raises:
        ValueError: it is no JSON, or no object, or has one key twice, or a number beyond any id; the message says
            where.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise ValueError(f"{path}: {twice!r} stands there twice")
        return entries

    def bounded(digits: str) -> int:
        if len(digits) > 20:  # far beyond any id; Python itself refuses the longest
            raise ValueError(f"{path}: the number {digits[:20]}… is no id")
        return int(digits)

    try:
        content = json.loads(text, object_pairs_hook=unique, parse_int=bounded)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{path}: expected a JSON object, got one nested without end") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return content


def check_ids(vocab: Mapping[str, object], where: str) -> None:
    """Raise a ValueError if a vocabulary has an id that is no integer, or one id twice."""
    ids: dict[object, str] = {}
    for text, token_id in vocab.items():
        if type(token_id) is not int:
            raise ValueError(f"{where}: token {text!r} has the id {token_id!r:.40}, expected an integer")
        if token_id in ids:
            raise ValueError(f"{where}: tokens {ids[token_id]!r} and {text!r} have the same id, {token_id}")
        ids[token_id] = text
