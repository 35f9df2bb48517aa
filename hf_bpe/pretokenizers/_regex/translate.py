r"""Writing the tree of a split expression for the `regex` package."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from hf_bpe.pretokenizers._regex.newer_characters import stand_ins
from hf_bpe.pretokenizers._regex.properties import LONE_WORD, WORD, without_properties
from hf_bpe.pretokenizers._regex.tree import (
    ANYTHING,
    LAST_CODE_POINT,
    NOTHING,
    Alternation,
    Anchor,
    Atomic,
    CharacterSet,
    Complement,
    Intersection,
    LookAround,
    Node,
    OneOf,
    Property,
    Ranges,
    Repeat,
    Sequence,
    Union,
    complement_of,
    intersection_of,
    ranges_of,
)

# What `regex` compiles in a few seconds; the expressions in use have 400 characters, or 100,000 if spelled out.
_MAX_NODES = 1 << 18
_MAX_WRITTEN = 500_000

_VERSION_1 = "(?V1)"  # of `regex`: classes nest, and have &&
_NO_NEWLINE = complement_of(ranges_of(0x0A))
_ANCHORS = {
    "text start": r"\A",
    "text end": r"\Z",
    "text end or final newline": r"(?=\n?\Z)",
    "line start": r"(?:\A|(?<=\n)(?!\Z))",
    "line end": r"(?=\n|\Z)",
    "search start": r"\G",
}
# The \w of `regex` has two joiners more.
_WORDS: dict[CharacterSet, str] = {
    WORD: r"[\w--[\u200c\u200d]]",
    LONE_WORD: r"[\w\xb2\xb3\xb9\xbc-\xbe--[\u200c\u200d]]",
    complement_of(LONE_WORD): r"[^[\w\xb2\xb3\xb9\xbc-\xbe--[\u200c\u200d]]]",
}
_SHORT = {"White_Space": r"\s", "Nd": r"\d"}


class Written(NamedTuple):
    """An expression for `regex`, and whether it must be given the text that `hide_newer` returns."""

    expression: str
    needs_mask: bool


def write(node: Node) -> Written:
    r"""Return the expression that matches as a tree does.

    Properties are those of `regex`, over masked text. But where the tree tells a masked character from its stand-in,
    all characters of a property are spelled out, which is slower, and the text is not masked.

    Raises:
        ValueError: as `check_expansion`, or the expression is too long.

    >>> from hf_bpe.pretokenizers._regex.parser import parse
    >>> write(parse(r"^(?i:k|[a-c&&[^b]])")).expression
    '(?V1)(?:\\A|(?<=\\n)(?!\\Z))(?:[Kk\\u212a]|[ACac])'
    """
    check_expansion(node)
    masked = _Writer(spells_out=False)
    expression = masked.written(node)
    if masked.has_properties and masked.tells_stand_ins:
        return Written(_VERSION_1 + _Writer(spells_out=True).written(node), False)
    return Written(_VERSION_1 + expression, masked.has_properties)


def check_expansion(node: Node) -> None:
    """Raise a ValueError if `regex` needs too much time and memory to compile a tree.

    It writes out the required turns of a repetition and one more, so each level of `(?:(?:ab)+)+` doubles its program.
    """
    if _expanded_size(node) > _MAX_NODES:
        raise ValueError(
            f"nested repetitions that the package regex expands to over {_MAX_NODES} nodes; expected fewer levels of "
            "repetition, such as a++ instead of (?:a++)++"
        )


def _expanded_size(node: Node) -> int:
    match node:
        case Sequence(parts) | Alternation(parts):
            return 1 + sum(map(_expanded_size, parts))
        case Repeat(body, minimum, maximum, _):
            turns = max(minimum, 1) if maximum == 1 or isinstance(body, OneOf) else minimum + 1
            return 1 + turns * _expanded_size(body)
        case Atomic(body) | LookAround(body, _, _):
            return 1 + _expanded_size(body)
        case OneOf() | Anchor():
            return 1


class _Writer:
    def __init__(self, *, spells_out: bool) -> None:
        self.spells_out = spells_out
        self.has_properties = False
        self.tells_stand_ins = False
        self._classes: dict[CharacterSet, str] = {}
        self._length = 0

    def written(self, node: Node) -> str:
        """Return an expression, which may need parentheses around it before a repetition."""
        match node:
            case OneOf(characters):
                return self._character_class(characters)
            case Sequence(parts):
                return "".join(
                    self._grouped(part) if isinstance(part, Alternation) else self.written(part) for part in parts
                )
            case Alternation(branches):
                return "|".join(map(self.written, branches))
            case Repeat(body, minimum, maximum, is_greedy):
                return f"{self._grouped(body)}{_times(minimum, maximum)}{'' if is_greedy else '?'}"
            case Atomic(body):
                return f"(?>{self.written(body)})"
            case LookAround(body, is_ahead, is_negated):
                return f"(?{'' if is_ahead else '<'}{'!' if is_negated else '='}{self.written(body)})"
            case Anchor("word boundary"):
                return f"(?:{self._words_at(True, False)}|{self._words_at(False, True)})"
            case Anchor("inside or outside a word"):
                return f"(?:{self._words_at(True, True)}|{self._words_at(False, False)})"
            case Anchor(place):
                return _ANCHORS[place]

    def _words_at(self, before: bool, after: bool) -> str:
        """Return an expression of the places with a word character before or not, and after or not."""
        word = [self._character_class(LONE_WORD) for _ in range(2)]
        return f"(?<{'=' if before else '!'}{word[0]})(?{'=' if after else '!'}{word[1]})"

    def _grouped(self, node: Node) -> str:
        return self.written(node) if isinstance(node, OneOf | Atomic) else f"(?:{self.written(node)})"

    def _character_class(self, members: CharacterSet) -> str:
        """Return an expression of one character."""
        if (written := self._classes.get(members)) is None:
            written = self._classes[members] = self._class(members)
        self._length += len(written)
        if self._length > _MAX_WRITTEN:
            raise ValueError(
                f"its classes are over {_MAX_WRITTEN} characters long as the package regex needs them; expected fewer"
            )
        return written

    def _class(self, members: CharacterSet) -> str:
        if self.spells_out:
            members = without_properties(members)
        if members in _WORDS:
            self.has_properties = True
            return _WORDS[members]
        if members == NOTHING:
            return "(?!)"
        if members == ANYTHING:
            return "(?s:.)"
        if members == _NO_NEWLINE:
            return "."
        if isinstance(members, Ranges):
            if members.ranges[0][0] == members.ranges[-1][1]:
                return self._items(members)
            if members.ranges[0][0] == 0 and members.ranges[-1][1] == LAST_CODE_POINT:
                return f"[^{self._items(complement_of(members))}]"
        if isinstance(members, Property) or (isinstance(members, Complement) and isinstance(members.member, Property)):
            return self._items(members)
        if isinstance(members, Complement):
            return f"[^{self._items(members.member)}]"
        return f"[{self._items(members)}]"

    def _items(self, members: CharacterSet) -> str:
        """Return what stands between the brackets of a class."""
        match members:
            case Ranges(ranges):
                self.tells_stand_ins = self.tells_stand_ins or _tells_stand_ins(members)
                return "".join(
                    _character(first) if first == last else f"{_character(first)}-{_character(last)}"
                    for first, last in ranges
                )
            case Property(name):
                self.has_properties = True
                return _SHORT.get(name, rf"\p{{{name}}}")
            case Complement(Property(name)):
                self.has_properties = True
                return _SHORT[name].upper() if name in _SHORT else rf"\P{{{name}}}"
            case Complement(member):
                return f"[^{self._items(member)}]"
            case Union(parts):
                return "".join(map(self._items, parts))
            case Intersection(parts):
                # A class by itself, because members of a union may stand next to it.
                return f"[{'&&'.join(f'[{self._items(part)}]' for part in parts)}]"


@lru_cache(maxsize=1024)
def _tells_stand_ins(members: Ranges) -> bool:
    """Are there characters in a set, but not their stand-ins, or the other way?"""
    return any(
        intersection_of(members, hidden) not in ((hidden,) if _has(members, stand_in) else (NOTHING,))
        for stand_in, hidden in _hidden().items()
    )


@lru_cache(maxsize=1)
def _hidden() -> dict[int, Ranges]:
    """Return the characters that `hide_newer` replaces, by their stand-ins."""
    _, table = stand_ins()
    return {
        stand_in: ranges_of(*(code for code, other in table.items() if other == stand_in))
        for stand_in in set(table.values())
    }


def _has(members: Ranges, code: int) -> bool:
    return any(first <= code <= last for first, last in members.ranges)


def _times(minimum: int, maximum: int | None) -> str:
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((minimum, maximum))
    return simple or (f"{{{minimum}}}" if minimum == maximum else f"{{{minimum},{'' if maximum is None else maximum}}}")


def _character(code: int) -> str:
    char = chr(code)
    if char.isascii() and (char.isalnum() or char in " !\"'%,/:;<=>@_`"):
        return char
    named = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(char)
    if named:
        return named
    if char.isascii() and char.isprintable():
        return f"\\{char}"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
