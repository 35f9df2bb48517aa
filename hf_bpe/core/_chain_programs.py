"""Programs of whole pre-tokenizers: what the native core needs to split by any chain, and where texts may be cut."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from hf_bpe.core._byte_level import to_printable
from hf_bpe.core._chains import PreTokenizer
from hf_bpe.core._expression_program import (
    CharacterTest,
    Instruction,
    Opcode,
    Program,
    TooComplexError,
    compile_expression,
    compile_literal,
)
from hf_bpe.core._named_patterns import PATTERNS
from hf_bpe.core._stages import ByteLevel

__all__ = ["ChainProgram", "StageProgram", "compile_chain"]

_MAX_STAGES = 64
_MAX_FOR_CUTS = 1000  # instructions, beyond which the search takes seconds; patterns in use have up to 200
_ASCII = 128
_WHITE_SPACE = "\t\n\v\f\r "


class StageProgram(NamedTuple):
    """A compiled stage.

    Attributes:
        program: the program of its expression.
        behavior: what becomes of matches, a name of `hf_bpe.core._stages.BEHAVIORS`.
        invert: take the text between matches for the matches.
        is_mapped: the expression sees the printable characters that ByteLevel writes for bytes.
    """

    program: Program
    behavior: str
    invert: bool
    is_mapped: bool


class ChainProgram(NamedTuple):
    """A compiled chain.

    Attributes:
        stages: its stages in their order.
        cuts: the pairs of ASCII characters between which any text may be cut without changing its pre-tokens: by the
            first of a pair, the second ones.
    """

    stages: tuple[StageProgram, ...]
    cuts: dict[str, str]


@lru_cache(maxsize=64)
def compile_chain(chain: PreTokenizer) -> ChainProgram:
    r"""Return the programs of a chain.

    Raises:
        ValueError: an expression is invalid.
        TooComplexError: the chain has no program: an expression has none, a ByteLevel puts spaces before pieces, or
            there are too many stages.

    >>> from hf_bpe.core.pretokenizers import ByteLevel, PreTokenizer, Split
    >>> compile_chain(PreTokenizer((Split("[a-z]+|[ \n]"), ByteLevel()))).cuts["b"]
    '\n '
    """
    stages = tuple(_stages_of(chain))
    if len(stages) > _MAX_STAGES:
        raise TooComplexError(f"{len(stages)} stages; expected at most {_MAX_STAGES}")
    return ChainProgram(stages, _find_cuts(stages))


def _stages_of(chain: PreTokenizer) -> Iterator[StageProgram]:
    is_mapped = False
    for stage in chain.stages:
        if isinstance(stage, ByteLevel):
            if stage.add_prefix_space:
                raise TooComplexError("a ByteLevel with a prefix space has no program")
            if stage.use_regex:
                yield StageProgram(compile_expression(PATTERNS["gpt2"]), "Isolated", False, is_mapped)
            is_mapped = True
            continue
        split = stage.as_split()
        program = (compile_literal if split.is_literal else compile_expression)(split.expression)
        yield StageProgram(program, split.behavior, split.invert, is_mapped)


def _find_cuts(stages: tuple[StageProgram, ...]) -> dict[str, str]:
    """Return the pairs of ASCII characters between which no stage makes a difference, and one stage always cuts.

    A character before a cut is not white space, which added tokens may strip.
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
        pair = [to_printable(char.encode()) if stage.is_mapped else char for char in (left, right)]
        pairs = _Pair(stage.program, *pair)
        if not pairs.is_neutral():
            return False
        certain = certain or pairs.is_start()
    return certain


class _Pair:
    """Two neighbouring characters, and a program that passes them.

    A text may be cut between them if no match holds both, if nothing that looks at one of them sees a difference, and
    if a match certainly begins at the second. All places in a program where a match may stand are considered, whether
    it can get there or not.
    """

    def __init__(self, program: Program, left: str, right: str) -> None:
        self.program, self.left, self.right = program, left, right

    def is_neutral(self) -> bool:
        """Say whether no match holds both characters, and no condition between them depends on the other one."""
        code = self.program.instructions
        after_left = [step.b for step in code if step.opcode is Opcode.CHARACTER and self._is_in(step.a, self.left)]
        ends = self._reach(after_left, self.left, None)
        starts = self._reach([self.program.start], None, self.right)
        if ends is None or starts is None or any(step.opcode is Opcode.ACCEPT for step in starts):
            return False
        return not any(step.opcode is Opcode.CHARACTER and self._is_in(step.a, self.right) for step in ends)

    def is_start(self) -> bool:
        """Say whether a match begins at the second character, whatever follows."""
        starts = self._reach([self.program.start], None, self.right) or ()
        after = [step.b for step in starts if step.opcode is Opcode.CHARACTER and self._is_in(step.a, self.right)]
        return any(step.opcode is Opcode.ACCEPT for step in self._reach_always(after))

    def _reach(self, numbers: Iterable[int], before: str | None, after: str | None) -> list[Instruction] | None:
        """Return what can be reached between the characters; None if that depends on what is None here.

        `before` or `after` is None for a side of which a part of a cut text has no character.
        """
        reached, open_, seen = [], [*numbers], set[int]()
        while open_:
            number = open_.pop()
            if number in seen:
                continue
            seen.add(number)
            step = self.program.instructions[number]
            reached.append(step)
            if step.opcode is Opcode.SPLIT:
                open_ += [step.a, step.b]
            elif step.opcode is Opcode.CHECK:
                whole = self._is_in(step.a, self.left) and self._is_in(step.b, self.right)
                part = self._is_in(step.a, before) and self._is_in(step.b, after)
                if whole != part:
                    return None
                if whole:
                    open_.append(step.c)
        return reached

    def _reach_always(self, numbers: Iterable[int]) -> Iterator[Instruction]:
        """Yield what can be reached after the second character without a condition on what follows."""
        open_, seen = [*numbers], set[int]()
        while open_:
            number = open_.pop()
            if number in seen:
                continue
            seen.add(number)
            step = self.program.instructions[number]
            yield step
            if step.opcode is Opcode.SPLIT:
                open_ += [step.a, step.b]

    def _is_in(self, test: int, char: str | None) -> bool:
        return _is_in(self.program.tests[test], char)


def _is_in(test: CharacterTest, char: str | None) -> bool:
    if char is None:
        return test.has_edge
    ranges = test.characters.ranges
    place = bisect_left(ranges, (ord(char) + 1,)) - 1  # of the last range that begins at the character or before
    return place >= 0 and ord(char) <= ranges[place][1]
