"""Programs of whole pre-tokenizers: what the native core needs to split by any chain, and where texts may be cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from hf_bpe.pretokenizers._byte_level import to_printable
from hf_bpe.pretokenizers._named_patterns import PATTERNS
from hf_bpe.pretokenizers._regex.program import (
    MATCHES_NOTHING,
    CharacterTest,
    Instruction,
    Opcode,
    Program,
    compile_expression,
    compile_literal,
)
from hf_bpe.pretokenizers._stages import ByteLevel, Metaspace, PreTokenizer

_MAX_FOR_CUTS = 1000  # instructions, beyond which the search takes seconds; patterns in use have up to 200
_ASCII = 128
_WHITE_SPACE = "\t\n\v\f\r "


class StageProgram(NamedTuple):
    """A compiled stage."""

    program: Program  # the program of its expression
    behavior: str  # what becomes of matches, a name of `hf_bpe.pretokenizers._stages.BEHAVIORS`
    invert: bool  # take the text between matches for the matches
    is_mapped: bool  # the expression sees the printable characters that ByteLevel writes for bytes
    adds_space: bool = False  # before all that, a space is put before each piece that does not begin with one
    only_first: bool = False  # only before a piece at the beginning of a text, not before what follows a special token
    space: str = ""  # what spaces are written as, also that one, before all that; empty to leave them


class ChainProgram(NamedTuple):
    """A compiled chain."""

    stages: tuple[StageProgram, ...]  # its stages in their order
    # The pairs of ASCII characters between which any text may be cut without changing its pre-tokens: by the first of a
    # pair, the second ones
    cuts: dict[str, str]


@lru_cache(maxsize=64)
def compile_chain(chain: PreTokenizer) -> ChainProgram:
    r"""Return the programs of a chain; a TooComplexError if an expression has none.

    >>> from hf_bpe.pretokenizers import ByteLevel, PreTokenizer, Split
    >>> compile_chain(PreTokenizer((Split("[a-z]+|[ \n]"), ByteLevel()))).cuts["b"]
    '\n '
    """
    if isinstance(metaspace := chain.stages[0], Metaspace):
        return _compile_metaspace(metaspace)
    stages = tuple(_compile_stages(chain))
    return ChainProgram(stages, _find_cuts(stages))


def _compile_metaspace(stage: Metaspace) -> ChainProgram:
    space = stage.replacement
    program = compile_literal(space) if stage.split else MATCHES_NOTHING
    puts, only_first = stage.prepend_scheme != "never", stage.prepend_scheme == "first"
    # What follows a cut before a space begins with one, so none is put before it.
    cuts = {char: " " for char in map(chr, range(_ASCII)) if char not in _WHITE_SPACE} if stage.split else {}
    return ChainProgram((StageProgram(program, "MergedWithNext", False, False, puts, only_first, space),), cuts)


def _compile_stages(chain: PreTokenizer) -> Iterator[StageProgram]:
    is_mapped = False
    for stage in chain.stages:
        if isinstance(stage, ByteLevel):
            if stage.use_regex or stage.add_prefix_space:
                program = compile_expression(PATTERNS["gpt2"]) if stage.use_regex else MATCHES_NOTHING
                yield StageProgram(program, "Isolated", False, is_mapped, stage.add_prefix_space)
            is_mapped = True
            continue
        split = stage.as_split()
        program = (compile_literal if split.is_literal else compile_expression)(split.expression)
        yield StageProgram(program, split.behavior, split.invert, is_mapped)


def _find_cuts(stages: tuple[StageProgram, ...]) -> dict[str, str]:
    """Return the pairs of ASCII characters between which no stage makes a difference, and one stage always cuts.

    If spaces are put before pieces, it is a stage before that. A character before a cut is not white space, which added
    tokens may strip.
    """
    if sum(len(stage.program.instructions) for stage in stages) > _MAX_FOR_CUTS:
        return {}
    if not all(stage.behavior in ("Isolated", "Removed") for stage in stages):
        return {}
    if any(step.opcode in (Opcode.LOOK, Opcode.ATOMIC) for stage in stages for step in stage.program.instructions):
        return {}
    groups: dict[tuple[bool, ...], str] = {}  # the characters that no stage tells apart
    for char in map(chr, range(_ASCII)):
        seen = [(stage, to_printable(char.encode()) if stage.is_mapped else char) for stage in stages]
        key = tuple(_is_in(test, each) for stage, each in seen for test in stage.program.tests)
        groups[key] = groups.get(key, "") + char
    cuts: dict[str, str] = {}
    for left in groups.values():
        right = "".join(members for members in groups.values() if _is_cut(stages, left[0], members[0]))
        cuts.update((char, "".join(sorted(right))) for char in left if right and char not in _WHITE_SPACE)
    return cuts


def _is_cut(stages: tuple[StageProgram, ...], left: str, right: str) -> bool:
    certain = False
    for stage in stages:
        if stage.adds_space and not certain:
            return False
        pair = [to_printable(char.encode()) if stage.is_mapped else char for char in (left, right)]
        between = _Between(stage.program, *pair)
        if not between.is_neutral():
            return False
        certain = certain or between.is_start()
    return certain


class _Between:
    """The place between two characters, and a program that passes it.

    A text may be cut there if no match holds both characters, if nothing that looks at one of them sees a difference,
    and if a match certainly begins at the second. All places in a program where a match may stand are considered,
    whether it can get there or not.
    """

    def __init__(self, program: Program, left: str, right: str) -> None:
        self.program, self.left, self.right = program, left, right

    def is_neutral(self) -> bool:
        """Say whether no match holds both characters, and no condition between them depends on the other one."""
        after_left = self._after(range(len(self.program.instructions)), self.left)
        ends = self._reach(after_left)
        starts = self._reach([self.program.start])
        if not all(self._passes_alike(step, self.left, None) for step in map(self._step, ends)):
            return False
        if not all(self._passes_alike(step, None, self.right) for step in map(self._step, starts)):
            return False
        return not self._accepts(starts) and not self._after(ends, self.right)

    def is_start(self) -> bool:
        """Say whether a match begins at the second character, whatever follows."""
        after_right = self._after(self._reach([self.program.start]), self.right)
        return self._accepts(self._reach(after_right, unconditionally=True))

    def _step(self, number: int) -> Instruction:
        return self.program.instructions[number]

    def _reach(self, numbers: Iterable[int], *, unconditionally: bool = False) -> set[int]:
        """Return the instructions that are reached between the characters, or wherever no condition is passed."""
        open_, reached = [*numbers], set[int]()
        while open_:
            number = open_.pop()
            if number in reached:
                continue
            reached.add(number)
            step = self._step(number)
            if step.opcode is Opcode.SPLIT:
                open_ += [step.a, step.b]
            elif step.opcode is Opcode.CHECK and not unconditionally and self._passes(step, self.left, self.right):
                open_.append(step.c)
        return reached

    def _after(self, numbers: Iterable[int], char: str) -> list[int]:
        """Return the instructions after the instructions that match the character."""
        steps = map(self._step, numbers)
        return [step.b for step in steps if step.opcode is Opcode.CHARACTER and self._is_in(step.a, char)]

    def _accepts(self, numbers: Iterable[int]) -> bool:
        return any(self._step(number).opcode is Opcode.ACCEPT for number in numbers)

    def _passes(self, step: Instruction, before: str | None, after: str | None) -> bool:
        return self._is_in(step.a, before) and self._is_in(step.b, after)

    def _passes_alike(self, step: Instruction, before: str | None, after: str | None) -> bool:
        """Say whether a condition is the same between other neighbors; None is the edge of a text."""
        if step.opcode is not Opcode.CHECK:
            return True
        return self._passes(step, before, after) == self._passes(step, self.left, self.right)

    def _is_in(self, test: int, char: str | None) -> bool:
        return _is_in(self.program.tests[test], char)


def _is_in(test: CharacterTest, char: str | None) -> bool:
    if char is None:
        return test.has_edge
    ranges = test.characters.ranges
    place = bisect_left(ranges, (ord(char) + 1,)) - 1  # of the last range that begins at the character or before
    return place >= 0 and ord(char) <= ranges[place][1]
