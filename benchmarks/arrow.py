"""Encoding columns of Arrow, and lists of str: `python -m benchmarks.arrow TOKENIZER FILE...`.

Give a tokenizer, and files of text with `<|endoftext|>` between documents, which are cut at line ends into rows. The
ids of each batch must be equal before anything is timed. Then the ways take turns, on one thread, in processor time:

- `array`: `encode_to_arrow` of an array of strings;
- `list`: `encode_to_numpy` of a list of str that is there already;
- `pylist`: `encode_to_numpy` of `array.to_pylist()`, which is what one has without the first, and back to an array.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROUNDS = 7


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the time that a call takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.arrow", description=__doc__)
    parser.add_argument("tokenizer", metavar="TOKENIZER", type=Path)
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a batch")
    parser.add_argument("--megabytes", type=float, default=4, help="how much of each file")
    options = parser.parse_args()

    import pyarrow as pa

    from hf_bpe import BPETokenizer

    tokenizer = BPETokenizer.convert_from(options.tokenizer)
    for file in options.files:
        text = file.read_text("utf-8")[: int(options.megabytes * 1e6)].replace("<|endoftext|>", "\n")
        rows = [line for line in text.split("\n") if line][: options.rows]
        size = sum(len(row.encode()) for row in rows) / 1e6
        array = pa.array(rows)
        as_array = partial(tokenizer.encode_to_arrow, array, num_workers=1)
        as_list = partial(tokenizer.encode_to_numpy, rows, num_workers=1)

        def as_pylist(array: Any = array) -> Any:
            return tokenizer.encode_to_arrow(array.to_pylist(), num_workers=1)

        ids, offsets = as_list()
        encoded = as_array()
        if (
            encoded.values.to_numpy().tolist() != ids.tolist()
            or encoded.offsets.to_numpy().tolist() != offsets.tolist()
        ):
            raise SystemExit(f"{file}: the ids differ")
        times = [[seconds_of(work) for work in (as_array, as_list, as_pylist)] for _ in range(ROUNDS)]
        of_array, of_list, of_pylist = map(statistics.median, zip(*times, strict=True))
        print(
            f"{file.name:18} {len(rows):6} rows, {size:5.2f} MB: array {size / of_array:6.1f} MB/s; list takes "
            f"{of_list / of_array:5.2f} times as long, pylist {of_pylist / of_array:5.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
