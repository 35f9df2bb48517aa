"""Decoding of tokens to text with a chain of decoders, in plain Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_BYTE = re.compile(r"<0x(\+[0-9A-Fa-f]|[0-9A-Fa-f]{2})>")  # as Rust reads a number of two digits


def decode_tokens(decoders: Sequence[Mapping[str, Any]], tokens: Sequence[str]) -> str:
    """Return the text of tokens: apply the decoders, and join.

    >>> replace = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    >>> decode_tokens([replace, {"type": "ByteFallback"}], ["▁caf", "<0xC3>", "<0xA9>", "s", "<0xFF>"])
    ' cafés�'
    """
    return "".join(apply_decoders(decoders, tokens))


def apply_decoders(decoders: Sequence[Mapping[str, Any]], tokens: Sequence[str]) -> list[str]:
    """Apply the decoders of a `tokenizer.json` to tokens, each decoder to the tokens that the one before returns.

    They are Replace of a string, ByteFallback, Fuse, Strip and Metaspace. Source: `decoders/` and
    `normalizers/replace.rs` of tokenizers 0.23.
    """
    texts = [*tokens]
    for decoder in decoders:
        match decoder["type"]:
            case "Replace":
                texts = [text.replace(decoder["pattern"]["String"], decoder["content"]) for text in texts]
            case "ByteFallback":
                texts = _with_bytes(texts)
            case "Fuse":
                texts = ["".join(texts)]
            case "Strip":
                texts = [text[removed_characters(text, decoder["content"], decoder["start"]) :] for text in texts]
            case "Metaspace":
                first = " " if decoder["prepend_scheme"] == "never" else ""
                texts = [text.replace(decoder["replacement"], " " if at else first) for at, text in enumerate(texts)]
            case kind:
                raise ValueError(f"decoder {kind!r}: expected Replace, ByteFallback, Fuse, Strip or Metaspace")
    return texts


def is_byte(token: str) -> int | None:
    """Return the byte that ByteFallback takes a token for; None if it is text."""
    match = _BYTE.fullmatch(token)
    return int(match[1], 16) if match else None


def _with_bytes(tokens: Sequence[str]) -> list[str]:
    """Join tokens of bytes side by side; each byte becomes U+FFFD if they are not all together UTF-8."""
    texts: list[str] = []
    run: list[int] = []
    for token in [*tokens, ""]:
        byte = is_byte(token)
        if byte is not None:
            run.append(byte)
            continue
        if run:
            try:
                texts.append(bytes(run).decode())
            except UnicodeDecodeError:
                texts += ["\ufffd"] * len(run)
            run = []
        texts.append(token)
    return texts[:-1]


def removed_characters(text: str, content: str, most: int) -> int:
    """Return how many characters that are `content`, up to `most`, Strip removes from the beginning of a text."""
    return min(most, len(text) - len(text.lstrip(content)))
