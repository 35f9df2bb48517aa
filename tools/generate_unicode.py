"""Write the tables of Unicode 16.0: property_tables.py for Python, unicode_tables.hpp for the core.

Run it with `pip install "unicodedata2==16.*"` and `python tools/generate_unicode.py`. A test runs it and compares.
"""

from __future__ import annotations

import base64
import sys
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import regex
import unicodedata2

from hf_bpe.pretokenizers._regex.newer_characters import NONCHARACTER, RECATEGORIZED
from hf_bpe.pretokenizers._regex.properties import GROUPS, PROPERTIES

ROOT = Path(__file__).parent.parent
PROPERTY_TABLES = ROOT / "hf_bpe" / "pretokenizers" / "_regex" / "property_tables.py"
NATIVE = ROOT / "native" / "text" / "unicode_tables.hpp"

# The classes that the named patterns tell apart, as native/text/unicode.hpp numbers them.
NUMBER, HAN_NUMBER, SPACE, NEWLINE, OTHER, KANA_OTHER, SYMBOL, HAN_SYMBOL, KANA_SYMBOL = range(9)
MARK, HAN_MARK, KANA_MARK, LETTER, IDEOGRAPH, HAN_LETTER, KANA_LETTER, LOWER, UPPER = range(9, 18)
CLASSES = {"Lu": UPPER, "Lt": UPPER, "Ll": LOWER, "Lm": LETTER, "Lo": LETTER}
CLASSES_BY_GROUP = {"M": MARK, "N": NUMBER, "P": SYMBOL, "S": SYMBOL}
HAN = {LETTER: HAN_LETTER, MARK: HAN_MARK, NUMBER: HAN_NUMBER, SYMBOL: HAN_SYMBOL}
KANA = {LETTER: KANA_LETTER, MARK: KANA_MARK, SYMBOL: KANA_SYMBOL, OTHER: KANA_OTHER}
# DeepSeek's range of ideographs, and its two of kana.
IDEOGRAPHS, KANA_BLOCKS = range(0x4E00, 0x9FA6), range(0x3040, 0x3100)
# Characters of words (Unicode's annex 18) are Alphabetic, M, Nd, Pc or Join_Control. Alphabetic is no category, but all
# of it is in L, M or Nl except for these symbols, which are letters in circles and squares.
ALPHABETIC_SYMBOLS = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
JOIN_CONTROLS = (0x200C, 0x200D)
BLOCK = 128  # code points that share an entry of the first stage; of the powers of two, the smallest tables


def is_unassigned(code: int) -> bool:
    """Tell whether a code point has no meaning in Unicode 16.0 (general category Cn)."""
    return unicodedata2.category(chr(code)) == "Cn"


def is_of_word(code: int) -> bool:
    """Tell whether a code point is a character of words."""
    category = unicodedata2.category(chr(code))
    return (
        category[0] in "LM"
        or category in ("Nd", "Nl", "Pc")
        or code in JOIN_CONTROLS
        or any(first <= code <= last for first, last in ALPHABETIC_SYMBOLS)
    )


def ranges_of(is_member: Callable[[int], bool]) -> list[tuple[int, int]]:
    """Return the inclusive ranges of the code points that are members."""
    ranges: list[tuple[int, int]] = []
    for code in filter(is_member, range(sys.maxunicode + 1)):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return ranges


@cache
def han_script() -> frozenset[str]:
    """Return the characters of the script Han by Unicode 16.0: unicodedata2 has no scripts, `regex` is newer."""
    return frozenset(
        char
        for char in map(chr, range(sys.maxunicode + 1))
        if not is_unassigned(ord(char)) and regex.match(r"\p{Script=Han}", char)
    )


def class_of(code: int) -> int:
    """Return the class of a code point."""
    if code in (0x0A, 0x0D):
        return NEWLINE
    category = unicodedata2.category(chr(code))
    if category[0] == "Z" or code in (0x09, 0x0B, 0x0C, 0x85):  # which are Unicode's White_Space
        return SPACE
    number = CLASSES.get(category, CLASSES_BY_GROUP.get(category[0], OTHER))
    if code in IDEOGRAPHS:
        return IDEOGRAPH
    if code in KANA_BLOCKS:
        return KANA[number]
    return HAN[number] if chr(code) in han_script() else number


