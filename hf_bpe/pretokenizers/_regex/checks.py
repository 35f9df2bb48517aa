"""Properties of a tree that decide whether Oniguruma and `regex` match it alike."""

from __future__ import annotations

from enum import IntEnum

from hf_bpe.pretokenizers._regex.properties import without_properties
from hf_bpe.pretokenizers._regex.tree import (
    ANYTHING,
    NOTHING,
    Alternation,
    Anchor,
    Atomic,
    CharacterSet,
    LookAround,
    Node,
    OneOf,
    Repeat,
    Sequence,
    complement_of,
    intersection_of,
    ranges_of,
    union_of,
)

_DOTS = (OneOf(ANYTHING), OneOf(complement_of(ranges_of(0x0A))))


class _Matched(IntEnum):
    """The kind of text matched since the start of the expression; alternatives take the lowest."""

    LATE_DOT = -1  # a dot is repeated after a condition
    CONDITION = 0  # nothing, but there was an anchor or look-ahead
    NOTHING = 1
    CHARACTERS = 2


def has_implicit_line_anchor(node: Node) -> bool:
    r"""Does an expression start with a condition before a greedy repetition of a dot, as `\b.+` does?

    Oniguruma tries an expression that starts with `.*` at starts of lines only, because it would have matched there. It
    does so, too, if a word boundary or a look-ahead comes first, and misses matches.

    >>> from hf_bpe.pretokenizers._regex.parser import parse
    >>> has_implicit_line_anchor(parse("a.+")), has_implicit_line_anchor(parse("^.+"))
    (False, False)
    """
    return _walk(node, _Matched.NOTHING) is _Matched.LATE_DOT


def _walk(node: Node, state: _Matched) -> _Matched:
    """Return the state after a node."""
    if state in (_Matched.CHARACTERS, _Matched.LATE_DOT):
        return state
    match node:
        case OneOf():
            return _Matched.CHARACTERS
        case Anchor(place):
            return state if place in ("line start", "text start") else _Matched.CONDITION
        case LookAround(_, is_ahead, _):
            return _Matched.CONDITION if is_ahead else state
        case Atomic(body):
            return _walk(body, state)
        case Sequence(parts):
            for part in parts:
                state = _walk(part, state)
            return state
        case Alternation(branches):
            return min(_walk(branch, state) for branch in branches)
        case Repeat(body, _, maximum, is_greedy):
            if maximum is None and is_greedy and body in _DOTS and state is _Matched.CONDITION:
                return _Matched.LATE_DOT
            return _walk(body, state)


def is_no_target(node: Node) -> bool:
    """Is a node, or a branch of it, of such a kind that Oniguruma does not repeat it?"""
    match node:
        case Anchor() | LookAround():
            return True
        case Sequence(parts):
            return bool(parts) and all(map(is_no_target, parts))
        case Alternation(branches):
            return any(map(is_no_target, branches))
        case _:
            return False


def may_be_empty(node: Node) -> bool:
    """Can a node match the empty string?"""
    match node:
        case OneOf():
            return False
        case Sequence(parts):
            return all(map(may_be_empty, parts))
        case Alternation(branches):
            return any(map(may_be_empty, branches))
        case Repeat(body, minimum, _, _):
            return minimum == 0 or may_be_empty(body)
        case Atomic(body):
            return may_be_empty(body)
        case LookAround() | Anchor():
            return True


def first_uncertain_character(node: Node) -> str:
    r"""Return a character at which there may be no match; an empty string if there is a match at every character.

    Then no text stands between two matches.

    >>> from hf_bpe.pretokenizers._regex.parser import parse
    >>> first_uncertain_character(parse(r" ?[a-z]+|\s+(?!\S)|\s+")), first_uncertain_character(parse(r" ?\p{L}+|\P{L}"))
    ('!', '')
    """
    gaps = without_properties(complement_of(_certain(node))).ranges
    return next((chr(max(first, 0x20)) for first, last in gaps if last >= 0x20), chr(gaps[0][0]) if gaps else "")


def _certain(node: Node) -> CharacterSet:
    """Return characters at which a node matches, whatever comes before and after them."""
    match node:
        case OneOf(characters):
            return characters
        case Atomic(body):
            return _certain(body)
        case Alternation(branches):
            return union_of(*map(_certain, branches))
        case Repeat(body, 1, _, _):
            return _certain(body)
        case Sequence(parts):
            return _certain_of_sequence(parts)
        case _:
            return NOTHING


def _certain_of_sequence(parts: tuple[Node, ...]) -> CharacterSet:
    taken: CharacterSet = NOTHING  # what possessive parts before the required one take from it
    certain: CharacterSet | None = None
    for part in parts:
        body = part.body if isinstance(part, Atomic) else part
        if isinstance(body, Repeat) and not body.minimum:
            if isinstance(part, Atomic) and certain is None:
                taken = union_of(taken, body.body.characters if isinstance(body.body, OneOf) else ANYTHING)
        elif certain is None:
            certain = _certain(part)
        else:
            return NOTHING
    return NOTHING if certain is None else intersection_of(certain, complement_of(taken))
