"""Unicode 16.0 for any release of `regex`: characters that it knows beyond 16.0 are replaced by stand-ins."""

from __future__ import annotations

import re
from functools import lru_cache

from hf_bpe._utils.lazy_exports import compiled

# Unicode 17 moved U+0295 from Ll to Lo; U+0252 is Ll in both.
RECATEGORIZED = {0x0295: 0x0252}
NONCHARACTER = 0xFDD0  # a noncharacter in every version of Unicode, so of category Cn like the hidden ones


def hide_newer(text: str) -> str:
    """Return text of the same length in which `regex` sees the classes of Unicode 16.0; the text itself if possible."""
    if text.isascii():
        return text
    finder, table = stand_ins()
    return text.translate(table) if finder.search(text) else text


@lru_cache(maxsize=1)
def stand_ins() -> tuple[re.Pattern[str], dict[int, int]]:
    """Return an expression for characters that the installed `regex` knows beyond Unicode 16.0, and their stand-ins."""
    from hf_bpe.pretokenizers._regex.properties import unassigned  # ASCII does not need these tables

    table = dict(RECATEGORIZED)
    members = "".join(map(chr, RECATEGORIZED))
    for first, last in unassigned():
        for match in compiled(r"\P{Cn}+").finditer("".join(map(chr, range(first, last + 1)))):
            table.update((ord(char), NONCHARACTER) for char in match.group())
            members += f"{chr(first + match.start())}-{chr(first + match.end() - 1)}"
    # `re` rather than `regex`, because it tests a class with a bitmap. No member of the class needs escaping.
    return re.compile(f"[{members}]"), table
