"""A rendered chat in segments: what the template wrote, which is trusted, and what messages hold, which is not.

The chat is rendered twice: as it is, and with a random word in place of each text of the messages. The second
rendering cannot depend on what the texts say, so what surrounds the words is the template's. Putting the texts in their
places has to give the first rendering, character by character; a template that does more with a text is refused.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping

from hf_bpe._utils.arguments import check_sequence, check_str, short_repr
from hf_bpe.formats._segments import Segment

_TRUSTED_KEYS = ("role", "type")
_ROLE = re.compile(r"[A-Za-z0-9_. -]+")
# White space around a word, which shows whether the template stripped it, or its line breaks alone. There are more line
# breaks than a template writes next to a text, and a space that none writes.
_LEFT_EDGE, _RIGHT_EDGE = "\n" * 7 + "\u2003", "\u2003" + "\n" * 7

# What is left of an edge → what the template did there.
_LEFT: dict[str, Callable[[str], str]] = {_LEFT_EDGE: str, "\u2003": lambda text: text.lstrip("\n"), "": str.lstrip}
_RIGHT: dict[str, Callable[[str], str]] = {_RIGHT_EDGE: str, "\u2003": lambda text: text.rstrip("\n"), "": str.rstrip}


def chat_segments(
    conversation: object, render: Callable[[list[object]], str], trusted_roles: Iterable[str] = ()
) -> list[Segment]:
    """Return the segments of a rendered chat; see `BPETokenizer.chat_segments`."""
    messages = [*check_sequence("conversation", conversation, "a list of messages")]
    roles = [check_str("trusted_roles", role) for role in check_sequence("trusted_roles", trusted_roles, "roles")]
    texts: dict[str, str] = {}
    marked = [_with_words(number, message, roles, texts) for number, message in enumerate(messages)]
    whole, written = render(messages), render(marked)
    pieces = re.split("(" + "|".join(map(re.escape, texts)) + ")", written) if texts else [written]
    segments: list[Segment] = []
    before = pieces[0]
    for word, after in zip(pieces[1::2], pieces[2::2], strict=True):
        before, left, is_left_escaped = _without_edge(before, _LEFT, str.endswith, str.removesuffix)
        after, right, is_right_escaped = _without_edge(after, _RIGHT, str.startswith, str.removeprefix)
        text = right(left(texts[word]))
        if is_left_escaped or is_right_escaped:
            text = json.dumps(texts[word], ensure_ascii=False)[1:-1]
        segments += [Segment(before, True), Segment(text, False)]
        before = after
    segments = [segment for segment in [*segments, Segment(before, True)] if segment.text]
    if "".join(segment.text for segment in segments) != whole:
        raise ValueError(
            "chat_segments: the template does more with the texts of these messages than to write them, so that it is "
            f"not known which part of the chat is theirs: {_difference(segments, whole)}"
        )
    return segments


def _with_words(number: int, message: object, trusted_roles: list[str], texts: dict[str, str]) -> object:
    """Return a message with a random word for each of its texts; fill word → text."""
    if not isinstance(message, Mapping):
        raise TypeError(f"conversation[{number}]: expected a message, got {type(message).__name__}")
    role = message.get("role")
    if not isinstance(role, str) or not _ROLE.fullmatch(role):
        raise ValueError(f"conversation[{number}]: expected a role of letters, digits and _, got {short_repr(role)}")
    if role in trusted_roles:
        return message

    def word_for(text: str) -> str:
        word = f"hf{secrets.token_hex(16)}bpe"
        texts[word] = text
        return f"{_LEFT_EDGE}{word}{_RIGHT_EDGE}"

    def replaced(value: object, is_argument: bool) -> object:
        if isinstance(value, str):
            return word_for(value) if value else value
        if isinstance(value, Mapping):
            return {
                (word_for(key) if is_argument and isinstance(key, str) and key else key): (
                    each
                    if key in _TRUSTED_KEYS and not is_argument and isinstance(each, str) and _ROLE.fullmatch(each)
                    else replaced(each, is_argument or key == "arguments")
                )
                for key, each in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [replaced(each, is_argument) for each in value]
        if value is None or isinstance(value, (bool, int, float)):
            return value
        raise TypeError(f"conversation[{number}]: expected text, numbers, lists and dicts, got {short_repr(value)}")

    return replaced(message, False)


def _without_edge(
    text: str,
    edges: dict[str, Callable[[str], str]],
    ends: Callable[[str, str], bool],
    remove: Callable[[str, str], str],
) -> tuple[str, Callable[[str], str], bool]:
    """Return a text without what is left of a word's edge, what the template did there, and whether as JSON."""
    escaped = json.dumps(next(iter(edges)), ensure_ascii=False)[1:-1]
    if ends(text, escaped):
        return remove(text, escaped), str, True
    edge = next(edge for edge in edges if ends(text, edge))
    return remove(text, edge), edges[edge], False


def _difference(segments: list[Segment], whole: str) -> str:
    at = 0
    for segment in segments:
        if not whole.startswith(segment.text, at):
            kind = "the template's" if segment.trusted else "the message's"
            return f"expected {kind} {segment.text[:60]!r} at character {at}, got {whole[at : at + 60]!r}"
        at += len(segment.text)
    return f"expected the end at character {at}, got {whole[at : at + 60]!r}"
