"""Alphabets of characters, next to peers: `python -m benchmarks character_encoding FOLDER... --files FILE...`.

Give folders with the `tokenizer.json` of BPE in the manner of SentencePiece, and files with `<|endoftext|>` between
documents. Whole documents are dealt out to one slice more than there are rounds, and cut into texts of 1 to 4 kB. Each
library encodes the first slice untimed, and then, in turns with the others, the slice of each round, which it has not
seen. Nothing is timed unless all ids are equal.
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

ROUNDS = 5
TEXT = 4000  # characters

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
