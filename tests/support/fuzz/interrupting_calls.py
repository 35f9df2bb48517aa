"""Code that runs in the middle of a call of the native core, which releases the GIL: a signal handler or a thread."""

import os
import signal
import sys
import threading
import time

import pytest

from support.profiles import by_profile

ROUNDS = int(os.environ.get("HF_BPE_RACE_ROUNDS", by_profile(quick=2, thorough=4)))
"""The rounds of each race; 200 takes some minutes."""

WAYS = [
    pytest.param("signal", marks=pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="sets a timer")),
    "thread",
]
_MAX_TRIES = 12


def call_during(way, call, change):
    """Return what `call` returns while `change` runs once elsewhere, and at which part of the call's time it began."""
    begun = []

    def run(*_):
        begun.append(time.perf_counter())
        change()

    if way == "signal":
        previous = signal.signal(signal.SIGALRM, run)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            start = time.perf_counter()
            result = call()
            end = time.perf_counter()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, previous)
    else:
        go, interval = threading.Event(), sys.getswitchinterval()
        thread = threading.Thread(target=lambda: (go.wait(), run()))
        thread.start()
        try:
            sys.setswitchinterval(10)  # so that the other thread runs where the call releases the GIL, and not before
            start = time.perf_counter()
            go.set()
            result = call()
            end = time.perf_counter()
        finally:
            sys.setswitchinterval(interval)
            go.set()
            thread.join()
    return result, (begun[0] - start) / (end - start) if begun else 1


def race(way, make, nothing):
    """Return what a call returned while what it was given changed; the call is made longer until that has happened.

    Args:
        way: "signal" or "thread".
        make: size → (call, change).
        nothing: what `call` returns where `change` ran before it, as it can.

    Returns:
        What the call returned, and for which size.
    """
    test = os.environ["PYTEST_CURRENT_TEST"]  # one operation on one engine
    size = race.sizes.get((way, test), 1)
    for _ in range(_MAX_TRIES):
        result, part = call_during(way, *make(size))
        if result == nothing:
            continue
        if part < 0.7:
            race.sizes[way, test] = size
            return result, size
        size *= 2
    return pytest.fail(f"no call of {_MAX_TRIES} was long enough for the {way} to run during it")


race.sizes = {}
