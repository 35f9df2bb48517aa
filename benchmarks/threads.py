"""Two threads next to one: `python -m benchmarks threads FILE --gpt2 FOLDER`.

Calls from two threads of Python, which share the tokenizer and the texts, next to the same calls from one, if both give
the same ids; with a GIL, short calls take turns. What Python itself gives two threads is shown by calls that do not
need hf_bpe: of a method of an object that they share, or that each has to itself, of one that makes ints, and of one
that makes strings. Hashing, which shares nothing and hardly uses memory, says what the machine gives. Processes with
one thread and two alternate; medians.
"""

from __future__ import annotations

import argparse
import copy
import functools
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.job import SEPARATOR
from benchmarks.slices import read_slices
from benchmarks.vocabulary import MERGES, VOCAB

CALL_BYTES = 2_000  # of each text of a call
WORDS = 20  # of the text of a short call
SHORT_CALLS = 50_000
LIST_TEXTS, LIST_LENGTH = 4_000, 250  # in all, and of each list
CHATS, APPENDED = 8, 200  # conversations, and characters that are appended at a time


def _calls(options: dict[str, Any], threads: int) -> dict[str, float]:
    """Return the seconds of calls that `threads` threads of Python share, after an untimed round on other texts."""
    before, texts = _texts(options)
    seconds = {}
    for name, (make, arguments) in _cases(_load(options["gpt2"]), texts).items():
        calls = [make() for _ in range(threads)]
        warm_up = [before[: len(before) // 2]] if isinstance(arguments[0], list) else arguments[:100]
        warm_up = before if arguments is texts else warm_up
        _run_all(calls, [warm_up] * threads)
        seconds[name], _ = _timed(functools.partial(_run_all, calls, _dealt_out(arguments, threads)), options)
    return seconds


def _ids_of_calls(options: dict[str, Any], threads: int) -> str:
    """Return a digest of what the calls return alone, after comparing it with what they return in each thread."""
    outcome = hashlib.blake2b()
    for name, (make, arguments) in _cases(_load(options["gpt2"]), _texts(options)[1]).items():
        calls = [make() for _ in range(threads)]
        alone = [_plain(calls[0](argument)) for argument in arguments]
        if _results(calls, arguments) != alone:
            raise SystemExit(f"{name}: {threads} threads give other ids than one")
        outcome.update(repr(alone).encode())
    return outcome.hexdigest()


def _load(folder: str) -> Any:
    from hf_bpe import BPETokenizer

    return BPETokenizer(Path(folder, VOCAB), Path(folder, MERGES))


def _texts(options: dict[str, Any]) -> list[list[str]]:
    return [[*one.values()] for one in read_slices((options["file"],), 2, CALL_BYTES)]


Call = Callable[[Any], Any]
Cases = dict[str, tuple[Callable[[], Call], list[Any]]]


def _cases(tokenizer: Any, texts: list[str]) -> Cases:
    """Return, for each name, what makes the call of a thread, and the arguments that it is called with one by one."""
    short = " ".join(texts[0].split()[:WORDS])
    lists = [texts[at : at + LIST_LENGTH] for at in range(0, LIST_TEXTS, LIST_LENGTH)]
    bulk = [texts[at::8] for at in range(8)]
    chats = ["\n\n".join(texts[at::CHATS]) for at in range(CHATS)]
    tokenizer.pad_token = SEPARATOR

    def append_all(chat: str) -> Any:
        session = tokenizer.session()
        for at in range(0, len(chat), APPENDED):
            session.append(chat[at : at + APPENDED])
        return session.to_numpy()

    return {
        "tok(20 words)": (_shared(tokenizer), _copies(short, SHORT_CALLS)),
        "tok(20 words), a copy each": (lambda: copy.copy(tokenizer), _copies(short, SHORT_CALLS)),
        "tok.encode(20 words)": (_shared(tokenizer.encode), _copies(short, SHORT_CALLS)),
        "tok.encode(20 words), a copy each": (lambda: copy.copy(tokenizer).encode, _copies(short, SHORT_CALLS)),
        "tok(texts)": (_shared(functools.partial(tokenizer, verbose=False)), lists),
        "tok(texts, padding, numpy)": (_shared(functools.partial(tokenizer, padding=True, return_tensors="np")), lists),
        "encode_to_numpy(texts)": (_shared(functools.partial(tokenizer.encode_to_numpy, num_workers=1)), bulk),
        "tok.encode(text of 2 kB)": (_shared(tokenizer.encode), texts),
        "session.append": (_shared(append_all), chats),
    }


def _shared(call: Call) -> Callable[[], Call]:
    """Return what gives each thread the same call."""
    return lambda: call


def _plain(result: Any) -> Any:
    """Return the ids of a result of any kind, and the masks, in lists."""
    if hasattr(result, "keys"):
        return {name: _plain(result[name]) for name in result}
    if hasattr(result, "tolist"):
        return result.tolist()
    return [_plain(each) for each in result] if result and hasattr(result[0], "tolist") else result


def _copies(text: str, count: int) -> list[str]:
    """Return as many objects with a text: threads that count references to the same one wait for each other."""
    return [f"{text} "[:-1] for _ in range(count)]


def _dealt_out(arguments: list[Any], threads: int) -> list[list[Any]]:
    return [arguments[first::threads] for first in range(threads)]


def _results(calls: list[Call], arguments: list[Any]) -> list[Any]:
    """Return the plain results of each of the arguments, from one thread for each call."""
    count = len(calls)
    with ThreadPoolExecutor(count) as pool:
        parts = list(
            pool.map(lambda call, part: [_plain(call(each)) for each in part], calls, _dealt_out(arguments, count))
        )
    return [parts[at % count][at // count] for at in range(len(arguments))]


def _run_all(calls: list[Call], parts: list[list[Any]]) -> None:
    """Make each call with each argument of its part, in a thread that does nothing else."""
    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(lambda call, part: deque(map(call, part), maxlen=0), calls, parts))


class _Object:
    def method(self, argument: int) -> int:
        return argument


def _python(options: dict[str, Any], threads: int) -> dict[str, float]:
    """Return the seconds of calls that say what Python gives threads."""
    text = Path(options["file"]).read_bytes()[:CALL_BYTES].decode("utf-8", "replace")
    cases: Cases = {
        "Python: shared.method(1)": (_shared(_Object().method), [1] * 1_000_000),
        "Python: own.method(1)": (lambda: _Object().method, [1] * 1_000_000),
        "Python: list(range(1000, 1500))": (_shared(lambda _: list(range(1000, 1500))), [None] * 20_000),
        "Python: text of 2 kB.split()": (_shared(str.split), _copies(text, 10_000)),
    }
    seconds = {}
    for name, (make, arguments) in cases.items():
        calls, parts = [make() for _ in range(threads)], _dealt_out(arguments, threads)
        _run_all(calls, [part[:100] for part in parts])
        seconds[name], _ = _timed(functools.partial(_run_all, calls, parts), options)
    return seconds


def _machine(options: dict[str, Any], threads: int) -> dict[str, float]:
    parts = _dealt_out([bytes(1 << 16)] * 4096, threads)
    seconds, _ = _timed(functools.partial(_run_all, [hashlib.sha256] * threads, parts), options)
    return {"hashing": seconds}


PARTS = {"calls": _calls, "python": _python, "machine": _machine}
CHECKS = {"ids": _ids_of_calls}


def _timed(work: Callable[[], Any], options: dict[str, Any]) -> tuple[float, Any]:
    if options["realtime"]:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    start = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - start
    if options["realtime"]:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return seconds, result


def _run(part: str, options: dict[str, Any], threads: int) -> Any:
    """Do a run in a process of its own; only the installed package is measured."""
    job = json.dumps({"part": part, "options": options, "threads": threads})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "result.json")
        command = [sys.executable, "-m", "benchmarks.threads", "--worker", str(path)]
        root = Path(__file__).resolve().parent.parent
        subprocess.run(command, input=job, text=True, check=True, cwd=root, stdout=subprocess.DEVNULL)
        return json.loads(path.read_text("utf-8"))


def _work(path: str) -> None:
    measure.prefer_installed()
    job = json.load(sys.stdin)
    measure.pin(job["threads"])
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    Path(path).write_text(json.dumps((PARTS | CHECKS)[job["part"]](job["options"], job["threads"])), "utf-8")


def main(given: Sequence[str] | None = None) -> None:
    """Run the command line."""
    if sys.argv[1:2] == ["--worker"]:
        return _work(sys.argv[2])
    parser = argparse.ArgumentParser(prog="python -m benchmarks threads", description=__doc__)
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--gpt2", metavar="FOLDER", type=Path, required=True, help="with vocab.json and merges.txt")
    parser.add_argument("--repeats", type=int, default=7, help="processes of each kind (default 7)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS], help="which")
    parser.add_argument("--realtime", action="store_true", help="before all other processes, on Linux (needs root)")
    options = parser.parse_args(given)
    job = {name: str(getattr(options, name).resolve()) for name in ("file", "gpt2")} | {"realtime": options.realtime}
    for part in options.parts:
        if part == "calls":
            if _run("ids", job, 1) != _run("ids", job, 2):
                raise SystemExit("calls: one thread and two give different ids")
            print("calls: one thread and two give the same results")
        runs: dict[int, list[dict[str, float]]] = {1: [], 2: []}
        for number in range(options.repeats):
            for threads in (1, 2) if number % 2 == 0 else (2, 1):
                runs[threads].append(_run(part, job, threads))
        for name in runs[1][0]:
            one, two = ([run[name] for run in runs[threads]] for threads in (1, 2))
            medians = [statistics.median(one), statistics.median(two)]
            milliseconds = [f"{median * 1e3:9.1f} ms" for median in medians]
            spread = f"({min(two) * 1e3:.1f}-{max(two) * 1e3:.1f})"
            print(f"{name:34}{''.join(milliseconds)} {spread:16}{medians[0] / medians[1]:6.2f} ×", flush=True)


if __name__ == "__main__":
    main()
