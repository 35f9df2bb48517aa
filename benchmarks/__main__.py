"""The command line: `python -m benchmarks TASK …` and `python -m benchmarks chart RESULTS`."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks import measure, report
from benchmarks.agreement import Disagreement
from benchmarks.job import GPT2, Job
from benchmarks.options import parse
from benchmarks.runner import RunError, benchmark
from benchmarks.table import table
from benchmarks.tasks import FIRST
from benchmarks.vocabulary import prepare

OWN_COMMANDS = ("calls", "cold", "corpora", "faster_peers", "kinds", "masks", "servers", "threads")
"""Tasks that compare and time in a way of their own, each a module with a `main` that takes the arguments."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 1 if results differ that must not, or a run failed."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] in OWN_COMMANDS:
        measure.prefer_installed()
        importlib.import_module(f"benchmarks.{arguments[0]}").main(arguments[1:])
        return 0
    options = parse(arguments)
    if options.task == "chart":
        from benchmarks.chart import draw

        draw(
            json.loads(options.results.read_text(encoding="utf-8")),
            options.output or options.results.with_suffix(".svg"),
        )
        return 0

    where = report.machine()
    files = report.describe_files(options.files)
    try:
        with _vocabulary(options) as (folder, vocabulary):
            jobs = [job for name in options.peers for job in _jobs(name, options, folder, vocabulary)]
            witnesses = [job for name in options.witnesses for job in _jobs(name, options, folder, vocabulary)]
            measured = benchmark(
                jobs, witnesses, options.threads, options.repeats, _say, getattr(options, "leave_out", False)
            )
    except (Disagreement, RunError, ValueError) as error:
        _say(f"error: {error}")
        return 1
    settings = _settings(options) | ({"vocabulary": vocabulary} if vocabulary else {"pattern": GPT2})
    result = report.assemble(options.task, settings, files, where, measured)
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(report.to_json(report.medians(result)), encoding="utf-8")
    print(table(result))
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextlib.contextmanager
def _vocabulary(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Prepare the vocabulary of the tasks that take one, for as long as they run: its folder and what to say of it."""
    if options.task == "training":
        yield "", {}
        return
    with tempfile.TemporaryDirectory() as folder:
        sources = {name: getattr(options, name) for name in ("gpt2", "ranks", "tokenizer_json")}
        yield folder, prepare(Path(folder), options.vocabulary, **sources)


def _jobs(name: str, options: argparse.Namespace, folder: str, vocabulary: dict[str, Any]) -> Iterator[Job]:
    """Yield what a contender, PEER or PEER:WAY, has to do: a job for each subject."""
    peer, _, way = name.partition(":")
    files = tuple(str(file) for file in options.files)
    job = Job(options.task, peer, files, vocabulary=folder)
    if vocabulary:
        job = dataclasses.replace(job, pattern=vocabulary["pattern"], separator_id=vocabulary["separator_id"])
    if options.task == "training":
        yield dataclasses.replace(job, ties=way or None, vocab_size=options.vocab_size)
    elif options.task == "encoding":
        job = dataclasses.replace(job, into=way or options.into, warm=options.warm, size=options.size)
        for file in files:
            for case in FIRST if options.first else ("",):
                yield dataclasses.replace(job, files=(file,), case=case)
    elif options.task == "decoding":
        for file in files:
            yield dataclasses.replace(job, files=(file,))
    else:
        yield dataclasses.replace(job, calls=getattr(options, "calls", 1))


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """Return the options that a result has to be read with."""
    names = ("threads", "repeats", "vocab_size", "into", "first", "warm", "calls", "size")
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


if __name__ == "__main__":
    sys.exit(main())
