"""What an expression matches, by definition: backtracking over its syntax tree, slowly and on short texts."""

from hf_bpe.pretokenizers._regex.properties import LONE_WORD, without_properties
from hf_bpe.pretokenizers._regex.tree import Alternation, Anchor, Atomic, LookAround, OneOf, Repeat, Sequence

_WORD = without_properties(LONE_WORD)


def split_by_definition(text, node):
    """Return the matches in a text and what is between them."""
    pieces, done, at, last = [], 0, 0, None
    while at <= len(text):
        end = next(ends(node, text, at), None)
        if end is None or end == at == last:  # no empty match where one has ended
            at += 1
            continue
        pieces += [text[done:at], text[at:end]]
        done = at = last = end
    return [piece for piece in [*pieces, text[done:]] if piece]


def ends(node, text, at):
    """Yield where a node that begins to match at a position may end, in the order in which backtracking tries them."""
    match node:
        case OneOf(characters):
            if at < len(text) and _has(without_properties(characters), text[at]):
                yield at + 1
        case Sequence(()):
            yield at
        case Sequence((first, *others)):
            for end in ends(first, text, at):
                yield from ends(Sequence(tuple(others)), text, end)
        case Alternation(branches):
            for branch in branches:
                yield from ends(branch, text, at)
        case Repeat():
            yield from _repeated(node, text, at)
        case Atomic(body):
            for end in ends(body, text, at):
                yield end
                return
        case LookAround(body, is_ahead, is_negated):
            starts = [at] if is_ahead else range(at, -1, -1)
            found = any(is_ahead or end == at for start in starts for end in ends(body, text, start))
            if found != is_negated:
                yield at
        case Anchor(place):
            if _is_at(place, text, at):
                yield at


def _repeated(node, text, at):
    if node.maximum == 0:
        yield at
        return
    fewer = None if node.maximum is None else node.maximum - 1
    rest = Repeat(node.body, max(node.minimum - 1, 0), fewer, node.is_greedy)
    if node.minimum == 0 and not node.is_greedy:
        yield at
    for end in ends(node.body, text, at):
        # A turn that matches nothing ends the loop.
        yield from [end] if end == at and node.minimum == 0 else ends(rest, text, end)
    if node.minimum == 0 and node.is_greedy:
        yield at


def _is_at(place, text, at):
    before = at > 0 and _has(_WORD, text[at - 1])
    after = at < len(text) and _has(_WORD, text[at])
    match place:
        case "text start":
            return at == 0
        case "text end":
            return at == len(text)
        case "text end or final newline":
            return text[at:] in ("", "\n")
        case "line start":
            return at == 0 or (text[at - 1] == "\n" and at < len(text))
        case "line end":
            return at == len(text) or text[at] == "\n"
        case "word boundary":
            return before != after
        case "inside or outside a word":
            return before == after
    raise NotImplementedError(place)


def _has(members, char):
    return any(first <= ord(char) <= last for first, last in members.ranges)