def lines_of(items: Iterable[str], indent: str) -> list[str]:
    """Return the items as lines of at most 120 characters."""
    lines = [indent[:-1]]
    for item in items:
        if len(lines[-1]) + len(item) + 1 > 120:
            lines.append(indent[:-1])
        lines[-1] += " " + item
    return lines


def property_tables() -> str:
    """Return lines of a property and its ranges."""
    # As `hide_newer` makes text, but by unicodedata2: it reads the tables that are made here.
    codes = (RECATEGORIZED.get(code, code) for code in range(sys.maxunicode + 1))
    known = regex.compile(r"\P{Cn}")
    everything = "".join(
        chr(NONCHARACTER if is_unassigned(code) and known.match(chr(code)) else code) for code in codes
    )
    tables = []
    for name in PROPERTIES:
        if name in GROUPS:
            continue
        # For each range the number of code points since the last one, and how many follow its first.
        numbers, last = [], 0
        for match in regex.finditer(rf"\p{{{name}}}+", everything):
            numbers += [match.start() - last, match.end() - 1 - match.start()]
            last = match.end() - 1
        tables.append(f"{name} {','.join(f'{number:x}' for number in numbers)}")
    return "\n".join(tables)


def render_properties() -> str:
    """Return the text of hf_bpe/pretokenizers/_regex/property_tables.py."""
    packed = base64.b85encode(zlib.compress(property_tables().encode(), 9)).decode()
    lines = ['"""Generated by tools/generate_unicode.py from Unicode 16.0.0; do not edit."""', ""]
    lines += ["# Lines of a property and its ranges; compressed, in base 85. `properties` reads it."]
    lines += ["PROPERTY_TABLES: str = ("]
    lines += [f'    "{packed[start : start + 112]}"' for start in range(0, len(packed), 112)]
    return "\n".join([*lines, ")"]) + "\n"


def render_native() -> str:
    """Return the text of unicode_tables.hpp: the class of every code point, in two stages; what is of words."""
    blocks: dict[bytes, int] = {}
    first_stage = []
    for start in range(0, sys.maxunicode + 1, BLOCK):
        block = bytes(class_of(code) for code in range(start, start + BLOCK))
        first_stage.append(blocks.setdefault(block, len(blocks)))
    if len(blocks) > 256:
        raise SystemExit(f"{len(blocks)} different blocks do not fit a first stage of bytes; choose another BLOCK")
    lines = ["// Generated by tools/generate_unicode.py from Unicode 16.0.0; do not edit.", "#pragma once", ""]
    lines += ["#include <cstdint>", "", "namespace hf_bpe {", ""]
    lines += [
        "// The class of a code point c is kClassBlocks[kClassBlockOf[c / kClassBlockSize]][c % kClassBlockSize]."
    ]
    lines += [f"inline constexpr unsigned kClassBlockSize = {BLOCK};", ""]
    lines += [f"inline constexpr std::uint8_t kClassBlockOf[{len(first_stage)}] = {{"]
    lines += lines_of((f"{number}," for number in first_stage), " " * 4)
    lines += ["};", "", f"inline constexpr std::uint8_t kClassBlocks[{len(blocks)}][kClassBlockSize] = {{"]
    for block in blocks:
        lines += ["    {", *lines_of((f"{number}," for number in block), " " * 5), "    },"]
    words = ranges_of(is_of_word)
    lines += ["};", "", "struct CodeRange {", "  std::uint32_t first, last;  // last included", "};", ""]
    lines += ["// Alphabetic, M, Nd, Pc, Join_Control: what is of words by Unicode's annex 18, in order."]
    lines += [f"inline constexpr CodeRange kWordRanges[{len(words)}] = {{"]
    lines += lines_of((f"{{0x{first:X}, 0x{last:X}}}," for first, last in words), " " * 4)
    return "\n".join([*lines, "};", "", "}  // namespace hf_bpe"]) + "\n"


if __name__ == "__main__":
    if unicodedata2.unidata_version != "16.0.0":
        raise SystemExit(f"got unicodedata2 for Unicode {unicodedata2.unidata_version}; install unicodedata2==16.*")
    PROPERTY_TABLES.write_text(render_properties(), encoding="utf-8")
    NATIVE.write_text(render_native(), encoding="utf-8")
