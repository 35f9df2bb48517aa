"""A limit on the time of code that may never end, such as a template."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import TypeVar

_Result = TypeVar("_Result")
_PAUSE = 1  # in seconds


class _TimeIsOver(BaseException):
    """The exception that ends the code, past its handlers of `Exception`."""


def call_limited(seconds: float, function: Callable[[], _Result]) -> _Result:
    """Call a function, and end it after some seconds, between two steps of Python.

    Raises:
        TimeoutError: the function took longer.
    """
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
