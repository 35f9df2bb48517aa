"""Text that a tokenizer may be slow with: mostly one pre-token of a megabyte, or words that no cache has seen."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable

from benchmarks.job import read_documents

Source = tuple[int, str]
"""At least how many bytes, and the text of the files."""


def make(case: str, size: int, files: tuple[str, ...]) -> str:
    """Return the text of a case, the same every time: `size` bytes, less what is left of the last character.

    Raises:
        ValueError: the files hold nothing of what the case is made of.
    """
    source = "".join(read_documents(files)) if case in _FROM_FILES else ""
    text = CASES[case]((size, source))
    if not text:
        raise ValueError(f"{case}: the files hold none")
    return text.encode()[:size].decode(errors="ignore")


def _only(characters: str) -> Callable[[Source], str]:
    """Return a case of all the stretches of certain characters in the files joined, repeated if they are too few."""

    def case(source: Source) -> str:
        size, text = source
        found = "".join(re.findall(f"[{characters}]+", text))
        return found * (size // len(found) + 1) if found else ""

    return case


def _repeated(character: str) -> Callable[[Source], str]:
    return lambda source: character * source[0]


def _drawn(characters: Callable[[], str]) -> Callable[[Source], str]:
    """Return a case of characters drawn at random."""
    return lambda source: "".join(random.Random(0).choices(characters(), k=source[0]))


def _between(first: int, last: int) -> Callable[[], str]:
    return lambda: "".join(map(chr, range(first, last + 1)))


def _unicode() -> str:
    """Return every character of Unicode 3.2: no version of Unicode in use classifies one as not assigned."""
    old = unicodedata.ucd_3_2_0
    return "".join(filter(lambda char: old.category(char) not in ("Cn", "Cs", "Co"), map(chr, range(0x110000))))


def _random_bytes(source: Source) -> str:
    return random.Random(0).randbytes(source[0]).decode(errors="replace")


def _minified_json(source: Source) -> str:
    draw = random.Random(0)
    records = [
        {"id": f"{draw.getrandbits(64):x}", "value": draw.random(), "tags": draw.choices(["a", "bc", "def"], k=3)}
        for _ in range(source[0] // 60)
    ]
    return json.dumps(records, separators=(",", ":"))


CASES: dict[str, Callable[[Source], str]] = {
    "one letter": _repeated("a"),
    "spaces": _repeated(" "),
    "digits": _drawn(lambda: "0123456789"),
    "English without spaces": _only("A-Za-z"),
    "CJK without spaces": _only("\u4e00-\u9fff"),
    "=": _repeated("="),
    "emoji": _drawn(_between(0x1F600, 0x1F64F)),
    "combining marks": _drawn(_between(0x0300, 0x036F)),
    "random Unicode": _drawn(_unicode),
    "random bytes": _random_bytes,
    "minified JSON": _minified_json,
}

_FROM_FILES = ("English without spaces", "CJK without spaces")
