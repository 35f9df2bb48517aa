"""Requests of the page: each is JSON, checked here, and answered with JSON or with JSON and ids."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from hf_bpe.playground._chats import render_turns
from hf_bpe.playground._views import TokenizedText, View

MAX_BODY = 4 << 20
"""The most bytes of a request."""

_MAX_IDS = 10_000  # in one request for tokens
_MAX_MESSAGES = 500
_JSON, _BINARY = "application/json", "application/octet-stream"


class Reply(NamedTuple):
    """The type and the content of an answer."""

    content_type: str
    content: bytes


class BadRequest(ValueError):
    """A request that no page of ours makes, as what is wrong with it."""


def json_reply(content: object) -> Reply:
    """Return an answer in JSON."""
    return Reply(_JSON, json.dumps(content, ensure_ascii=True).encode())


def answer(views: Sequence[View], name: str, body: bytes) -> Reply:
    """Answer a request, a key of `REQUESTS`, about tokenizers, which requests give by their index.

    Raises:
        BadRequest: the request is malformed.
        ValueError: there is no such token.
    """
    try:
        request = json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequest("expected JSON in UTF-8") from None
    if not isinstance(request, dict):
        raise BadRequest(f"expected a JSON object, got {type(request).__name__}")
    return REQUESTS[name](views, request)


def _describe(views: Sequence[View], request: Mapping[str, object]) -> Reply:
    return json_reply({"tokenizers": [view.describe() for view in views], "max_bytes": MAX_BODY})


def _encode(views: Sequence[View], request: Mapping[str, object]) -> Reply:
    text = _get(request, "text", str)
    recognizes = _get(request, "special_tokens", bool)
    adds = _get(request, "add_special_tokens", bool)
    caret = max(0, _get(request, "caret", int))

    def encode(view: View) -> TokenizedText:
        recognized = None if recognizes else True
        return view.encode(text, split_special_tokens=recognized, add_special_tokens=adds, caret=caret)

    return _reply(views, encode)


def _chat(views: Sequence[View], request: Mapping[str, object]) -> Reply:
    messages = _get(request, "messages", list)
    adds = _get(request, "add_generation_prompt", bool)
    if len(messages) > _MAX_MESSAGES:
        raise BadRequest(f"messages: expected at most {_MAX_MESSAGES}, got {len(messages)}")
    for message in messages:
        if not isinstance(message, dict):
            raise BadRequest("messages: expected objects with role and content")
        _get(message, "role", str)
        _get(message, "content", str)

    def encode(view: View) -> TokenizedText:
        text, parts = render_turns(view.tokenizer, messages, adds)
        return view.encode(text, parts)

    return _reply(views, encode)


def _tokens(views: Sequence[View], request: Mapping[str, object]) -> Reply:
    ids = _get(request, "ids", list)
    if len(ids) > _MAX_IDS or not all(type(token_id) is int for token_id in ids):
        raise BadRequest(f"ids: expected at most {_MAX_IDS:,} whole numbers")
    return json_reply(_view(views, request).tokens(ids))


def _tree(views: Sequence[View], request: Mapping[str, object]) -> Reply:
    return json_reply(_view(views, request).tree(_get(request, "id", int)))


REQUESTS: Mapping[str, Callable[[Sequence[View], Mapping[str, object]], Reply]] = {
    "describe": _describe,
    "encode": _encode,
    "chat": _chat,
    "tokens": _tokens,
    "tree": _tree,
}
"""Name → the function that answers."""


def _reply(views: Sequence[View], encode: Callable[[View], TokenizedText]) -> Reply:
    """Return the results of all tokenizers: the length of the JSON in four bytes, the JSON, and all ids as uint32.

    The JSON is filled up with spaces so that the ids begin at a multiple of four bytes.
    """
    results: list[dict[str, object]] = []
    ids: list[bytes] = []
    for view in views:
        try:
            encoded = encode(view)
        except ValueError as error:  # of this tokenizer, such as a byte without a token
            results.append({"error": str(error)})
        else:
            results.append(encoded.as_json())
            ids.append(encoded.ids.astype("<u4").tobytes())
    head = json.dumps(results).encode()
    head += b" " * (-len(head) % 4)
    return Reply(_BINARY, b"".join([struct.pack("<I", len(head)), head, *ids]))


def _view(views: Sequence[View], request: Mapping[str, object]) -> View:
    index: int = _get(request, "tokenizer", int)
    if not 0 <= index < len(views):
        raise BadRequest(f"tokenizer: expected an index below {len(views)}, got {index}")
    return views[index]


def _get(request: Mapping[str, object], name: str, expected: type) -> Any:
    value = request.get(name)
    if type(value) is not expected:  # a bool is no int
        raise BadRequest(f"{name}: expected {expected.__name__}, got {type(value).__name__}")
    return value
