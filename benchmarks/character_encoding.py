"""Alphabets of characters, next to peers: `python -m benchmarks character_encoding FOLDER... --files FILE...`.

Give folders with the `tokenizer.json` of BPE in the manner of SentencePiece, and files with `<|endoftext|>` between
documents. Whole documents are dealt out to one slice more than there are rounds, and cut into texts of 1 to 4 kB. Each
library encodes the first slice untimed, and then, in turns with the others, the slice of each round, which it has not
seen. Nothing is timed unless all ids are equal. Then prompts of 28,000 tokens, each of them new, in calls of a fast
tokenizer of transformers and of what `accelerate` makes of it. Then texts of 1 to 8 MB that are one word, of which the
time a megabyte should stay the same.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

HOSTILE = {
    "one letter": "a",
    "no space": "abcdefgh",
    "spaces": " ",
    "▁": "▁",
    "newlines": "\n",
    "CJK": "日本",
    "emoji": "🎉",
}
HOSTILE |= {"an unknown character": "\U00012345", "unknown, two": "\U00012345\U00012346"}
ROUNDS = 5
TEXT = 4000  # characters
PROMPT = 28_000  # tokens

Encode = Callable[[list[str]], Any]


def encoders(folder: Path) -> dict[str, tuple[Encode, Callable[[Any], list[list[int]]]]]:
    """Return name → a function that encodes texts on one thread, and one that makes lists of that."""
    import gigatoken
    from tokenizers import Tokenizer

    from hf_bpe import BPETokenizer

    path = folder / "tokenizer.json"
    ours, backend = BPETokenizer.convert_from(path), Tokenizer.from_file(str(path))

    def split(encoded: Any) -> list[list[int]]:
        ids, offsets = encoded
        return [row.tolist() for row in np.split(ids, offsets[1:-1])]

    found: dict[str, tuple[Encode, Callable[[Any], list[list[int]]]]] = {
        "hf_bpe": (lambda texts: ours.encode_to_numpy(texts, num_workers=1), split),
        "tokenizers": (
            lambda texts: backend.encode_batch_fast(texts, add_special_tokens=False),
            lambda encoded: [each.ids for each in encoded],
        ),
    }
    try:
        giga = gigatoken.Tokenizer.from_json(path.read_bytes())
        found["gigatoken"] = (lambda texts: giga.encode_batch(texts, parallel=False), lambda encoded: encoded.to_list())
    except Exception as error:  # it raises no narrower class
        print(f"gigatoken does not load {folder.name}: {error}")
    try:
        import fastokens

        fast = fastokens.Tokenizer.from_file(str(path))
        found["fastokens"] = (
            lambda texts: fast.encode_batch(texts, add_special_tokens=False),
            lambda encoded: [each if isinstance(each, list) else each.ids for each in encoded],
        )
    except Exception as error:
        print(f"fastokens does not load {folder.name}: {error!r:.100}")
    return found


def slices(file: Path) -> list[list[str]]:
    """Return the texts of each slice."""
    found: list[list[str]] = [[] for _ in range(ROUNDS + 1)]
    for number, document in enumerate(file.read_text("utf-8").split("<|endoftext|>")):
        found[number % len(found)] += [document[start : start + TEXT] for start in range(0, len(document), TEXT)]
    return found


def measure(folder: Path, file: Path) -> None:
    """Print the speed of each library for a file."""
    first, *others = slices(file)
    libraries = encoders(folder)
    some = first[:200]
    rows = {name: as_lists(encode(some)) for name, (encode, as_lists) in libraries.items()}
    for name in [name for name, ids in rows.items() if ids != rows["tokenizers"]]:
        if name == "hf_bpe":
            raise SystemExit(f"{folder.name}, {file.name}: hf_bpe and tokenizers give different ids")
        print(f"{name} gives other ids, and is left out")
        del libraries[name]
    speeds: dict[str, list[float]] = {name: [] for name in libraries}
    for name, (encode, _) in libraries.items():
        encode(some if name == "tokenizers" else first)
    for number, texts in enumerate(others):
        order = [*libraries][number % len(libraries) :] + [*libraries][: number % len(libraries)]
        for name in order:
            given = texts[: len(texts) // 10] if name == "tokenizers" else texts
            speeds[name].append(sum(len(text.encode()) for text in given) / seconds(libraries[name][0], given) / 1e6)
    ours = statistics.median(speeds["hf_bpe"])
    for name, each in speeds.items():
        speed = statistics.median(each)
        print(f"{folder.name:14}{file.name:20}{name:22}{speed:8.1f} MB/s   hf_bpe is {ours / speed:6.2f} ×", flush=True)


def prompts(folder: Path, file: Path) -> None:
    """Print the time of calls with long prompts."""
    from transformers import PreTrainedTokenizerFast

    from hf_bpe import accelerate

    plain = PreTrainedTokenizerFast.from_pretrained(folder)
    fast = accelerate(PreTrainedTokenizerFast.from_pretrained(folder))
    text = file.read_text("utf-8")[: 8 * PROMPT * (ROUNDS + 1)].replace("<|endoftext|>", "")
    offsets = plain(text, return_offsets_mapping=True, add_special_tokens=False)["offset_mapping"]
    ends = [end for _, end in offsets[PROMPT - 1 :: PROMPT]][: ROUNDS + 1]
    given = [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    calls: dict[str, Callable[[str], Any]] = {"hf_bpe": fast, "transformers": plain}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number, prompt in enumerate(given):
        results = []
        for name in [*calls][:: 1 - 2 * (number % 2)]:
            start = time.perf_counter()
            results.append(calls[name](prompt))
            times[name].append(time.perf_counter() - start)
        if results[0].data != results[1].data:
            raise SystemExit(f"{folder.name}, {file.name}: hf_bpe and transformers give different ids")
    ours, theirs = (statistics.median(times[name][1:]) for name in calls)
    print(
        f"{folder.name:14}{file.name:20}prompt of {PROMPT} tokens: {ours * 1e3:.2f} ms, transformers "
        f"{theirs * 1e3:.1f}: {theirs / ours:.1f} ×",
        flush=True,
    )


def hostile(folder: Path) -> None:
    """Print the time a megabyte of texts of one word, of several sizes."""
    encode = encoders(folder)["hf_bpe"][0]
    encode(["warm up " * 1000])
    for name, unit in HOSTILE.items():
        times = []
        for size in (1_000_000, 2_000_000, 4_000_000, 8_000_000):
            times.append(seconds(encode, [unit * (size // len(unit.encode()))]) * 1e9 / size)
        print(
            f"{folder.name:14}{name:22}" + "".join(f"{each:8.1f}" for each in times) + "  ms/MB at 1, 2, 4 and 8 MB",
            flush=True,
        )


def seconds(encode: Encode, texts: list[str]) -> float:
    """Return the time of encoding texts."""
    start = time.perf_counter()
    encode(texts)
    return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks character_encoding", description=__doc__)
    parser.add_argument("folders", nargs="+", metavar="FOLDER", type=Path)
    parser.add_argument("--files", nargs="*", default=[], metavar="FILE", type=Path)
    options = parser.parse_args(arguments)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    for folder in options.folders:
        for file in options.files:
            measure(folder, file)
            prompts(folder, file)
        hostile(folder)
