"""Write tables.js: what the JavaScript needs of hf_bpe's Python and of `tokenizers`, so that it has no other home.

python web/generate_tables.py build/web/tables.js
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from tokenizers import normalizers

from hf_bpe.pretokenizers import ByteLevel, Digits, Pattern, PreTokenizer, Split
from hf_bpe.pretokenizers._named_patterns import NAMED_PATTERNS, SPELLINGS
from hf_bpe.pretokenizers._stages import Stage

CODES = [code for code in range(0x80, 0x110000) if not 0xD800 <= code < 0xE000]


def main() -> None:
    """Write the file that the command names."""
    path = Path(sys.argv[1])
    patterns = json.dumps(dict(spelled_patterns()), ensure_ascii=True, indent=2)
    path.write_text(
        "// Written by web/generate_tables.py.\n\n"
        "// The stages of a pre-tokenizer, as tokenizer_json.js writes them → the name of the pattern.\n"
        f"export const PATTERNS = {patterns};\n\n"
        "// The characters that take part in normalization by Unicode 9.0, as ranges of a regular expression.\n"
        f'export const NORMALIZED = "{ranges(normalized_characters())}";\n',
        encoding="utf-8",
        newline="\n",
    )


def spelled_patterns() -> Iterator[tuple[str, str]]:
    """Yield the spellings of named patterns that occur in files, and the name of each; "" cuts nowhere."""
    yield key([ByteLevel()]), ""
    yield key([ByteLevel(use_regex=True)]), "gpt2"
    expressions = {each.cuts: name for name, each in NAMED_PATTERNS.items() if isinstance(each.cuts, str)}
    for expression, name in (expressions | SPELLINGS).items():
        for spelled in spellings(expression):
            for behavior, invert in (("Isolated", False), ("Removed", True)):
                yield checked([Split(spelled, behavior, invert), ByteLevel()], name)
    for name, each in NAMED_PATTERNS.items():
        if not isinstance(each.cuts, str):
            stages = [
                [Split(spelled) for spelled in spellings(stage.expression)] if isinstance(stage, Split) else [stage]
                for stage in each.cuts
            ]
            for chain in product(*stages):
                yield checked(chain, name)


def spellings(expression: str) -> set[str]:
    r"""Return an expression, and how it is with line ends that stand for themselves instead of `\r` and `\n`."""
    return {expression, expression.replace(r"\r", "\r").replace(r"\n", "\n")}


def checked(stages: Iterable[Stage], name: str) -> tuple[str, str]:
    """Return the key of stages and their name, which Python must give them, too."""
    found = Pattern.parse(PreTokenizer(tuple(stages))).canonical
    assert found == name or {found, name} == {"llama3", "cl100k"}, (found, name)
    return key(stages), name


def key(stages: Iterable[Stage]) -> str:
    """Return stages as `JSON.stringify` writes what tokenizer_json.js makes of them."""
    return json.dumps([*map(written, stages)], ensure_ascii=False, separators=(",", ":"))


def written(stage: Stage) -> dict[str, Any]:
    """Return a stage with the fields that decide how it cuts."""
    content = stage.to_json() if isinstance(stage, (ByteLevel, Split)) else {"type": "Digits"}
    if isinstance(stage, Digits):
        content["individual_digits"] = stage.individual_digits
    content.pop("trim_offsets", None)
    return content


def normalized_characters() -> list[int]:
    """Return the characters that normalization changes, those it makes, and those that change places.

    All others neither change nor join others, so that text may be cut on both sides of them.
    """
    found: set[int] = set()
    for form in (normalizers.NFD(), normalizers.NFKD()):
        for code in CODES:
            made = form.normalize_str(chr(code))
            if made != chr(code):
                found |= {code, *map(ord, made)}
    # A mark of a lower class comes before U+0300, and U+0334, which has the lowest, before a mark of a higher one.
    form = normalizers.NFD()
    for code in CODES:
        for pair in (f"a\u0300{chr(code)}", f"a{chr(code)}\u0334"):
            if form.normalize_str(pair) != pair and code not in found:
                found.add(code)
    return sorted(found)


def ranges(codes: list[int]) -> str:
    """Return characters as ranges of a class in a regular expression, for a string of JavaScript."""
    text, at = "", 0
    while at < len(codes):
        last = at
        while last + 1 < len(codes) and codes[last + 1] == codes[last] + 1:
            last += 1
        text += rf"\u{{{codes[at]:x}}}" + (rf"-\u{{{codes[last]:x}}}" if last > at else "")
        at = last + 1
    return text.replace("\\", "\\\\")


if __name__ == "__main__":
    main()
