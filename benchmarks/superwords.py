"""Superwords by size and by the merges of stage 1: `python -m benchmarks superwords FILE... --output RESULTS.json`.

For each file: bytes per token of its last twentieth, by tokenizers trained on the rest, in plain BPE and with
superwords after shares of the vocabulary.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_bpe import BPEModel, BPETokenizer, count, train
from hf_bpe.training import Superwords

SEPARATOR = "<|endoftext|>"
SHARES = (0.2, 0.4, 0.6, 0.8, 0.9)


def measure(path: Path, sizes: list[int], pattern: str) -> dict[str, Any]:
    """Return bytes per token by size and by share of merges in stage 1, of which 1 is plain BPE."""
    documents = path.read_text("utf-8").split(SEPARATOR)
    last = len(documents) * 19 // 20
    text, held_out = SEPARATOR.join(documents[:last]), documents[last:]
    held_bytes = sum(len(document.encode()) for document in held_out)
    words, pieces = (
        count([text], pattern=each, special_tokens=[SEPARATOR]) for each in (pattern, Superwords(0).pattern)
    )

    def bytes_per_token(model: BPEModel) -> float:
        return held_bytes / sum(BPETokenizer(model=model).count_tokens(held_out))

    rows = []
    for size in sizes:
        superwords = Superwords([int(size * share) for share in SHARES], text=pieces)
        models = [*train(words, size, superwords=superwords), train(words, size)]
        rates = dict(zip((*SHARES, 1.0), map(bytes_per_token, models), strict=True))
        rows.append({"vocab_size": size, "bytes_per_token": rates})
        print(path.name, size, {share: round(rate, 3) for share, rate in rates.items()}, flush=True)
    return {"file": path.name, "held_out_bytes": held_bytes, "sizes": rows}


def main(given: Sequence[str] | None = None) -> None:
    """Measure and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks superwords", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=[32768, 65536, 131072])
    parser.add_argument("--pattern", default="o200k", help="of stage 1 and of plain BPE")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(given)
    results = [measure(path, options.sizes, options.pattern) for path in options.files]
    options.output.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
