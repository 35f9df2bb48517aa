"""The printable character of each byte, as GPT-2 defined it.

`vocab.json` and `merges.txt` are text, tokens are bytes. GPT-2 defined the mapping between the two: every byte has its
own printable character. Source: `bytes_to_unicode` of OpenAI's GPT-2 release, 2019.
"""

from __future__ import annotations

import codecs

from hf_bpe._native_core import native_core


def _printable_characters() -> list[str]:
    """Return the character of each byte: its own if that is printable, else the next free one from U+0100 on."""
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    unprintable = [byte for byte in range(256) if byte not in printable]
    return [chr(byte) if byte in printable else chr(256 + unprintable.index(byte)) for byte in range(256)]


BYTE_TO_CHAR: list[str] = _printable_characters()
CHAR_TO_BYTE: dict[str, int] = {char: byte for byte, char in enumerate(BYTE_TO_CHAR)}

# The same mapping as codec tables, the fastest kind of table in Python.
_DECODING_TABLE = "".join(BYTE_TO_CHAR)
_ENCODING_TABLE = {ord(char): byte for char, byte in CHAR_TO_BYTE.items()}


def to_printable(token: bytes) -> str:
    r"""Return the printable form of a token, as in `vocab.json`: one character per byte.

    >>> to_printable(b" the\n")
    'ĠtheĊ'
    """
    return codecs.charmap_decode(token, "strict", _DECODING_TABLE)[0]


def from_printable(text: str) -> bytes | None:
    r"""Return the token of a printable form; None if one of its characters stands for no byte.

    >>> from_printable("ĠtheĊ")
    b' the\n'
    >>> from_printable("two words") is None
    True
    """
    try:
        return codecs.charmap_encode(text, "strict", _ENCODING_TABLE)[0]
    except UnicodeEncodeError:
        return None


def from_printable_all(texts: list[str]) -> list[bytes | None]:
    """Return `from_printable` of each text."""
    native = native_core()
    return [*map(from_printable, texts)] if native is None else native.from_printable(texts)


def repair_surrogates(text: str) -> str:
    r"""Make a string encodable as UTF-8: join surrogate pairs, replace lone surrogates by U+FFFD.

    A Python string can hold lone surrogates (from JSON, or from broken UTF-16); tiktoken repairs them the same way.

    >>> repair_surrogates("\ud83d\ude00 \ud83d")
    '😀 �'
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def is_utf8(data: bytes) -> bool:
    r"""Say whether bytes are UTF-8.

    >>> is_utf8("é".encode()), is_utf8(b"\xc3")
    (True, False)
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
