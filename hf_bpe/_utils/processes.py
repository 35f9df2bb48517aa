"""Map a function over worker processes, so that Ctrl-C, a killed process or an error ends all processes cleanly.

concurrent.futures does not fit: its pool starts processes while others run, hangs on Python 3.10 when one is killed,
and reads ahead without bound. Here each process has its own pipe and at most one piece of work.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

Work = TypeVar("Work")
Result = TypeVar("Result")

_INTERRUPTS = (signal.SIGINT, signal.SIGTERM)
_MAX_THREADS = 1 << 16


def usable_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform.startswith("linux") else os.cpu_count() or 1


def threads_of(num_workers: int | None) -> int:
    """Return the number of encoding threads for `num_workers`."""
    return default_threads() if num_workers is None else min(num_workers, _MAX_THREADS)


def default_threads() -> int:
    """Return the default number of encoding threads: one per core, unless variables of `tokenizers` say otherwise."""
    if os.environ.get("TOKENIZERS_PARALLELISM", "").lower() in ("false", "off", "no", "n", "f", "0"):
        return 1
    wished = os.environ.get("RAYON_NUM_THREADS", "")
    return min(int(wished), _MAX_THREADS) if wished.isdecimal() and int(wished) > 0 else usable_cores()


def map_in_processes(
    function: Callable[[Work], Result], pieces: Iterable[Work], workers: int
) -> Generator[Result, None, None]:
    """Yield the function's results as they arrive, in any order; closing the iterator ends all processes.

    Arguments are read one ahead as processes become free. The function must be picklable where processes are not forked
    (other than Linux). Its errors propagate; a process that is killed is a ChildProcessError.
    """
    import multiprocessing  # here and below, because most programs start no process

    # Forking is cheap and needs nothing from the calling script; the children run no code that holds locks.
    context: Any = multiprocessing.get_context("fork" if sys.platform.startswith("linux") else "spawn")
    idle: list[Connection] = []
    processes = []
    with _interrupts_deferred():
        for _ in range(workers):
            ours, theirs = context.Pipe()
            idle.append(ours)
            process = context.Process(target=_work, args=(function, theirs, list(idle)), daemon=True)
            process.start()
            processes.append(process)
            theirs.close()  # now only the child holds it, so the pipe closes when the child ends
    connections = list(idle)
    busy: list[Connection] = []
    try:
        for piece in pieces:
            while not idle:
                yield from _receive(busy, idle)
            connection = idle.pop()
            connection.send(piece)
            busy.append(connection)
        while busy:
            yield from _receive(busy, idle)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise ChildProcessError("a process was killed") from None
    except BaseException:
        for process in processes:
            process.kill()  # the workers ignore gentler signals
        raise
    finally:
        for connection in connections:
            connection.close()  # ends a process that waits for work
        for process in processes:
            process.join()


def _receive(busy: list[Connection], idle: list[Connection]) -> Iterator[Result]:
    """Wait until at least one process has finished its work, and yield the finished results."""
    from multiprocessing.connection import wait

    for connection in cast("list[Connection]", wait(busy)):
        is_done, result = connection.recv()
        if not is_done:
            raise result
        busy.remove(connection)
        idle.append(connection)
        yield result


def _work(function: Callable[[Work], Result], connection: Connection, inherited: list[Connection]) -> None:
    # These signals may be sent to all processes and are meant for the parent; a worker that died of one would look
    # killed.
    for number in _INTERRUPTS:
        signal.signal(number, signal.SIG_IGN)
    for other in inherited:  # the parent's ends: open here, they would outlive the parent
        other.close()
    while True:
        try:
            piece = connection.recv()
        except EOFError:
            return
        try:
            message: tuple[bool, Result | Exception] = (True, function(piece))
        except Exception as error:
            message = (False, error)
        connection.send(message)


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C until afterwards: Python only logs an exception that is raised while a process forks."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.signal(number, lambda number, _: received.append(number)) for number in _INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        if received:
            signal.raise_signal(received[0])
