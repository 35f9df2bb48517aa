"""GPT-2's two files: `vocab.json`, printable token → id, and `merges.txt`, one merge a line, first rank first.

The format carries ids, merges and special tokens, but no pattern: whoever reads it says which pattern belongs to it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from hf_bpe.byte_level import from_printable, to_printable
from hf_bpe.files import staged_folder
from hf_bpe.model import BPEModel

VOCAB_FILE = "vocab.json"
MERGES_FILE = "merges.txt"
_HEADER = "#version: 0.2"


def read_gpt2(
    vocab_file: str | os.PathLike[str],
    merges_file: str | os.PathLike[str],
    *,
    special_tokens: Iterable[str] | None = None,
    pattern: str | None = "gpt2",
) -> BPEModel:
    """Read `vocab.json` and `merges.txt`, with ids in any order and with gaps.

    Args:
        vocab_file: a JSON object of printable token → id.
        merges_file: two printable tokens a line, with a space between. The header `#version: …` may be absent, line
            ends may be CRLF, empty lines are passed over.
        special_tokens: those of the vocabulary that are special tokens; others are ignored. None for every token
            that is neither a byte nor in any merge, which is right for GPT-2. In both cases a token with a
            character that stands for no byte is a special token.
        pattern: the split pattern, which the files do not carry.

    Raises:
        OSError: a file that cannot be read.
        ValueError: a file that is not in the format, with the place; or a model that is not valid.
    """
    entries = _read_vocab(Path(vocab_file))
    merges = _read_merges(Path(merges_file))
    if special_tokens is None:
        ordinary = {token for first, second in merges for token in (first, second, first + second)}
        specials = {text for text in entries if not _is_ordinary(from_printable(text), ordinary)}
    elif isinstance(special_tokens, str):
        raise TypeError(f"special_tokens: expected a list of str, got {special_tokens!r}; write [{special_tokens!r}]")
    else:
        specials = {*special_tokens} & entries.keys() | {text for text in entries if from_printable(text) is None}
    vocab = {
        token_id: text.encode("utf-8", "surrogatepass") if text in specials else from_printable(text) or b""
        for text, token_id in entries.items()
    }
    try:
        return BPEModel(vocab, merges, tuple(specials), pattern)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{vocab_file}, {merges_file}: {error}") from error


def write_gpt2(model: BPEModel, folder: str | os.PathLike[str], *, prefix: str = "") -> tuple[Path, Path]:
    """Write `vocab.json` and `merges.txt` into a folder, each whole or not at all; return their paths.

    The pattern is not written, for the format has no place for it: whoever reads the files takes GPT-2's.

    Raises:
        OSError: the files cannot be written.
    """
    vocab, merges = render_gpt2(model)
    names = prefix + VOCAB_FILE, prefix + MERGES_FILE
    with staged_folder(folder) as staging:
        (staging / names[0]).write_text(vocab, encoding="utf-8", newline="\n")
        (staging / names[1]).write_text(merges, encoding="utf-8", newline="\n")
    return Path(folder, names[0]), Path(folder, names[1])


def render_gpt2(model: BPEModel) -> tuple[str, str]:
    """Return the contents of `vocab.json` and `merges.txt`."""
    # A blank line would break the Rust reader; there is none, for no token is empty and no printable form has a space.
    lines = [_HEADER, *(f"{to_printable(first)} {to_printable(second)}" for first, second in model.merges)]
    return json.dumps(model.printable_vocab(), ensure_ascii=False), "\n".join(lines) + "\n"


def _is_ordinary(token: bytes | None, ordinary: set[bytes]) -> bool:
    return token is not None and (len(token) == 1 or token in ordinary)


def _read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 at byte {error.start}: {error.reason}") from None


def _read_vocab(path: Path) -> dict[str, int]:
    def unique(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
        entries = dict(pairs)
        if len(entries) < len(pairs):
            seen: set[str] = set()
            twice = next(text for text, _ in pairs if text in seen or seen.add(text))  # type: ignore[func-returns-value]
            raise ValueError(f"{path}: token {twice!r} stands there twice")
        return entries

    def bounded(digits: str) -> int:
        if len(digits) > 20:  # far beyond any id; Python itself refuses the longest
            raise ValueError(f"{path}: the number {digits[:20]}… is no id")
        return int(digits)

    try:
        entries = json.loads(_read_text(path), object_pairs_hook=unique, parse_int=bounded)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON at line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise ValueError(f"{path}: expected a JSON object of token to id, got one nested without end") from None
    if not isinstance(entries, dict):
        raise ValueError(f"{path}: expected a JSON object of token to id, got {type(entries).__name__}")
    ids: dict[object, str] = {}
    for text, token_id in entries.items():
        if not isinstance(token_id, int) or isinstance(token_id, bool):
            raise ValueError(f"{path}: token {text!r} has the id {token_id!r}, expected an integer")
        if token_id in ids:
            raise ValueError(f"{path}: tokens {ids[token_id]!r} and {text!r} have the same id, {token_id}")
        ids[token_id] = text
    return entries


def _read_merges(path: Path) -> list[tuple[bytes, bytes]]:
    merges: list[tuple[bytes, bytes]] = []
    # Only these end a line: str.splitlines would also split at characters that merges of other vocabularies hold.
    for number, line in enumerate(_read_text(path).replace("\r\n", "\n").split("\n"), start=1):
        if not line or (number == 1 and line.startswith("#version")):  # real merges begin with # too
            continue
        parts = line.split(" ")
        tokens = [from_printable(part) for part in parts]
        if len(parts) != 2 or not all(tokens):
            raise ValueError(f"{path}: line {number}: expected two printable tokens and a space, got {line[:80]!r}")
        first, second = tokens
        assert first is not None  # for the type checker: all(tokens) above
        assert second is not None
        merges.append((first, second))
    return merges
