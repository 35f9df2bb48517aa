"""Programs of split expressions, which the native core runs.

A program is what is left of a syntax tree (`_expression_tree`) without nesting: instructions that name the next one,
over numbered sets of characters. All choices are `SPLIT`s, whose first way is tried first; whatever looks at one
character only, before or after a position, is a `CHECK`. An expression of nothing but `CHARACTER`, `SPLIT`, `CHECK` and
`ACCEPT` can be run by a deterministic automaton; `LOOK` and `ATOMIC` need backtracking.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from functools import lru_cache
from typing import NamedTuple

from hf_bpe.pretokenizers._regex.checks import may_be_empty
from hf_bpe.pretokenizers._regex.parser import parse
from hf_bpe.pretokenizers._regex.properties import LONE_WORD, without_properties
from hf_bpe.pretokenizers._regex.tree import (
    ANYTHING,
    NOTHING,
    Alternation,
    Anchor,
    Atomic,
    LookAround,
    Node,
    OneOf,
    Ranges,
    Repeat,
    Sequence,
    complement_of,
    ranges_of,
    union_of,
)

_MAX_INSTRUCTIONS = 1 << 15  # `(?:a{1,1000}){1,1000}` would have a million
_MAX_DEPTH = 20  # of the trees that replace atomic groups; `(?>a{0,1000})` would have a thousand


class TooComplexError(ValueError):
    """An expression has no program: it is too large, or has a construct that programs do not have."""


class Opcode(IntEnum):
    """The action of an instruction at a position. The numbers are those of native/expressions/expression.hpp."""

    ACCEPT = 0  # the end of a match, or of the body of a LOOK or ATOMIC
    CHARACTER = 1  # pass a character of the set `a`, continue at `b`
    SPLIT = 2  # continue at `a`; if that fails, at `b`
    CHECK = 3  # continue at `c` if the character before is in the set `a`, and the one after in the set `b`
    LOOK = 4  # continue at `b` if the body at `a` matches (`c` is 0), or does not (1), from `d` characters before
    ATOMIC = 5  # pass the first match of the body at `a`; continue at `b`, but at `c` if it is empty


class Instruction(NamedTuple):
    """An instruction with its operands: other instructions, or sets, by number."""

    opcode: Opcode
    a: int = 0
    b: int = 0
    c: int = 0
    d: int = 0


class CharacterTest(NamedTuple):
    """A set of characters, which may also have the edge of the text: its start for what is before, or its end."""

    characters: Ranges
    has_edge: bool = False


class Program(NamedTuple):
    """A compiled expression."""

    instructions: tuple[Instruction, ...]  # the instructions; bodies have an `ACCEPT` of their own
    tests: tuple[CharacterTest, ...]
    start: int  # the number of the first instruction


MATCHES_NOTHING = Program(
    (Instruction(Opcode.ACCEPT), Instruction(Opcode.CHARACTER, 0, 0)), (CharacterTest(Ranges(())),), 1
)
"""A program for stages that only put a space before pieces."""


@lru_cache(maxsize=64)
def compile_expression(expression: str) -> Program:
    """Return the program of an expression; a TooComplexError if there is none.

    >>> for instruction in compile_expression("a+").instructions:
    ...     print(instruction)
    Instruction(opcode=<Opcode.ACCEPT: 0>, a=0, b=0, c=0, d=0)
    Instruction(opcode=<Opcode.SPLIT: 2>, a=2, b=0, c=0, d=0)
    Instruction(opcode=<Opcode.CHARACTER: 1>, a=0, b=1, c=0, d=0)
    """
    try:
        return _compile(simplified(parse(expression)))
    except RecursionError:  # the calling code may have left little room
        raise TooComplexError("the expression is nested too deeply") from None


@lru_cache(maxsize=64)
def compile_literal(literal: str) -> Program:
    """Return the program that matches a string."""
    return _compile(Sequence(tuple(OneOf(ranges_of(ord(char))) for char in literal)))


def _compile(node: Node) -> Program:
    compiler = _Compiler()
    start = compiler.compile(node, compiler.add(Instruction(Opcode.ACCEPT)))
    return Program(tuple(compiler.instructions), tuple(compiler.tests), start)


@dataclass
class _Compiler:
    """Instructions are added from the end of an expression to its start, so that each knows the next one."""

    instructions: list[Instruction] = field(default_factory=list)
    tests: dict[CharacterTest, int] = field(default_factory=dict)

    def add(self, instruction: Instruction) -> int:
        if len(self.instructions) >= _MAX_INSTRUCTIONS:
            raise TooComplexError(f"the expression needs over {_MAX_INSTRUCTIONS} steps; expected fewer repetitions")
        self.instructions.append(instruction)
        return len(self.instructions) - 1

    def test(self, characters: Ranges, has_edge: bool = False) -> int:
        return self.tests.setdefault(CharacterTest(characters, has_edge), len(self.tests))

    def compile(self, node: Node, following: int) -> int:
        """Add the instructions of a node before the instruction `following`; return the number of the first."""
        match node:
            case OneOf(characters):
                assert isinstance(characters, Ranges)
                return self.add(Instruction(Opcode.CHARACTER, self.test(characters), following))
            case Sequence(parts):
                for part in reversed(parts):
                    following = self.compile(part, following)
                return following
            case Alternation(branches):
                return self._choose(self.compile(branch, following) for branch in branches)
            case Repeat(body, minimum, maximum, is_greedy) if maximum is None:
                loop, turn = self._loop(body, is_greedy, following)
                if minimum > 0 and not may_be_empty(body):  # the last of the required turns is one of the loop
                    return self.compile(Sequence((body,) * (minimum - 1)), turn)
                return self.compile(Sequence((body,) * minimum), loop)
            case Repeat(body, minimum, maximum, is_greedy):
                assert maximum is not None
                after = following
                for _ in range(maximum - minimum):
                    following = self._either(self.compile(body, following), after, is_greedy)
                return self.compile(Sequence((body,) * minimum), following)
            case Atomic(body):
                if_empty = following if may_be_empty(body) else self._dead_state()  # which may be in a loop
                return self.add(Instruction(Opcode.ATOMIC, self._body(body), following, if_empty))
            case LookAround(body, is_ahead, is_negated):
                return self._look(body, is_ahead, is_negated, following)
            case Anchor(place):
                return self._anchor(place, following)

    def compile_unmoved(self, node: Node, unmoved: int, moved: int) -> int:
        """Add a node within a loop that has passed no character in this turn.

        Oniguruma leaves a loop when its body has matched the empty string. So what follows the node depends on whether
        a character was passed: `moved` if there was one, else `unmoved`. There are two copies of what can be reached
        in both ways.
        """
        match node:
            case OneOf(characters):
                assert isinstance(characters, Ranges)
                return self.add(Instruction(Opcode.CHARACTER, self.test(characters), moved))
            case Sequence(parts):
                for part in reversed(parts):
                    unmoved, moved = self.compile_unmoved(part, unmoved, moved), self.compile(part, moved)
                return unmoved
            case Alternation(branches):
                return self._choose(self.compile_unmoved(branch, unmoved, moved) for branch in branches)
            case Repeat(body, minimum, maximum, is_greedy):
                if minimum > 0:
                    repeats = Repeat(body, minimum - 1, None if maximum is None else maximum - 1, is_greedy)
                    return self.compile_unmoved(Sequence((body, repeats)), unmoved, moved)
                if maximum == 0:
                    return unmoved
                again = self.compile(Repeat(body, 0, None if maximum is None else maximum - 1, is_greedy), moved)
                return self._either(self.compile_unmoved(body, unmoved, again), unmoved, is_greedy)
            case Atomic(body):
                return self.add(Instruction(Opcode.ATOMIC, self._body(body), moved, unmoved))
            case LookAround() | Anchor():
                return self.compile(node, unmoved)

    def _choose(self, ways: Iterator[int]) -> int:
        *earlier, chosen = ways
        for way in reversed(earlier):
            chosen = self.add(Instruction(Opcode.SPLIT, way, chosen))
        return chosen

    def _either(self, way: int, other: int, is_first: bool) -> int:
        return self._choose(iter((way, other) if is_first else (other, way)))

    def _loop(self, body: Node, is_greedy: bool, following: int) -> tuple[int, int]:
        """Add a loop of any number of turns; return its start, and the start of a turn."""
        loop = self.add(Instruction(Opcode.SPLIT))  # which its body leads back to
        start = self.compile_unmoved(body, following, loop) if may_be_empty(body) else self.compile(body, loop)
        ways = (start, following) if is_greedy else (following, start)
        self.instructions[loop] = Instruction(Opcode.SPLIT, *ways)
        return loop, start

    def _body(self, body: Node) -> int:
        return self.compile(body, self.add(Instruction(Opcode.ACCEPT)))

    def _dead_state(self) -> int:
        return self.add(Instruction(Opcode.CHARACTER, self.test(NOTHING)))

    def _check(self, before: CharacterTest, after: CharacterTest, following: int) -> int:
        return self.add(Instruction(Opcode.CHECK, self.test(*before), self.test(*after), following))

    def _look(self, body: Node, is_ahead: bool, is_negated: bool, following: int) -> int:
        if isinstance(body, OneOf):
            assert isinstance(body.characters, Ranges)
            seen = _other(CharacterTest(body.characters)) if is_negated else CharacterTest(body.characters)
            return self._check(*((_ALWAYS, seen) if is_ahead else (seen, _ALWAYS)), following)
        if is_ahead:
            return self.add(Instruction(Opcode.LOOK, self._body(body), following, is_negated))
        # Each branch of a look-behind has a length of its own.
        looks = [(branch, _length(branch) or 0) for branch in _branches(body)]
        if is_negated:
            for branch, length in looks:
                following = self.add(Instruction(Opcode.LOOK, self._body(branch), following, 1, length))
            return following
        return self._choose(
            self.add(Instruction(Opcode.LOOK, self._body(branch), following, 0, length)) for branch, length in looks
        )

    def _anchor(self, place: str, following: int) -> int:
        match place:
            case "text start":
                return self._check(_EDGE, _ALWAYS, following)
            case "text end":
                return self._check(_ALWAYS, _EDGE, following)
            case "line start":
                at_start = self._check(_EDGE, _ALWAYS, following)
                return self._either(at_start, self._check(_NEWLINE, _INSIDE, following), True)
            case "line end":
                return self._check(_ALWAYS, CharacterTest(_NEWLINE.characters, True), following)
            case "text end or final newline":
                final = Sequence((OneOf(_NEWLINE.characters), Anchor("text end")))
                at_newline = self.add(Instruction(Opcode.LOOK, self._body(final), following))
                return self._either(self._check(_ALWAYS, _EDGE, following), at_newline, True)
            case "word boundary" | "inside or outside a word":
                word, other = _word_tests()
                pairs = ((word, other), (other, word)) if place == "word boundary" else ((word, word), (other, other))
                return self._choose(self._check(before, after, following) for before, after in pairs)
            case _:  # the position that a search has reached is not part of a program
                raise TooComplexError(r"\G has no program")


_EDGE = CharacterTest(NOTHING, True)
_INSIDE = CharacterTest(ANYTHING)
_ALWAYS = CharacterTest(ANYTHING, True)
_NEWLINE = CharacterTest(ranges_of(0x0A))


@lru_cache(maxsize=1)
def _word_tests() -> tuple[CharacterTest, CharacterTest]:
    """Return the tests of word characters, and of all that is none."""
    word = CharacterTest(without_properties(LONE_WORD))
    return word, _other(word)


def _other(test: CharacterTest) -> CharacterTest:
    return CharacterTest(_ranges(complement_of(test.characters)), not test.has_edge)


def _ranges(members: object) -> Ranges:
    assert isinstance(members, Ranges)
    return members


_MAX_BRANCHES = 1000  # of a look-behind


def _branches(node: Node) -> list[Node]:
    """Return nodes of fixed length, one of which matches wherever a node without atomic groups matches."""
    if _length(node) is not None:
        return [node]
    match node:
        case Alternation(branches):
            return _at_most([part for branch in branches for part in _branches(branch)])
        case Sequence(parts):
            return _joined(map(_branches, parts))
        case Repeat(body, minimum, maximum, _) if minimum == maximum:
            return _joined([_branches(body)] * minimum)
        case _:
            raise TooComplexError("a look-behind of varying length has no program")


def _joined(choices: Iterable[list[Node]]) -> list[Node]:
    sequences: list[Node] = [Sequence(())]
    for choice in choices:
        sequences = _at_most([Sequence((before, part)) for before in sequences for part in choice])
    return sequences


def _at_most(branches: list[Node]) -> list[Node]:
    if len(branches) > _MAX_BRANCHES:
        raise TooComplexError(f"a look-behind has over {_MAX_BRANCHES} alternatives; expected fewer")
    return branches


def _length(node: Node) -> int | None:
    """Return the number of characters that a node passes, None if it varies."""
    match node:
        case OneOf():
            return 1
        case Sequence(parts):
            lengths = [*map(_length, parts)]
            return None if None in lengths else sum(length for length in lengths if length is not None)
        case Repeat(body, minimum, maximum, _) if minimum == maximum and (length := _length(body)) is not None:
            return minimum * length
        case Atomic(body):
            return _length(body)
        case Alternation(branches) if len(sizes := {_length(branch) for branch in branches}) == 1:
            return sizes.pop()
        case Anchor() | LookAround():
            return 0
        case _:
            return None


def simplified(node: Node) -> Node:
    """Return a tree that matches alike, with characters as `Ranges`, and with fewer alternatives and atomic groups.

    A possessive repetition of one set needs no backtracking: it ends before a character that is not in the set.
    """
    match node:
        case OneOf(characters):
            return OneOf(without_properties(characters))
        case Sequence(parts):
            return Sequence(tuple(map(simplified, parts)))
        case Alternation(branches):
            joined: list[Node] = []
            for branch in map(simplified, branches):
                if joined and isinstance(branch, OneOf) and isinstance(previous := joined[-1], OneOf):
                    joined[-1] = OneOf(union_of(previous.characters, branch.characters))
                else:
                    joined.append(branch)
            return joined[0] if len(joined) == 1 else Alternation(tuple(joined))
        case Repeat(body, minimum, maximum, is_greedy):
            return Repeat(simplified(body), minimum, maximum, is_greedy)
        case LookAround(body, is_ahead, is_negated):
            return LookAround(simplified(body), is_ahead, is_negated)
        case Atomic(body):
            return _as_possessive(simplified(body))
        case Anchor():
            return node


def _as_possessive(body: Node) -> Node:
    """Return an atomic group, without the group if there is nothing to give up."""
    match body:
        case OneOf() | Atomic() | LookAround() | Anchor() | Sequence(()):
            return body
        case Sequence(parts) if all(isinstance(part, OneOf) for part in parts):
            return body
        case Repeat(OneOf() as one, minimum, maximum, is_greedy):
            if not is_greedy or maximum == minimum:
                return Repeat(one, minimum, minimum, True)
            is_over = LookAround(one, is_ahead=True, is_negated=True)
            optional: Node = Sequence((Repeat(one, 0, None, True), is_over)) if maximum is None else Sequence(())
            if maximum is not None:
                if maximum - minimum > _MAX_DEPTH:
                    return Atomic(body)
                for _ in range(maximum - minimum):
                    optional = Alternation((Sequence((one, optional)), is_over))
            return Sequence((Repeat(one, minimum, minimum, True), optional))
        case _:
            return Atomic(body)
