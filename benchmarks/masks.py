"""Masks of canonical ids: `python -m benchmarks masks TOKENIZER... --text FILE...`.

Each tokenizer is loaded in a process of its own. After its first mask, which prepares all tables, come masks for each
id of the beginning of each text, as while sampling, and then the same ones again. Text is normalized to NFC, and a mask
that leaves out an id of the text is an error.
"""

from __future__ import annotations

import argparse
import time
import unicodedata
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from hf_bpe import BPETokenizer
from hf_bpe.canonical import CanonicalIds

PROMPT = "The quick brown fox jumps over the lazy dog"


def steps(canonical: CanonicalIds, ids: list[int]) -> list[float]:
    """Return the seconds of each mask, packed as bits."""
    taken = []
    for place, token_id in enumerate(ids):
        start = time.perf_counter()
        bits = canonical.allowed_next(ids[:place], packed=True)
        taken.append(time.perf_counter() - start)
        if not bits[token_id >> 3] >> (7 - (token_id & 7)) & 1:
            raise SystemExit(f"the mask leaves out id {token_id} at place {place}")
    return taken


def measure(folder: Path, texts: list[str], size: int) -> str:
    """Return a row of the table."""
    tokenizer = BPETokenizer.from_pretrained(folder)
    prompt = tokenizer.encode(PROMPT, add_special_tokens=False)
    start = time.perf_counter()
    canonical = tokenizer.canonical_ids()
    canonical.allowed_next(prompt)
    first = time.perf_counter() - start
    start = time.perf_counter()
    canonical.heal(prompt)
    healing = time.perf_counter() - start
    rows = [tokenizer.encode(text, add_special_tokens=False)[:size] for text in texts]
    new = np.array([seconds for row in rows for seconds in steps(canonical, row)]) * 1e6
    again = np.array([seconds for row in rows for seconds in steps(canonical, row)]) * 1e6
    cells = [
        folder.name,
        f"{first:.2f} s",
        f"{healing * 1e3:.0f} ms",
        f"{np.median(new):.0f} µs",
        f"{np.percentile(new, 99):.0f} µs",
        f"{(new > 1000).mean():.1%}",
        f"{np.median(again):.0f} µs",
    ]
    return f"| {' | '.join(cells)} |"


def main(given: Sequence[str] | None = None) -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizers", nargs="+", type=Path, metavar="TOKENIZER")
    parser.add_argument("--text", nargs="+", type=Path, required=True, metavar="FILE")
    parser.add_argument("--size", type=int, default=1000, help="ids of each text")
    arguments = parser.parse_args(given)
    texts = [unicodedata.normalize("NFC", path.read_text("utf-8")[: 20 * arguments.size]) for path in arguments.text]
    print("| tokenizer | first mask | heal | median step | 99 % below | over 1 ms | median, text seen |")
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        for row in pool.map(partial(measure, texts=texts, size=arguments.size), arguments.tokenizers):
            print(row, flush=True)
