"""Work in several processes is done once each, and ends with whoever wants it."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from hf_bpe._utils.processes import map_in_processes
from support.processes import PATIENCE

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere functions here are not found")


@pytest.fixture(autouse=True)
def no_process_is_left():
    yield
    assert not multiprocessing.active_children()


def results_of(function, pieces, workers):
    with contextlib.closing(map_in_processes(function, pieces, workers)) as results:
        return sorted(results)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_pieces_are_done_once_each(workers):
    for number in (0, 1, 40):
        assert results_of(lambda x: x * x, range(number), workers) == [x * x for x in range(number)]


def test_large_pieces_and_results_do_not_block_each_other():
    assert results_of(lambda x: x + x, [b"x" * 2_000_000] * 8, 2) == [b"x" * 4_000_000] * 8


def test_pieces_are_read_as_they_are_needed():
    read = []

    def pieces():
        for number in range(100):
            read.append(number)
            yield number

    with contextlib.closing(map_in_processes(abs, pieces(), 2)) as results:
        for done, _ in enumerate(results, start=1):
            assert len(read) <= done + 3


def test_exceptions_of_the_function_propagate():
    with pytest.raises(ZeroDivisionError):
        results_of(lambda x: 1 // x, [1, 1, 0, 1, 1], 2)


def test_exceptions_of_the_source_propagate():
    def pieces():
        yield 1
        yield 2
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        results_of(abs, pieces(), 2)


@pytest.mark.parametrize("last", [0, 1, 7])  # of which the first two go to one process each
def test_a_process_that_is_killed_is_an_error(last):
    with pytest.raises(ChildProcessError, match="a process was killed"):
        results_of(lambda x: os.kill(os.getpid(), signal.SIGKILL) if x == last else x, range(last + 1), 2)


def test_results_that_nobody_wants_any_more_end_the_processes(tmp_path):
    def work(piece):
        if piece != "short":
            time.sleep(PATIENCE)
            (tmp_path / "done").touch()
        return piece

    with contextlib.closing(map_in_processes(work, ["short", "long", "long"], 2)) as results:
        assert next(results) == "short"
    assert not (tmp_path / "done").exists()


def test_processes_end_with_their_parent():
    code = (
        "import os, sys, time; from hf_bpe._utils.processes import map_in_processes\n"
        "for pid in map_in_processes(lambda x: os.getpid(), iter(int, 1), 2):\n"
        "    print(pid, flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as parent:
        children = set()
        while len(children) < 2:  # each gets one of the first two pieces, and may do more before the other answers
            children.add(int(parent.stdout.readline()))
        parent.kill()
        parent.communicate(timeout=PATIENCE)  # the children hold its standard output, too: it ends with the last one


def test_sigterm_to_all_processes_is_for_the_parent_alone():
    code = (
        "import signal, sys\n"
        "from hf_bpe._utils.processes import map_in_processes\n"
        "def stop(number, frame):\n"
        "    raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        "try:\n"
        "    for _ in map_in_processes(abs, iter(int, 1), 2):\n"
        "        print(flush=True)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(7)"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        parent.stdout.readline()
        os.killpg(parent.pid, signal.SIGTERM)
        assert parent.communicate(timeout=PATIENCE)[1] == ""
    assert parent.returncode == 7
