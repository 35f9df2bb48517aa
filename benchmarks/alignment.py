"""Ids of pairs of tokenizers aligned: `python -m benchmarks.alignment TOKENIZER TOKENIZER... --text FILE...`.

Each pair aligns the ids of each text, and is compared with the loop over byte offsets that trainers have, which gets
the offsets for free. The groups are compared before anything is timed; both take turns. Then shared tokens and prefixes
of the pair's vocabularies. A text is left out for a pair of which one normalizes it.
"""

from __future__ import annotations

import argparse
import time
import unicodedata
from collections.abc import Callable
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.job import SEPARATOR
from hf_bpe import BPETokenizer
from hf_bpe.alignment import align, prefix_map, shared_ids

ROUNDS = 5


def loop(ends_a: list[int], ends_b: list[int]) -> list[tuple[int, int]]:
    """Return where groups end, by a loop over the ends of all ids."""
    groups = []
    a = b = 0
    while a < len(ends_a) and b < len(ends_b):
        end_a, end_b = ends_a[a], ends_b[b]
        a += end_a <= end_b
        b += end_b <= end_a
        if end_a == end_b:
            groups.append((a, b))
    return groups


def timed(*works: Callable[[], Any]) -> list[float]:
    """Return the median seconds of each work; they take turns."""
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for work, taken in zip(works, seconds, strict=True):
            start = time.perf_counter()
            work()
            taken.append(time.perf_counter() - start)
    return [median(taken) for taken in seconds]


def show_pair(a: str, b: str, tokenizers: dict[str, BPETokenizer], texts: dict[str, str]) -> None:
    """Print a row of the first table for each text."""
    one, other = tokenizers[a], tokenizers[b]
    for text, content in texts.items():
        row, second = (each.encode_to_numpy([content], split_special_tokens=True)[0] for each in (one, other))
        if one.decode_bytes(row) != other.decode_bytes(second):
            print(f"| {a} × {b} | {text} | normalized by one | | | |")
            continue
        ends = [tokenizer.spans(ids).bytes[:, 1] for tokenizer, ids in ((one, row), (other, second))]
        lists = [each.tolist() for each in ends]
        groups = align(row, one, second, other)
        # The loop puts an id without text, such as a space that decoding removes, elsewhere.
        if min(np.diff(each).min(initial=1) for each in ends) > 0:
            assert loop(*lists) == [*zip(groups.a[:, 1].tolist(), groups.b[:, 1].tolist(), strict=True)]
        ours, theirs = timed(partial(align, row, one, second, other), partial(loop, *lists))
        speed = len(content.encode()) / 1e6 / ours
        sizes = f"{len(row)}, {len(second)} | {len(groups.a)}"
        print(f"| {a} × {b} | {text} | {sizes} | {speed:.0f} | {theirs / ours:.1f} |", flush=True)


def main() -> None:
    """Read the arguments and print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokenizers", nargs="+", help="files or folders that BPETokenizer.convert_from reads")
    parser.add_argument("--text", nargs="+", required=True)
    parser.add_argument("--megabytes", type=float, default=4, help="of each text")
    given = parser.parse_args()
    names = [Path(path).parent.name if Path(path).suffix == ".json" else Path(path).name for path in given.tokenizers]
    tokenizers = dict(zip(names, map(BPETokenizer.convert_from, given.tokenizers), strict=True))
    texts = {}
    for path in given.text:
        data = Path(path).read_bytes()[: int(given.megabytes * 1e6)].decode("utf-8", "ignore")
        texts[Path(path).stem] = unicodedata.normalize("NFC", data.replace(SEPARATOR, "\n"))
    print("| pair | text | ids | groups | align, MB/s | times the loop |\n|---|---|---|---|---|---|")
    for a, b in combinations(tokenizers, 2):
        show_pair(a, b, tokenizers, texts)
    print("\n| teacher → student | ids | prefix_map, ms | shared | shared_ids, ms |\n|---|---|---|---|---|")
    for a, b in combinations(tokenizers, 2):
        one, other = tokenizers[a], tokenizers[b]
        shared = len(shared_ids(one, other).a)
        prefixes, both = timed(partial(prefix_map, one, other), partial(shared_ids, one, other))
        print(f"| {a} → {b} | {len(one)}, {len(other)} | {prefixes * 1e3:.0f} | {shared} | {both * 1e3:.0f} |")


if __name__ == "__main__":
    main()
