"""Token files of smaller vocabularies, projected and encoded: `python -m benchmarks.projection TOKENIZER N... --files FILE...`.

Give a tokenizer, the sizes of smaller ones, and text. The text is encoded to `.npy` files by the tokenizer and by each
smaller one; projected files must equal these, byte for byte, before anything is timed. Then both ways take turns; the
ids stay in the cache of the system. Speed is that of the ids read, in MB (10⁶ bytes) a second, on one thread.

`--copies` with several numbers says how the time of projecting to the first size grows with the ids, in seconds on the
clock. These ids are kept in `--folder`, and not made again.
"""  # noqa: E501

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the processor time that a call takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure_growth(tokenizer: Any, options: argparse.Namespace) -> None:
    """Print how long the ids of more and more copies take."""
    if options.folder is None:
        raise SystemExit("--copies: several numbers need --folder")
    number = options.sizes[0]
    large = {copies: options.folder / f"{copies}-copies.npy" for copies in options.copies}
    for copies, path in large.items():
        if not path.exists():
            tokenizer.encode_files(options.files * copies, path)
    times: dict[Path, list[float]] = {path: [] for path in large.values()}
    for _ in range(options.rounds):
        for path, taken in times.items():
            start = time.perf_counter()
            tokenizer.project_files(path, options.folder / "projected.npy", number, overwrite=True)
            taken.append(time.perf_counter() - start)
    for path, taken in times.items():
        size, median = path.stat().st_size / 1e6, statistics.median(taken)
        of_100_gb = 1e5 * median / size
        print(f"{size:6.0f} MB of ids: {median:6.2f} s, {size / median:5.0f} MB/s; 100 GB would take {of_100_gb:.0f} s")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.projection", description=__doc__)
    parser.add_argument("tokenizer", metavar="TOKENIZER", type=Path)
    parser.add_argument("sizes", nargs="+", metavar="N", type=int)
    parser.add_argument("--files", nargs="+", metavar="FILE", type=Path, required=True)
    parser.add_argument("--copies", type=int, nargs="+", default=[1], help="how often the files are read, for more ids")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="where to write; default: the temporary folder")
    options = parser.parse_args()

    from hf_bpe import BPETokenizer
    from hf_bpe.editing import truncate
    from hf_bpe.encoding._projection import ProjectionTable, projected_tokens

    tokenizer = BPETokenizer.convert_from(options.tokenizer)
    model = tokenizer.model
    if len(options.copies) > 1:
        measure_growth(tokenizer, options)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        files, large = options.files * options.copies[0], folder / "large.npy"
        ids = np.load(tokenizer.encode_files(files, large, num_workers=1).ids)
        size, nowhere = ids.nbytes / 1e6, np.empty(0, np.int64)
        print(f"{size:.0f} MB of ids, {ids.dtype}", flush=True)
        for number in options.sizes:
            smaller, _ = tokenizer.with_model(truncate(model, number))
            encode = partial(smaller.encode_files, files, folder / "encoded.npy", num_workers=1)
            project = partial(tokenizer.project_files, large, folder / "projected.npy", number)
            for mine, its in zip(project().files, encode().files, strict=True):
                if mine.read_bytes() != its.read_bytes():
                    raise SystemExit(f"{number}: {mine.name} differs from {its.name}")
            making = seconds_of(lambda: projected_tokens(model, model.truncate(number)))  # noqa: B023
            apply = partial(ProjectionTable(projected_tokens(model, model.truncate(number))).apply, ids, nowhere)
            times = [[seconds_of(work) for work in (apply, project, encode)] for _ in range(options.rounds)]
            array, projected, encoded = map(statistics.median, zip(*times, strict=True))
            files_rate = size / (projected - making)
            print(
                f"{number:8} tokens: array {size / array:6.0f} MB/s, files {files_rate:6.0f} MB/s after {making:.2f} s "
                f"for the table; encoding the text takes {encoded / projected:5.1f} times as long",
                flush=True,
            )
        together = seconds_of(partial(tokenizer.project_files, large, folder / "all", options.sizes))
        print(f"all sizes from one pass: {together:.2f} s", flush=True)


if __name__ == "__main__":
    main()
