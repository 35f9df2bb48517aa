"""The command line: `python -m benchmarks training|splitting FILE…` and `python -m benchmarks chart RESULTS`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import measure, report
from benchmarks.agreement import Disagreement
from benchmarks.job import GPT2, Job
from benchmarks.runner import RunError, benchmark

TRAINING = ["hf_bpe:huggingface", "hf_bpe:lexicographic", "gigatoken:huggingface"]
TRAINING += ["ffbpe:huggingface", "rustbpe:raw_ids", "tokenizers:huggingface"]
# With these every way of breaking ties has two independent peers that must give the same merges.
TRAINING_WITNESSES = ["gigatoken:raw_ids", "ffbpe:lexicographic"]
SPLITTING = ["hf_bpe", "gigatoken", "regex", "tokenizers"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 1 if results differ that must not, or a run failed."""
    options = _parser().parse_args(arguments)
    if options.task == "chart":
        from benchmarks.chart import draw

        draw(
            json.loads(options.results.read_text(encoding="utf-8")),
            options.output or options.results.with_suffix(".svg"),
        )
        return 0

    jobs, witnesses = (
        [_job(name, options) for name in names] for names in (options.peers, getattr(options, "witnesses", []))
    )
    where = report.machine()
    files = report.describe_files(options.files)
    try:
        measured = benchmark(jobs, witnesses, options.threads, options.repeats, _say)
    except (Disagreement, RunError) as error:
        _say(f"error: {error}")
        return 1
    settings = {"threads": options.threads, "repeats": options.repeats, "pattern": GPT2}
    if options.task == "training":
        settings["vocab_size"] = options.vocab_size
    result = report.assemble(options.task, settings, files, where, measured)
    if options.output is not None:
        options.output.parent.mkdir(parents=True, exist_ok=True)
        options.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(report.table(result))
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _job(name: str, options: argparse.Namespace) -> Job:
    peer, _, ties = name.partition(":")
    files = tuple(str(file) for file in options.files)
    return Job(options.task, peer, files, ties=ties or None, vocab_size=getattr(options, "vocab_size", 0))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="hf_bpe beside its peers; see README.md.")
    tasks = parser.add_subparsers(dest="task", required=True)

    training = tasks.add_parser("training", help="from files to merges")
    _add_common(training, TRAINING)
    training.add_argument("--vocab-size", type=int, default=32000, help="bytes, one special token and merges")
    training.add_argument("--threads", type=_threads, nargs="+", default=[1], help="numbers of threads to run with")
    training.add_argument(
        "--witnesses", nargs="*", default=TRAINING_WITNESSES, metavar="PEER:TIES", help="compared only, not timed"
    )

    splitting = tasks.add_parser("splitting", help="from bytes to the number of pre-tokens, on one thread")
    _add_common(splitting, SPLITTING)
    splitting.set_defaults(threads=[1])

    chart = tasks.add_parser("chart", help="draw results as an SVG (needs matplotlib)")
    chart.add_argument("results", type=Path)
    chart.add_argument("--output", type=Path, help="default: beside the results")
    return parser


def _add_common(parser: argparse.ArgumentParser, peers: list[str]) -> None:
    parser.add_argument("files", type=_file, nargs="+", metavar="FILE", help="UTF-8, documents between <|endoftext|>")
    parser.add_argument(
        "--peers", nargs="+", default=peers, metavar="PEER[:TIES]", help="the first is what ratios are to"
    )
    parser.add_argument("--repeats", type=_positive, default=5, help="timed runs of each (default 5)")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")


def _file(name: str) -> Path:
    path = Path(name).resolve()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"no file {name!r}")
    return path


def _positive(number: str) -> int:
    if int(number) < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {number}")
    return int(number)


def _threads(number: str) -> int:
    if not 1 <= int(number) <= measure.cores():
        raise argparse.ArgumentTypeError(f"expected 1 to {measure.cores()}, as many as there are cores, got {number}")
    return int(number)


if __name__ == "__main__":
    sys.exit(main())
