"""The syntax tree of split expressions: what they match, independent of the dialect they are written in.

A parser has resolved everything that depends on notation: escapes are code points, `(?i)` is a larger set of
characters, groups are the shape of the tree. Every node matches at a position, left to right, with backtracking: the
branches of an `Alternation` in order, the repetitions of a `Repeat` by its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

LAST_CODE_POINT = 0x10FFFF


@dataclass(frozen=True, slots=True)
class Ranges:
    """The characters of inclusive ranges of code points, sorted and apart from each other."""

    ranges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Property:
    """The characters with a property of Unicode 16.0, by one of the names in `properties.PROPERTIES`."""

    name: str


@dataclass(frozen=True, slots=True)
class Union:
    """The characters of any member."""

    members: tuple[CharacterSet, ...]


@dataclass(frozen=True, slots=True)
class Intersection:
    """The characters that all members have."""

    members: tuple[CharacterSet, ...]


@dataclass(frozen=True, slots=True)
class Complement:
    """All other characters."""

    member: CharacterSet


CharacterSet: TypeAlias = Ranges | Property | Union | Intersection | Complement

NOTHING = Ranges(())
ANYTHING = Ranges(((0, LAST_CODE_POINT),))


@dataclass(frozen=True, slots=True)
class OneOf:
    """One character of a set."""

    characters: CharacterSet


@dataclass(frozen=True, slots=True)
class Sequence:
    """All parts, one after another; without parts, the empty string."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The first branch that lets the rest match."""

    branches: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """From `minimum` to `maximum` repetitions (None: no limit), first the most (greedy) or the fewest (lazy)."""

    body: Node
    minimum: int
    maximum: int | None
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class Atomic:
    """The first match of the body, which is not given up later: `(?>a)` and possessive repetition."""

    body: Node


@dataclass(frozen=True, slots=True)
class LookAround:
    """The empty string where the body matches after (or before) the position, or where it does not."""

    body: Node
    is_ahead: bool
    is_negated: bool


AnchorPlace: TypeAlias = Literal[
    "text start",
    "text end",
    "text end or final newline",
    "line start",  # the start of the text, or after a newline that does not end the text
    "line end",  # the end of the text, or before a newline
    "word boundary",
    "inside or outside a word",
    "search start",
]


@dataclass(frozen=True, slots=True)
class Anchor:
    """The empty string at a place."""

    place: AnchorPlace


Node: TypeAlias = OneOf | Sequence | Alternation | Repeat | Atomic | LookAround | Anchor


def ranges_of(*parts: int | tuple[int, int]) -> Ranges:
    """Return the set of code points and inclusive ranges.

    >>> ranges_of(0x61, (0x30, 0x39), 0x62)
    Ranges(ranges=((48, 57), (97, 98)))
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted((part, part) if isinstance(part, int) else part for part in parts):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return Ranges(tuple(merged))


def union_of(*members: CharacterSet) -> CharacterSet:
    """Return the union in a simple form: one `Ranges` where no member needs a property."""
    flat = [part for member in members for part in (member.members if isinstance(member, Union) else (member,))]
    ranges = ranges_of(*(pair for part in flat if isinstance(part, Ranges) for pair in part.ranges))
    sets = dict.fromkeys(part for part in flat if not isinstance(part, Ranges))
    if ranges == ANYTHING or any(complement_of(part) in sets for part in sets):
        return ANYTHING
    if not sets:
        return ranges
    parts = (ranges, *sets) if ranges.ranges else (*sets,)
    return parts[0] if len(parts) == 1 else Union(parts)


def complement_of(member: CharacterSet) -> CharacterSet:
    """Return the complement in a simple form.

    >>> complement_of(ranges_of((0, 9)))
    Ranges(ranges=((10, 1114111),))
    """
    if isinstance(member, Complement):
        return member.member
    if not isinstance(member, Ranges):
        return Complement(member)
    starts = [0, *(last + 1 for _, last in member.ranges)]
    ends = [*(first - 1 for first, _ in member.ranges), LAST_CODE_POINT]
    return Ranges(tuple((first, last) for first, last in zip(starts, ends, strict=True) if first <= last))


def intersection_of(*members: CharacterSet) -> CharacterSet:
    """Return the intersection in a simple form."""
    ranges = [member for member in members if isinstance(member, Ranges)]
    sets = dict.fromkeys(member for member in members if not isinstance(member, Ranges))
    common = complement_of(union_of(*map(complement_of, ranges)))
    if common == NOTHING or any(complement_of(member) in sets for member in sets):
        return NOTHING
    if not sets:
        return common
    parts = (common, *sets) if common != ANYTHING else (*sets,)
    return parts[0] if len(parts) == 1 else Intersection(parts)
