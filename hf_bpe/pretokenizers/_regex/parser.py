r"""Split expressions in Oniguruma's syntax, which is what `tokenizer.json` means by an expression.

`parse` reads an expression into a tree, which `write` writes for the `regex` package. The two libraries read some
syntax differently: in Oniguruma `^` and `$` are ends of lines, `a{2,3}+` is a repeated repetition, classes nest. What
is not understood here is refused, never passed on, because another meaning would silently give other ids.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NoReturn

from hf_bpe.pretokenizers._regex.checks import has_implicit_line_anchor, is_no_target, may_be_empty
from hf_bpe.pretokenizers._regex.properties import LONE_WORD, folds_to_several, sequences_of_one, variant_codes
from hf_bpe.pretokenizers._regex.reader import MAX_DEPTH, ExpressionReader
from hf_bpe.pretokenizers._regex.tree import (
    ANYTHING,
    Alternation,
    Anchor,
    AnchorPlace,
    Atomic,
    LookAround,
    Node,
    OneOf,
    Repeat,
    Sequence,
    complement_of,
    ranges_of,
)
from hf_bpe.pretokenizers._stages import check_length

_NEWLINES = OneOf(ranges_of((0x0A, 0x0D), 0x85, 0x2028, 0x2029))
_GENERAL_NEWLINE = Atomic(
    Alternation((Sequence((OneOf(ranges_of(0x0D)), OneOf(ranges_of(0x0A)))), _NEWLINES)),
)
_ANCHORS: dict[str, AnchorPlace] = {
    "A": "text start",
    "z": "text end",
    "Z": "text end or final newline",
    "b": "word boundary",
    "B": "inside or outside a word",
    "G": "search start",
}
_LOOK_AROUNDS = {"=": (True, False), "!": (True, True), "<=": (False, False), "<!": (False, True)}
_UNSUPPORTED_ESCAPES = {
    **dict.fromkeys("123456789k", "a back-reference"),
    "g": "a call of a group",
    "K": r"\K",
    **dict.fromkeys("XyY", "a text segment"),
    **dict.fromkeys("NO", "an escape for any character"),
}
_UNSUPPORTED_GROUPS = {"~": "an absent operator", "(": "a condition", "{": "a callout", "P": "a named group"}
_MAX_REPETITIONS = 100_000  # Oniguruma's own limit
_INTERVAL = re.compile(r"\{(?:(\d+)(,?)(\d*)|,(\d+))\}", re.ASCII)
_SIMPLE = {"*": (0, None), "+": (1, None), "?": (0, 1)}


@lru_cache(maxsize=64)
def parse(expression: str) -> Node:
    """Return the tree of an expression.

    One that is too long, invalid, or has a construct that is not supported is a ValueError, which names the column.

    >>> parse("[ab]?")
    Repeat(body=OneOf(characters=Ranges(ranges=((97, 98),))), minimum=0, maximum=1, is_greedy=True)
    """
    check_length(len(expression))
    try:
        return _Parser(expression).parse()
    except RecursionError:  # the calling code may have left little room
        raise ValueError("groups that are nested too deeply for the rest of the stack; expected fewer") from None


@dataclass(frozen=True, slots=True)
class _GroupOptions:
    ignores_case: bool = False
    dot_is_all: bool = False
    is_extended: bool = False
    looks_behind: bool = False
    may_capture: bool = True


class _Parser(ExpressionReader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._stacked = 0  # repetitions of repetitions, each of which is a level of the tree
        self._folded = ""  # the literals under (?i) that were just read, which could be one character together

    def parse(self) -> Node:
        node = self._read_alternation(_GroupOptions())
        if self.peek():
            self.fail(r"a ) without its (; expected \) for the parenthesis itself")
        if has_implicit_line_anchor(node):
            self.fail(
                "an anchor or look-ahead before . repeated, which Oniguruma does not find; expected another start", 0
            )
        return node

    def _unsupported(self, construct: str, at: int) -> NoReturn:
        self.fail(f"{construct} is not supported; expected an expression without it", at)

    def _read_alternation(self, options: _GroupOptions) -> Node:
        self.enter()
        branches = [self._read_branch(options)]
        while self.take("|"):
            self._folded = ""
            branches.append(self._read_branch(options))
        self.leave()
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _read_branch(self, options: _GroupOptions) -> Node:
        parts: list[Node] = []
        while True:
            self._skip(options)
            if not self.peek() or self.peek() in "|)":
                return parts[0] if len(parts) == 1 else Sequence(tuple(parts))
            if (changed := self._read_isolated_options(options)) is not None:
                # Oniguruma: all that follows in the group, alternatives included, is one group with these options.
                parts.append(self._read_alternation(changed))
                continue
            at = self.position
            parts.append(self._read_repetitions(self._read_atom(options), at, options))

    def _skip(self, options: _GroupOptions) -> None:
        """Pass comments, and under (?x) white space."""
        while True:
            start = self.position
            if self.take("(?#"):
                while not self.take(")"):
                    if not self.peek():
                        self.fail("a comment without its end; expected )", start)
                    self.position += 2 if self.peek() == "\\" else 1
            elif options.is_extended and self.peek() and self.peek() in " \t\n\r\f":
                self.position += 1
            elif options.is_extended and self.peek() == "#":
                end = self.text.find("\n", self.position)
                self.position = len(self.text) if end < 0 else end + 1
            else:
                return

    def _read_isolated_options(self, options: _GroupOptions) -> _GroupOptions | None:
        match = re.compile(r"\(\?([-imx]+)\)").match(self.text, self.position)
        if match is None:
            return None
        self.position = match.end()
        return _changed(options, match[1])

    def _read_atom(self, options: _GroupOptions) -> Node:
        at = self.position
        char = self.next()
        if char == "(":
            return self._read_group(at, options)
        folded, self._folded = self._folded, ""
        if char == "[":
            return OneOf(self.read_class(options.ignores_case))
        if char == ".":
            return OneOf(ANYTHING if options.dot_is_all else complement_of(ranges_of(0x0A)))
        if char in "^$":
            return Anchor("line start" if char == "^" else "line end")
        if char in "*+?" or (char == "{" and _INTERVAL.match(self.text, at)):
            self.fail(rf"nothing before {char} to repeat; expected \{char} for the character itself", at)
        read = self._read_escaped(at, options) if char == "\\" else ord(char)
        return self._literal(read, folded, at, options) if isinstance(read, int) else read

    def _read_escaped(self, at: int, options: _GroupOptions) -> int | Node:
        char = self.peek()
        if char in _UNSUPPORTED_ESCAPES and char:
            what = _UNSUPPORTED_ESCAPES[char]
            self._unsupported(what if what.startswith("\\") else rf"\{char}, {what},", at)
        self.position += 1
        if char in _ANCHORS and char:
            if options.looks_behind and char in "zZG":
                self._unsupported(rf"\{char} in a look-behind", at)
            return Anchor(_ANCHORS[char])
        if char == "R" or char in ("w", "W"):
            if char == "R" and options.looks_behind:
                self._unsupported(r"\R in a look-behind", at)
            return _GENERAL_NEWLINE if char == "R" else OneOf(LONE_WORD if char == "w" else complement_of(LONE_WORD))
        self.position -= 1
        read = self.read_escape()
        if isinstance(read, int):
            return read
        name = self.text[at + 2 : self.position].strip("{}^").lower()
        if self.text[at + 1] in "pP" and name == "word":
            is_negated = (self.text[at + 1] == "P") != (self.text[at + 3] == "^")
            return OneOf(complement_of(LONE_WORD) if is_negated else LONE_WORD)
        return OneOf(read)

    def _literal(self, code: int, folded: str, at: int, options: _GroupOptions) -> Node:
        if not options.ignores_case:
            return OneOf(ranges_of(code))
        char = chr(code)
        self._folded = folded[-2:] + char.casefold()
        if folds_to_several(char):
            self.fail(f"{char} under (?i), which is also several characters; expected it outside of (?i)", at)
        for sequence in sequences_of_one():
            if self._folded.endswith(sequence):
                self.fail(f"{sequence} under (?i), which is also a single character; expected a class for each", at)
        return OneOf(ranges_of(*variant_codes(code)))

    def _read_group(self, at: int, options: _GroupOptions) -> Node:
        inner, wrap = options, ""
        if self.peek() == "*":
            self._unsupported("a callout (*", at)
        if not self.take("?"):
            self._check_capture(at, options)
        elif match := re.compile(r"([-imx]*):").match(self.text, self.position):
            self.position = match.end()
            inner = _changed(options, match[1])
        elif match := re.compile(r"<[A-Za-z_]\w*>|'[A-Za-z_]\w*'", re.ASCII).match(self.text, self.position):
            self.position = match.end()
            self._check_capture(at, options)
        elif match := re.compile(r"<?[=!]|>").match(self.text, self.position):
            self.position = match.end()
            wrap = match[0]
            if options.looks_behind:
                self._unsupported(f"(?{wrap} in a look-behind", at)
            self._folded = ""
            if wrap[0] == "<":
                inner = replace(options, looks_behind=True, may_capture=wrap == "<=")
        else:
            char = self.peek()
            what = _UNSUPPORTED_GROUPS.get(char, "the group or option") if char else "the group"
            end = self.text.find(")", at, at + 8) + 1
            self._unsupported(f"{what} {self.text[at : end or at + 3]}", at)
        body = self._read_alternation(inner)
        if not self.take(")"):
            self.fail(r"a ( without its ); expected \( for the parenthesis itself", at)
        if not wrap:
            return body
        self._folded = ""
        return Atomic(body) if wrap == ">" else LookAround(body, *_LOOK_AROUNDS[wrap])

    def _check_capture(self, at: int, options: _GroupOptions) -> None:
        if not options.may_capture:
            self.fail("a capturing group in a negative look-behind; expected (?:…)", at)

    def _read_repetitions(self, node: Node, at: int, options: _GroupOptions) -> Node:
        was_once = False
        while True:
            self._skip(options)
            start = self.position
            if match := _INTERVAL.match(self.text, start):
                self.position = match.end()
                minimum, maximum, is_possessive = _limits(match)
                is_lazy = not is_possessive and match[0].find(",") >= 0 and self.take("?")
            elif self.peek() and self.peek() in "*+?":
                minimum, maximum = _SIMPLE[self.next()]
                is_lazy = self.take("?")
                is_possessive = not is_lazy and self.take("+")
            else:
                return node
            if max(minimum, maximum or 0) > _MAX_REPETITIONS:
                self.fail(f"a repetition of over {_MAX_REPETITIONS}; expected fewer", start)
            if was_once:
                self.fail("a repetition after {1}; expected one of them", start)
            if is_no_target(node):
                self.fail("a repetition of an anchor, a look-around or nothing; expected characters before it", start)
            if may_be_empty(node) and (minimum > 1 or (maximum or 0) > 1):
                self.fail("a counted repetition of what may be empty; expected *, + or ?", start)
            if options.looks_behind and (is_possessive or minimum != maximum or not minimum):
                self._unsupported("a repetition of varying length in a look-behind", start)
            self._stacked += isinstance(node, Repeat | Atomic)
            if self._stacked > MAX_DEPTH:
                self.fail(f"more than {MAX_DEPTH} repetitions of repetitions; expected fewer", start)
            was_once = (minimum, maximum) == (1, 1)
            node = Repeat(node, minimum, maximum, not is_lazy)
            if is_possessive:
                node = Atomic(node)


def _changed(options: _GroupOptions, letters: str) -> _GroupOptions:
    on, _, off = letters.partition("-")
    names = {"i": "ignores_case", "m": "dot_is_all", "x": "is_extended"}
    off = off.replace("-", "")
    return replace(options, **{names[letter]: True for letter in on}, **{names[letter]: False for letter in off})


def _limits(match: re.Match[str]) -> tuple[int, int | None, bool]:
    """Return the limits of an interval, and whether it is possessive, as {3,2} is in Oniguruma."""
    if match[4]:
        return 0, _number(match[4]), False
    minimum = _number(match[1])
    if not match[2]:
        return minimum, minimum, False
    if not match[3]:
        return minimum, None, False
    maximum = _number(match[3])
    return min(minimum, maximum), max(minimum, maximum), maximum < minimum


def _number(digits: str) -> int:
    """Return a number, or one that is as surely beyond every limit: Python refuses to read thousands of digits."""
    return int(digits.lstrip("0")[:9] or "0")
