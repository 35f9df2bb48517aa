"""Chats as text: rendered by a tokenizer's template, and divided into what each turn adds."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar, runtime_checkable

from hf_bpe.playground._views import Turn

Messages = Sequence[Mapping[str, str]]
_Result = TypeVar("_Result")

_MAX_RENDERED = 20_000_000  # characters of all beginnings of a chat; a longer chat is not divided
_MAX_SECONDS = 10  # of rendering a chat and its beginnings, because a template is a program and may never end
_PAUSE = 1  # in seconds, between attempts to end it


@runtime_checkable
class ChatTokenizer(Protocol):
    """A tokenizer with a template that makes text of chats, as those of transformers have."""

    chat_template: object

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: bool) -> object: ...


def render_turns(tokenizer: object, messages: Messages, add_generation_prompt: bool) -> tuple[str, list[Turn]]:
    """Return the text that a tokenizer's template makes of messages, and its division into turns.

    A turn ends where the text of the messages up to it ends. Templates may begin the last turn in another way than
    those before it (Qwen 3 adds an empty thought); then its end is found by its content and what follows. A turn whose
    end is not found, or which the template refuses to end with, is joined with the next one. A ValueError says why a
    template cannot be used.
    """
    if not (isinstance(tokenizer, ChatTokenizer) and tokenizer.chat_template):
        raise ValueError("this tokenizer has no chat template")
    try:
        return call_limited(_MAX_SECONDS, lambda: _divide(tokenizer, messages, add_generation_prompt))
    except TimeoutError as error:
        raise ValueError(f"the chat template does not end with these messages: {error}") from error


def _divide(tokenizer: ChatTokenizer, messages: Messages, add_generation_prompt: bool) -> tuple[str, list[Turn]]:
    """Return what `render_turns` does, in whatever time it takes."""
    text = _render(tokenizer, messages, add_generation_prompt)
    if len(text) * len(messages) > _MAX_RENDERED:
        return text, [Turn(f"all {len(messages)} turns", 0)]
    parts: list[Turn] = []
    start, waiting = 0, []
    for number, message in enumerate(messages, 1):
        waiting.append(f"{number} · {message['role']}")
        is_whole = number == len(messages) and not add_generation_prompt
        end = len(text) if is_whole else _find_end(tokenizer, messages[:number], text, start)
        if end >= start:
            parts.append(Turn(", ".join(waiting), start))
            start, waiting = end, []
    if waiting or start < len(text):
        parts.append(Turn(", ".join([*waiting, "generation prompt"] if add_generation_prompt else waiting), start))
    return text, parts


def _find_end(tokenizer: ChatTokenizer, messages: Messages, text: str, start: int) -> int:
    """Return where the last of some messages, which begins at `start`, ends in the text of a chat; -1 if unknown."""
    try:
        beginning = _render(tokenizer, messages, False)
    except ValueError:
        return -1
    if text.startswith(beginning):
        return len(beginning)
    content = messages[-1]["content"].strip()
    at = beginning.rfind(content) if content else -1
    if at < 0:
        return -1
    ending = beginning[at:]
    place = text.find(ending, start)
    return -1 if place < 0 else place + len(ending)


def _render(tokenizer: ChatTokenizer, messages: Messages, add_generation_prompt: bool) -> str:
    try:
        flags = {"tokenize": False, "add_generation_prompt": add_generation_prompt}
        return str(tokenizer.apply_chat_template([*map(dict, messages)], **flags))
    except Exception as error:  # a template is a program and may raise anything
        raise ValueError(f"the chat template refuses these messages: {error or type(error).__name__}") from error


class _TimeIsOver(BaseException):
    """The exception that ends the code, past its handlers of `Exception`."""


def call_limited(seconds: float, function: Callable[[], _Result]) -> _Result:
    """Call a function; end it by a TimeoutError after some seconds, between two steps of Python."""
    thread = threading.get_ident()
    lock = threading.Lock()
    is_done = False

    def end() -> None:
        while True:
            with lock:
                if is_done:
                    return
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_TimeIsOver))
            time.sleep(_PAUSE)  # Python drops what is raised in a finalizer, such as that of a generator

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    try:  # _TimeIsOver may be raised at any place in here
        try:
            timer.start()
            return function()
        finally:
            with lock:
                is_done = True
            timer.cancel()
    except _TimeIsOver:
        is_done = True
        raise TimeoutError(f"it takes more than {seconds} seconds") from None
