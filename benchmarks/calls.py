"""Calls of users of transformers, in one process, in turns: `python -m benchmarks calls FILE... --gpt2 FOLDER`.

All libraries have encoded other documents before, as in a service that has run for a while, and take turns call by
call, so that a busy machine is as busy for each: what a call costs besides encoding shows best this way. Everything
runs on one core, with one thread.

A folder given with `--gpt2` is loaded by `BPETokenizer`; one given with `--fast` by `BPETokenizerFast`, and, as another
contender, by transformers and then `hf_bpe.accelerate`, after which other code may have parts of its backend, so that
these are compared before each call. The peers are transformers' fast class and gigatoken's class with its interface. A
case is refused unless all answer it alike.
"""

from __future__ import annotations

import argparse
import datetime
import gc
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice, repeat
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import measure, report
from benchmarks.job import SEPARATOR, read_documents
from benchmarks.slices import read_batches
from benchmarks.tasks import digest

OURS, ACCELERATED, TRANSFORMERS, GIGATOKEN = "hf_bpe", "hf_bpe.accelerate", "transformers", "gigatoken"
DOCUMENT_BYTES, CHAT_BYTES = 4000, 4000
WORDS = 20
PADDED = {"padding": True, "truncation": True, "max_length": 512}
SHORT_ROWS, SHORT_ROW = 256, 40  # of many short rows, as a server decodes them: their number, and ids of each

CHAT = {
    "user": "<|start_header_id|>user<|end_header_id|>\n\n{}<|eot_id|>",
    "assistant": "<|start_header_id|>assistant<|end_header_id|>\n\n{}<|eot_id|>",
}
"""Turns as the template of Llama 3 renders them; in other vocabularies the marks are ordinary text."""

ToIds = Callable[[list[str]], list[list[int]]]


@dataclass(frozen=True)
class Case:
    """One call.

    Attributes:
        bind: tokenizer → what is called.
        argument: a function from texts to their ids, and the texts of a round → what it is called with.
        calls: how often a run makes the call; more than once for calls that take microseconds.
    """

    bind: Callable[[Any], Callable[[Any], Any]]
    argument: Callable[[ToIds, list[str]], Any]
    calls: int = 1


def _words(to_ids: ToIds, texts: list[str]) -> str:
    return " ".join("".join(texts[:2]).split()[:WORDS])


def _ids_of_words(to_ids: ToIds, texts: list[str]) -> list[int]:
    return to_ids([_words(to_ids, texts)])[0]


def _chat(to_ids: ToIds, texts: list[str]) -> str:
    words = "".join(texts)[:CHAT_BYTES]
    parts = [words[start : start + 400] for start in range(0, len(words), 400)]
    return "".join(CHAT[("user", "assistant")[number % 2]].format(part) for number, part in enumerate(parts))


def _texts(to_ids: ToIds, texts: list[str]) -> list[str]:
    return texts


def _all_ids(to_ids: ToIds, texts: list[str]) -> list[list[int]]:
    return to_ids(texts)


def _short_rows(to_ids: ToIds, texts: list[str]) -> list[list[int]]:
    ids = [each for row in to_ids(texts[:100]) for each in row]
    starts = range(0, min(len(ids), SHORT_ROWS * SHORT_ROW), SHORT_ROW)
    return [ids[start : start + SHORT_ROW] for start in starts]


CASES = {
    "call, 20 words": Case(lambda tokenizer: tokenizer, _words, 200),
    "call, 20 words, numpy": Case(lambda tokenizer: partial(tokenizer, return_tensors="np"), _words, 100),
    "encode, 20 words": Case(lambda tokenizer: tokenizer.encode, _words, 200),
    "decode, 20 words": Case(lambda tokenizer: tokenizer.decode, _ids_of_words, 500),
    "rendered chat of 4 kB": Case(lambda tokenizer: partial(tokenizer, add_special_tokens=False), _chat, 20),
    "batch_decode": Case(lambda tokenizer: tokenizer.batch_decode, _all_ids),
    "batch_decode, short rows": Case(lambda tokenizer: tokenizer.batch_decode, _short_rows, 5),
    "lists": Case(lambda tokenizer: tokenizer, _texts),
    "padded, numpy": Case(lambda tokenizer: partial(tokenizer, return_tensors="np", **PADDED), _texts),
    "padded, torch": Case(lambda tokenizer: partial(tokenizer, return_tensors="pt", **PADDED), _texts),
}


def load(folder: Path, is_fast: bool) -> dict[str, Any]:
    """Return the tokenizers of a folder by contender, with a padding token."""
    import gigatoken
    from transformers import GPT2Tokenizer, PreTrainedTokenizerFast

    from hf_bpe import BPETokenizer, BPETokenizerFast, accelerate

    if is_fast:
        plain = PreTrainedTokenizerFast.from_pretrained(folder)
        ours = {
            OURS: BPETokenizerFast.from_pretrained(folder),
            ACCELERATED: accelerate(PreTrainedTokenizerFast.from_pretrained(folder)),
        }
        pad = next(token.content for token in plain.added_tokens_decoder.values() if token.special)
    else:
        plain, ours, pad = (
            GPT2Tokenizer.from_pretrained(folder),
            {OURS: BPETokenizer.from_pretrained(folder)},
            SEPARATOR,
        )
    with tempfile.TemporaryDirectory() as written:
        plain.save_pretrained(written)
        peer = gigatoken.Tokenizer(Path(written, "tokenizer.json")).as_hf()
    tokenizers = {**ours, TRANSFORMERS: plain, GIGATOKEN: peer}
    for tokenizer in tokenizers.values():
        tokenizer.pad_token, tokenizer.padding_side = pad, plain.padding_side
    return tokenizers


