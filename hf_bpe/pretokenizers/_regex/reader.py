r"""Reading the characters of an expression in Oniguruma's syntax: escapes, properties and classes."""

from __future__ import annotations

from typing import NoReturn

from hf_bpe.pretokenizers._regex.properties import (
    DIGIT,
    HEX_DIGIT,
    POSIX,
    SPACE,
    WORD,
    cased_between,
    find_property,
    variant_codes,
    without_properties,
)
from hf_bpe.pretokenizers._regex.tree import (
    LAST_CODE_POINT,
    CharacterSet,
    Property,
    Ranges,
    Union,
    complement_of,
    intersection_of,
    ranges_of,
    union_of,
)

_CONTROLS = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7, "e": 27}
_TYPES = {"s": SPACE, "d": DIGIT, "h": HEX_DIGIT, "w": WORD}
_HEX = "0123456789abcdefABCDEF"

MAX_DEPTH = 100
"""Levels of groups and classes."""


class ExpressionReader:
    """A position in an expression, and what can be read there."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._depth = 0

    def fail(self, what: str, at: int | None = None) -> NoReturn:
        """Raise a ValueError that names the column of a construct."""
        column = (self.position if at is None else at) + 1
        raise ValueError(f"column {column}: {what}")

    def enter(self) -> None:
        """Count a level of nesting."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            self.fail(f"more than {MAX_DEPTH} levels of groups and classes; expected fewer")

    def leave(self) -> None:
        """Count the end of a level of nesting."""
        self._depth -= 1

    def peek(self, size: int = 1) -> str:
        """Return the next characters, fewer at the end."""
        return self.text[self.position : self.position + size]

    def take(self, expected: str) -> bool:
        """Pass a string if it is next."""
        if not self.text.startswith(expected, self.position):
            return False
        self.position += len(expected)
        return True

    def next(self) -> str:
        """Pass a character and return it."""
        char = self.text[self.position]
        self.position += 1
        return char

    def take_while(self, members: str, maximum: int) -> str:
        """Pass up to `maximum` characters of `members`."""
        start = self.position
        while self.position - start < maximum and (char := self.peek()) and char in members:
            self.position += 1
        return self.text[start : self.position]

    def read_escape(self) -> int | CharacterSet:
        r"""Read the rest of an escape after its backslash: a code point, or the set of a type such as `\s`."""
        start = self.position - 1
        if not self.peek():
            self.fail(r"a lone \ at the end; expected \\ for a backslash", start)
        char = self.next()
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.lower() in _TYPES:
            members = _TYPES[char.lower()]
            return members if char.islower() else complement_of(members)
        if char in "pP":
            return self._read_property(start)
        if char in "xu0":
            return self._read_number(char, start)
        if char.isascii() and char.isalnum():
            self.fail(rf"\{char} is not supported here; expected a known escape, or the character itself", start)
        return ord(char)

    def _read_number(self, kind: str, start: int) -> int:
        if kind == "x" and self.take("{"):
            digits = self.take_while(_HEX, 8)
            if not self.take("}"):
                digits = ""
        elif kind == "u":
            digits = self.take_while(_HEX, 4)
            digits = digits if len(digits) == 4 else ""
        elif kind == "x":
            digits = self.take_while(_HEX, 2)
            if digits and int(digits, 16) >= 0x80:
                self.fail(rf"\x{digits} is one byte of UTF-8; expected the code point, \x{{{digits}}}", start)
        else:
            return int("0" + self.take_while("01234567", 2), 8)
        if not digits:
            self.fail(rf"\{kind} without its digits; expected \x{{…}}, \xHH or \uHHHH", start)
        code = int(digits, 16)
        if code > LAST_CODE_POINT or 0xD800 <= code < 0xE000:
            self.fail(f"U+{code:04X} is not a character; expected one up to U+10FFFF and no surrogate", start)
        return code

    def _read_property(self, start: int) -> CharacterSet:
        is_negated = self.text[self.position - 1] == "P"
        if not self.take("{"):
            self.fail(r"\p without braces; expected \p{…}", start)
        if self.take("^"):
            is_negated = not is_negated
        end = self.text.find("}", self.position)
        name = self.text[self.position : end] if end >= 0 else ""
        members = find_property(name)
        if members is None:
            self.fail(
                f"the property {name[:40]!r} is not supported; expected a general category, a script, or one such as "
                "Alphabetic",
                start,
            )
        self.position = end + 1
        return complement_of(members) if is_negated else members

    def read_class(self, ignores_case: bool) -> CharacterSet:
        """Read the rest of a class after its `[`: items, ranges, classes and intersections."""
        start = self.position - 1
        self.enter()
        is_negated = self.take("^")
        if self.peek() == "]":
            self.fail(r"a class that begins with ]; expected \] for the bracket itself", start)
        operands: list[CharacterSet] = []
        while True:
            operands.append(self._read_items(start))
            if self.take("]"):
                break
            self.position += 2  # &&
        self.leave()
        members = intersection_of(*operands)
        if ignores_case:
            if not isinstance(members, Ranges):
                self.fail("a class with a property under (?i); expected the class outside of (?i)", start)
            members = self._both_cases(members, start)
        if is_negated and ("[^" in self.text[start + 1 : self.position] or len(operands) > 1):
            self._check_negated(members, start)
        return complement_of(members) if is_negated else members

    def _check_negated(self, members: CharacterSet, start: int) -> None:
        r"""Refuse `[^a[^\P{N}\P{L}]]`: Oniguruma mistakes a nested class that is empty beyond ASCII."""
        parts = members.members if isinstance(members, Union) else (members,)
        if any(isinstance(getattr(part, "member", part), Property) for part in parts):
            return  # there are characters beyond ASCII in every property, and outside of it
        if without_properties(members).ranges[-1:] < ((0x80, 0),):
            self.fail("a negated class of ASCII by [^…] or && in it; expected one with its characters", start)

    def _read_items(self, start: int) -> CharacterSet:
        """Read the items of a class up to its `]`, or to `&&`."""
        sets: list[CharacterSet] = []
        first: int | None = None  # where a range may begin
        may_end = False  # an item that cannot begin a range has been read
        while not (self.peek() == "]" or self.peek(2) == "&&"):
            at = self.position
            if not self.peek():
                self.fail("a class without its end; expected ]", start)
            if first is not None and self.peek() == "-" and not self._is_last_hyphen():
                self.position += 1
                last = self._read_item(start)
                if not isinstance(last, int) or last < first:
                    self.fail("a range whose end is not a character after its start; expected one such as a-z", at)
                sets.append(ranges_of((first, last)))
                first, may_end = None, False
                continue
            if may_end and self.peek() == "-" and not self._is_last_hyphen():
                self.fail(r"a range that starts with a set; expected \- for the hyphen itself", at)
            item = self._read_item(start)
            if isinstance(item, int):
                sets.append(ranges_of(item))
                first, may_end = item, False
            else:
                sets.append(item)
                first, may_end = None, self.text[at] != "[" or self.text.startswith("[:", at)
        return union_of(*sets)

    def _is_last_hyphen(self) -> bool:
        following = self.text[self.position + 1 : self.position + 3]
        return following[:1] == "]" or following == "&&"

    def _read_item(self, start: int) -> int | CharacterSet:
        at = self.position
        if not self.peek():
            self.fail("a class without its end; expected ]", start)
        char = self.next()
        if char == "[":
            if self.peek() == ":" and (end := self.text.find(":]", at)) > 0:
                name = self.text[at + 2 : end].removeprefix("^")
                if name in POSIX:
                    is_negated = self.text[at + 2] == "^"
                    self.position = end + 2
                    return complement_of(POSIX[name]) if is_negated else POSIX[name]
                if name.isalpha() or not name:
                    self.fail(f"[:{name[:40]}:] is not a POSIX class; expected one of {', '.join(POSIX)}", at)
            return self.read_class(ignores_case=False)
        if char != "\\":
            return ord(char)
        if self.take("b"):
            return 8
        return self.read_escape()

    def _both_cases(self, members: Ranges, start: int) -> Ranges:
        """Return the set with all characters that differ from a member only in case."""
        added: list[int] = []
        for first, last in members.ranges:
            for code in cased_between(first, last):
                variants = variant_codes(code)
                if not variants:
                    what = f"a class with {chr(code)} under (?i), which is also several characters"
                    self.fail(f"{what}; expected it outside", start)
                if variants[0] < first or variants[-1] > last:
                    added += variants
        return ranges_of(*members.ranges, *added)
