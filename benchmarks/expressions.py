"""Splitting by expressions and chains: `python -m benchmarks.expressions TEXT... [--patterns FILE.json]`.

FILE.json maps names to expressions, or to stages as `tokenizer.json` writes them; without it the expressions of the
named patterns are compiled. The libraries take turns in one process, and the medians of five runs are printed in MB/s
of UTF-8: of CPU time, but elapsed time for two threads. hf_bpe counts the pre-tokens of the whole slice, the others
find all matches, as Python objects, of its beginning. A pattern is refused if `tokenizers` splits that beginning
differently; "differs" marks another library that reads an expression in its own way.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tokenizers import Regex, Tokenizer, pre_tokenizers

from hf_bpe import _native
from hf_bpe.pretokenizers import PATTERNS, ByteLevel, PreTokenizer, Split, canonical_pattern, pre_tokenizer
from hf_bpe.pretokenizers._native import compile_natively

_SAMPLE = 200_000  # bytes for the libraries that return Python objects
_ROUNDS = 5


class Peer(NamedTuple):
    """How another library splits a text, and the part of it that is measured."""

    split: Callable[[str], list[str]]
    find: Callable[[str], Any]


def peers_of(chain: PreTokenizer) -> dict[str, Peer]:
    """Return how other libraries split by a chain. Only `tokenizers` has several stages, and ByteLevel."""
    model = {"type": "BPE", "vocab": {}, "merges": []}
    whole = Tokenizer.from_str(json.dumps({"added_tokens": [], "pre_tokenizer": chain.to_json(), "model": model}))
    stages = [stage for stage in chain.stages if stage != ByteLevel()]
    if len(stages) != 1 or not isinstance(stages[0], Split):
        find = whole.pre_tokenizer.pre_tokenize_str
        return {"tokenizers": Peer(lambda text: [text[slice(*span)] for _, span in find(text)], find)}
    expression = stages[0].expression
    isolated = pre_tokenizers.Split(Regex(expression), "isolated").pre_tokenize_str
    found = {"tokenizers": Peer(lambda text: [piece for piece, _ in isolated(text)], isolated)}
    return found | _compiled("regex", expression) | _compiled("pcre2", expression, jit=True)


def _compiled(library: str, expression: str, **options: Any) -> dict[str, Peer]:
    try:
        compiled = importlib.import_module(library).compile(expression, **options)
    except Exception as error:  # each library has its own
        print(f"  {library} is left out: {error}")
        return {}

    def split(text: str) -> list[str]:
        bounds = sorted({0, len(text), *(place for match in compiled.finditer(text) for place in match.span())})
        return [text[start:end] for start, end in pairwise(bounds)]

    return {library: Peer(split, compiled.findall)}


def rate(work: Callable[[], Any], size: int, clock: Callable[[], float] = time.process_time) -> float:
    """Return MB/s of one run."""
    start = clock()
    work()
    return size / (clock() - start) / 1e6


def measure(pattern: str, data: bytes) -> dict[str, float | str]:
    """Return MB/s by library; raise a SystemExit if hf_bpe and `tokenizers` split differently."""
    native = compile_natively(_native, pattern)
    sample = data[:_SAMPLE].decode("utf-8", "ignore")
    ours = [piece.decode() for piece in _native.pre_tokenize(sample.encode(), native)]
    peers = peers_of(pre_tokenizer(pattern))
    alike = {name for name, peer in peers.items() if peer.split(sample) == ours}
    if "tokenizers" not in alike:
        raise SystemExit(f"{pattern[:80]}: hf_bpe and tokenizers split differently")
    cut = _native.find_last_cut(data[: len(data) // 2], native, [])
    halves = [data[:cut], data[cut:]]

    def count(part: bytes) -> int:
        return _native.count_pre_tokens(part, native)

    rates: dict[str, list[float]] = defaultdict(list)
    with ThreadPoolExecutor(2) as pool:
        for _ in range(_ROUNDS):
            rates["hf_bpe"].append(rate(partial(count, data), len(data)))
            if cut:
                both = rate(lambda: [*pool.map(count, halves)], len(data), time.perf_counter)
                rates["2 threads"].append(both)
            for name in alike:
                rates[name].append(rate(partial(peers[name].find, sample), len(sample.encode())))
    medians: dict[str, float | str] = {name: median(each) for name, each in rates.items()}
    return medians | dict.fromkeys(peers.keys() - alike, "differs")


def main() -> None:
    """Print a line for each pattern and text."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXT")
    parser.add_argument("--patterns", type=Path, metavar="FILE.json")
    parser.add_argument("--bytes", type=int, default=4 << 20, help="of each text")
    given = parser.parse_args()
    patterns = json.loads(given.patterns.read_text("utf-8")) if given.patterns else PATTERNS
    for name, written in patterns.items():
        pattern = canonical_pattern(written)
        for file in given.texts:
            with file.open("rb") as source:
                data = source.read(given.bytes).decode("utf-8", "ignore").encode()
            rates = measure(pattern, data).items()
            figures = [f"{library} {each if isinstance(each, str) else format(each, '.1f')}" for library, each in rates]
            print(f"{name}, {file.stem}: {', '.join(figures)}", flush=True)


if __name__ == "__main__":
    main()