def finish(contender: str, result: Any) -> Any:
    """Return a result with ids in int64, as which gigatoken does not give them in arrays; timed."""
    if contender == GIGATOKEN and isinstance(result, dict) and hasattr(result["input_ids"], "dtype"):
        ids = result["input_ids"]  # uint32 of numpy, or int32 of torch
        result["input_ids"] = ids.long() if hasattr(ids, "long") else ids.astype("int64")
    return result


def describe(result: Any) -> list[str]:
    """Return a few characters for each row of a result, equal only where all that a user gets is equal."""
    if isinstance(result, Mapping):  # BatchEncoding
        columns = [[f"{name} {row}" for row in describe(result[name])] for name in sorted(result)]
        return [", ".join(row) for row in zip(*columns, strict=True)]
    kind = type(result).__name__
    if hasattr(result, "dtype"):
        return [f"{kind} {result.dtype} {tuple(result.shape)} {digest(row)}" for row in result]
    if isinstance(result[0], str):
        return [hashlib.blake2b(text.encode(), digest_size=8).hexdigest() for text in result]
    return [f"{kind} {digest(row)}" for row in ([result] if isinstance(result[0], int) else result)]


def compare(tokenizers: dict[str, Any], case: Case, argument: Any) -> None:
    """Raise a SystemExit if the contenders answer a call differently."""
    outcomes = {}
    for contender, tokenizer in tokenizers.items():
        result = finish(contender, case.bind(tokenizer)(argument))
        outcomes[contender] = [result] if isinstance(result, str) else describe(result)
    for contender, outcome in outcomes.items():
        if outcome != outcomes[OURS]:
            raise SystemExit(f"{contender} and {OURS} give different results for {str(argument)[:60]!r}")


def seconds_of(contender: str, tokenizer: Any, case: Case, argument: Any) -> float:
    """Return the seconds of one call, of as many as a run makes."""
    call = case.bind(tokenizer)
    gc.collect()
    start = time.perf_counter()
    for _ in repeat(None, case.calls):
        result = call(argument)
    finish(contender, result)
    return (time.perf_counter() - start) / case.calls


def measured(tokenizers: dict[str, Any], batches: list[list[str]], names: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row for each case with the median seconds of each contender.

    The first batch is only compared. Short calls are made with texts that were compared, long ones with fresh texts.
    """
    order = [*tokenizers]

    def to_ids(texts: list[str]) -> list[list[int]]:
        ids: list[list[int]] = tokenizers[TRANSFORMERS](texts, add_special_tokens=False)["input_ids"]
        return ids

    rows = []
    for name in names:
        case = CASES[name]
        first, *arguments = (case.argument(to_ids, texts) for texts in batches)
        for argument in (first, *arguments) if case.calls > 1 else (first,):
            compare(tokenizers, case, argument)
        seconds: dict[str, list[float]] = {contender: [] for contender in order}
        for number, argument in enumerate(arguments):
            turn = number % len(order)
            for contender in order[turn:] + order[:turn]:
                seconds[contender].append(seconds_of(contender, tokenizers[contender], case, argument))
        rows.append({"case": name, "medians": {each: median(seconds[each]) for each in order}})
    return rows


def table(vocabulary: str, rows: list[dict[str, Any]]) -> str:
    """Return the microseconds of each contender, and how many times as fast the first is."""
    order = [*rows[0]["medians"]]
    lines = [
        f"| {vocabulary}, µs (× as fast as {OURS}'s) | " + " | ".join(order) + " |",
        "|---" * (len(order) + 1) + "|",
    ]
    for row in rows:
        medians = row["medians"]
        shown = [f"{medians[each] * 1e6:.2f} ({medians[each] / medians[OURS]:.2f})" for each in order]
        lines.append(f"| {row['case']} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks calls", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path, help="UTF-8, documents between <|endoftext|>")
    parser.add_argument("--gpt2", metavar="FOLDER", type=Path, help="with vocab.json and merges.txt")
    parser.add_argument("--fast", metavar="FOLDER", type=Path, nargs="+", default=[], help="with tokenizer.json")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=[*CASES], metavar="CASE", help="which")
    parser.add_argument("--rounds", type=int, default=7, help="timed runs of each (default 7)")
    parser.add_argument("--documents", type=int, default=300, help="encoded by each before (default 300)")
    parser.add_argument("--texts", type=int, default=1000, help="in a list (default 1000)")
    parser.add_argument("--size", type=int, default=2000, help="bytes of each (default 2000)")
    parser.add_argument("--output", type=Path, help="where to write the results as JSON")
    options = parser.parse_args(arguments)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    where = report.machine()
    measure.pin(1)
    files = tuple(map(str, options.files))
    batches = read_batches(files, options.rounds + 1, options.texts, options.size)
    tables = {}
    for folder in ([] if options.gpt2 is None else [options.gpt2]) + options.fast:
        tokenizers = load(folder, is_fast=folder != options.gpt2)
        for document in islice(read_documents(files), options.documents):
            for tokenizer in tokenizers.values():
                tokenizer(document[:DOCUMENT_BYTES])
        tables[folder.name] = measured(tokenizers, batches, options.cases)
        print(table(folder.name, tables[folder.name]), flush=True)
    if options.output is not None:
        result = {
            "benchmark": "calls",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": where,
            "versions": {
                name: version(name) for name in (OURS, TRANSFORMERS, GIGATOKEN, "tokenizers", "numpy", "torch")
            },
            "options": {name: getattr(options, name) for name in ("rounds", "documents", "texts", "size")},
            "files": report.describe_files(options.files),
            "vocabularies": tables,
        }
        options.output.write_text(report.to_json(result), encoding="utf-8")
