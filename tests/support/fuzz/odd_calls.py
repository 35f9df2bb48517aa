"""Calls with odd values in the place of arguments, and what is wrong with how they end."""

from __future__ import annotations

import enum
import math
import re
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from tokenizers import AddedToken


class Kind(enum.Enum):
    """An enumeration that no argument knows."""

    LEFT = "left"


def generator() -> Iterator[object]:
    """Yield what no argument is a sequence of."""
    yield None


# Made for each call, for a call may use them up or change them.
ODD: dict[str, Callable[[], object]] = {
    "None": lambda: None,
    "True": lambda: True,
    "-1": lambda: -1,
    "0": lambda: 0,
    "1.5": lambda: 1.5,
    "-0.5": lambda: -0.5,
    "nan": lambda: math.nan,
    "inf": lambda: math.inf,
    "10**30": lambda: 10**30,
    "-(10**30)": lambda: -(10**30),
    "10**5000": lambda: 10**5000,
    "1j": lambda: 1j,
    "Fraction": lambda: Fraction(1, 3),
    "Decimal": lambda: Decimal("NaN"),
    "''": lambda: "",
    "'abc'": lambda: "abc",
    "NUL": lambda: "a\0b",
    "lone surrogate": lambda: "\ud800",
    "long str": lambda: "abc " * 50_000,
    "b''": lambda: b"",
    "b'ab'": lambda: b"ab",
    "bytearray": lambda: bytearray(b"ab"),
    "memoryview": lambda: memoryview(b"ab"),
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set()": set,
    "[None]": lambda: [None],
    "[1.5]": lambda: [1.5],
    "[-1]": lambda: [-1],
    "[10**30]": lambda: [10**30],
    "['a', 1]": lambda: ["a", 1],
    "[[]]": lambda: [[]],
    "[[1], ['a']]": lambda: [[1], ["a"]],
    "[[[['a']]]]": lambda: [[[["a"]]]],
    "['a'] * 3": lambda: ["a"] * 3,
    "lone surrogates": lambda: ["\ud800", "\udc80"],
    "{'a': None}": lambda: {"a": None},
    "{1: 'a'}": lambda: {1: "a"},
    "object()": object,
    "type": lambda: int,
    "function": lambda: len,
    "generator": generator,
    "enum": lambda: Kind.LEFT,
    "AddedToken": lambda: AddedToken("x", lstrip=True),
    "np.int64": lambda: np.int64(-2),
    "np.float32": lambda: np.float32(1.5),
    "np.bool_": lambda: np.bool_(True),
    "np.str_": lambda: np.str_("abc"),
    "np array of int": lambda: np.array([1, 2]),
    "np array of float": lambda: np.array([1.5]),
    "np array of bool": lambda: np.array([True, False]),
    "np array of object": lambda: np.array([None, "a"], dtype=object),
    "np array of str": lambda: np.array(["a", "b"]),
    "np array of 3 dimensions": lambda: np.zeros((1, 2, 2), np.int64),
    "np array without elements": lambda: np.empty((0, 3), np.uint8),
    "np array of no dimension": lambda: np.array(1),
    "np.datetime64": lambda: np.datetime64("2024-01-01"),
}


class Target(NamedTuple):
    """A function or method, and arguments with which it works.

    Attributes:
        name: what users call it.
        make: returns the function, a new one for each call.
        arguments: keyword arguments that work, as factories; each is replaced by each odd value in turn.
    """

    name: str
    make: Callable[[], Callable[..., object]]
    arguments: dict[str, Callable[[], object]]


class Outcome(NamedTuple):
    """The end of a call: with a result, or with an error."""

    call: str
    error: BaseException | None

    @property
    def problem(self) -> str | None:
        """The fault of the error, None if it is one that users can do something with."""
        if self.error is None:
            return None
        method, argument = self.call.partition("(")[0].rpartition(".")[2], re.search(r"\((\w*)=", self.call)[1]
        if argument in PASSED_ON.get(method, ()) and isinstance(self.error, Exception):
            return None
        message = str(self.error)
        if not argument or not isinstance(self.error, EXPECTED) or isinstance(self.error, LookupError):
            return f"{self.call}: {self.error!r:.300}"
        if isinstance(self.error, OSError) and message:  # which names what the system has refused
            return None
        if not message or not any(name in message for name in [argument, *NAMES.get(argument, ())]):
            return f"{self.call}: does not name the argument: {self.error!r:.300}"
        return None


EXPECTED = (TypeError, ValueError, OSError)
# What only transformers interprets is passed on as it is, and refused in its words.
_CHATS = {"conversation", "tools", "documents", "tokenizer_kwargs", "tokenize", "return_dict"}
_CHATS |= {"sanitize_control_tokens"}
PASSED_ON: dict[str, set[str]] = {
    "apply_chat_template": {*_CHATS, "return_assistant_tokens_mask", "continue_final_message"},
    "batch_decode": {"sequences"},
    "encode_message_with_chat_template": {"message", "conversation_history"},
    "get_response_parser": {"tools", "prefix"},
    "pad": {"encoded_inputs"},
    "parse_response": {"response", "tools", "prefix"},
    "save_chat_templates": {"tokenizer_config", "save_jinja_files"},
}
# What messages call an argument.
NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("input", "data", "text_iterator"), ("source",)),
    **dict.fromkeys(("special_tokens", "new_special_tokens", "unk_token"), ("special token",)),
    **{"merges": ("merge ",), "vocab": ("token ",), "edited": ("with_model",), "text_target": ("text",)},
    **{"num_tokens_to_remove": ("ids too many",), "sequences": ("token_ids",), "schema": ("response_template",)},
    **{"special_tokens_dict": ("Key ", "Token"), "already_has_special_tokens": ("already formatted",)},
    **{"token_ids": ("sequences",), "prefix": ("token_ids",), "encoded_inputs": ("input_ids",)},
    **dict.fromkeys(("pretrained_model_name_or_path", "subfolder"), ("a folder to load",)),
    "max_length": ("truncation length",),
    "tokenizer_kwargs": ("unknown option",),
    "callback": ("Event",),  # what a function that takes no event says
}


class TimeIsUp(BaseException):
    """A call that has not ended."""


def outcomes(target: Target) -> Iterator[Outcome]:
    """Call a target with its own arguments, then with each odd value in the place of each argument."""
    yield Outcome(f"{target.name}(=)", _error_of(target, {}))
    for argument in target.arguments:
        for name, odd in ODD.items():
            yield Outcome(f"{target.name}({argument}={name})", _error_of(target, {argument: odd}))


def _error_of(target: Target, odd: dict[str, Callable[[], object]]) -> BaseException | None:
    arguments = {name: make() for name, make in {**target.arguments, **odd}.items()}
    try:
        with warnings.catch_warnings(), time_limit():
            warnings.simplefilter("ignore")
            target.make()(**arguments)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # TimeIsUp, panics
        return error
    return None


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise `TimeIsUp` in what takes a minute; what hangs on Windows, hangs."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, _time_is_up)
    signal.alarm(60)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _time_is_up(number: int, frame: object) -> None:
    raise TimeIsUp
