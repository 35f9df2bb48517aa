"""Arguments of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks import measure
from benchmarks.vocabulary import PATTERNS

TRAINING = ["hf_bpe:huggingface", "hf_bpe:lexicographic", "gigatoken:huggingface"]
TRAINING += ["ffbpe:huggingface", "rustbpe:raw_ids", "tokenizers:huggingface"]
# With these every way of breaking ties has two independent peers that must give the same merges.
TRAINING_WITNESSES = ["gigatoken:raw_ids", "ffbpe:lexicographic"]
# The last two have no API for arrays, so their lists are compared with the arrays of the others.
ENCODING = {
    "lists": ["hf_bpe", "tiktoken", "gigatoken", "snaptokens", "fastokens", "tokenizers", "transformers"],
    "numpy": ["hf_bpe", "tiktoken", "gigatoken", "snaptokens", "fastokens", "tokenizers:lists", "transformers:lists"],
}
CHARACTERS = ["hf_bpe", "gigatoken", "fastokens", "tokenizers:lists"]
# These have no vocabulary of GPT-2's.
ENCODING_OTHERS = ["quicktok"]
DECODING = ["hf_bpe", "tiktoken", "gigatoken", "tokenizers", "transformers"]
LATENCY = ["hf_bpe", "tiktoken", "gigatoken", "snaptokens", "fastokens", "tokenizers", "transformers"]


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options. Every task has `files`, `peers`, `witnesses`, `threads` and `repeats`; `chart` has none."""
    options = _parser().parse_args(arguments)
    if options.task == "encoding" and options.peers is None:
        peers = CHARACTERS if options.vocabulary == "characters" else ENCODING[options.into]
        options.peers = peers + (ENCODING_OTHERS if options.vocabulary in ("cl100k", "o200k") else [])
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Benchmarks of hf_bpe and its peers; README.md also lists tasks with a command line of their own.",
    )
    tasks = parser.add_subparsers(dest="task", required=True)

    training = tasks.add_parser("training", help="from files to merges")
    _add_files(training)
    _add_common(training, TRAINING, "PEER[:TIES]")
    training.add_argument("--vocab-size", type=int, default=32000, help="bytes, one special token and merges")
    _add_threads(training)
    training.add_argument(
        "--witnesses", nargs="*", default=TRAINING_WITNESSES, metavar="PEER:TIES", help="compared only, not timed"
    )

    encoding = tasks.add_parser("encoding", help="from short texts to ids, each FILE for itself")
    _add_files(encoding)
    _add_common(encoding, None, "PEER[:INTO]")
    _add_vocabulary(encoding)
    _add_threads(encoding)
    encoding.add_argument("--into", choices=list(ENCODING), default="lists", help="what the ids come in")
    encoding.add_argument("--first", action="store_true", help="the first texts of a process, of 4 kB, and the next")
    encoding.add_argument("--warm", action="store_true", help="encode each text once before, not fresh text")

    encoding.add_argument("--size", type=int, default=0, help="bytes of each text (default: 1 to 9 kB, cut at lines)")

    encoding.add_argument("--leave-out", action="store_true", help="peers with other ids, and those that fail")

    decoding = tasks.add_parser("decoding", help="from lists of ids to text, each FILE for itself")
    _add_files(decoding)
    _add_common(decoding, DECODING)
    _add_vocabulary(decoding)
    _add_threads(decoding)

    latency = tasks.add_parser("latency", help="from 11 characters to ids, again and again, on one thread")
    _add_common(latency, LATENCY)
    _add_vocabulary(latency)
    latency.add_argument("--calls", type=_positive, default=100_000, help="of each run (default 100,000)")

    chart = tasks.add_parser("chart", help="draw results as an SVG (needs matplotlib)")
    chart.add_argument("results", type=Path)
    chart.add_argument("--output", type=Path, help="default: next to the results")
    return parser


def _add_files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", type=_file, nargs="+", metavar="FILE", help="UTF-8, documents between <|endoftext|>")


def _add_common(
    parser: argparse.ArgumentParser, peers: list[str] | None, metavar: str = "PEER", repeats: int = 5
) -> None:
    parser.add_argument("--peers", nargs="+", default=peers, metavar=metavar, help="the first is what ratios are to")
    parser.add_argument("--repeats", type=_positive, default=repeats, help=f"timed runs of each (default {repeats})")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")
    parser.set_defaults(files=[], witnesses=[], threads=[1])


def _add_threads(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=_threads, nargs="+", default=[1], help="numbers of threads to run with")


def _add_vocabulary(parser: argparse.ArgumentParser) -> None:
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--gpt2", type=Path, metavar="FOLDER", help="with vocab.json and merges.txt")
    source.add_argument("--ranks", type=_file, metavar="FILE", help="tiktoken's ranks, instead")
    source.add_argument("--tokenizer-json", type=_file, metavar="FILE", help="another, instead")
    parser.add_argument("--vocabulary", choices=list(PATTERNS), default="gpt2", help="its kind (default gpt2)")


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
