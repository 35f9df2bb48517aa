"""Encoding on engines, on one core: `RAYON_NUM_THREADS=1 python -m benchmarks.engines TOKENIZER FILE`.

Give the folder of a tokenizer, and a file of text with `<|endoftext|>` between documents, which is cut at line ends
into rows. Roads whose engine is not installed are left out. The ids of each road must be equal to those of the local
one before anything is timed. Then the roads take turns, each on one worker, in seconds on the clock, when idle:

- `local`: an `ArrowEncoder` called for each batch of the rows;
- `spark`: `hf_bpe.distributed.spark.encode` of a frame that is in memory, to nowhere;
- `ray`: `hf_bpe.distributed.ray.encode` of a dataset that is in memory, with one actor, whose start is counted;
- `datatrove`: the step that writes token files, given documents in memory;
- `peer`: datatrove's own DocumentTokenizer, which encodes with tokenizers, without shuffling.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

END = "<|endoftext|>"


class Road(NamedTuple):
    """A way to encode all rows.

    Attributes:
        run: encodes them.
        ids: returns the sum of the ids and their number.
    """

    run: Callable[[], Any]
    ids: Callable[[], tuple[int, int]]


def local(tokenizer: str, table: Any, rows: int, _: contextlib.ExitStack) -> Road:
    """Return the road without an engine."""
    from hf_bpe.distributed import ArrowEncoder

    encode = ArrowEncoder(tokenizer, separator=END)
    batches = table.to_batches(rows)

    def ids() -> tuple[int, int]:
        parts = [encode(batch)["input_ids"].flatten().to_numpy() for batch in batches]
        return sum(int(part.sum()) for part in parts), sum(map(len, parts))

    return Road(lambda: [encode(batch) for batch in batches], ids)


def spark(tokenizer: str, table: Any, rows: int, stack: contextlib.ExitStack) -> Road:
    """Return the road on Spark."""
    from pyspark.sql import SparkSession

    from hf_bpe.distributed import spark as engine

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(rows))
    session = builder.config("spark.driver.memory", "2g").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    stack.callback(session.stop)
    frame = session.createDataFrame(table).coalesce(1).cache()
    frame.count()
    encoded = engine.encode(frame, tokenizer, separator=END, columns=[])

    def ids() -> tuple[int, int]:
        total = "sum(aggregate(input_ids, 0L, (sum, id) -> sum + id))"
        row = encoded.selectExpr(total, "sum(size(input_ids))").first()
        return int(row[0]), int(row[1])

    return Road(lambda: encoded.write.format("noop").mode("overwrite").save(), ids)


def ray(tokenizer: str, table: Any, rows: int, stack: contextlib.ExitStack) -> Road:
    """Return the road on Ray."""
    import ray

    from hf_bpe.distributed import ray as engine

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
    stack.callback(ray.shutdown)
    ray.data.DataContext.get_current().enable_progress_bars = False
    dataset = ray.data.from_arrow([table[at : at + rows] for at in range(0, len(table), rows)]).materialize()
    encoded = engine.encode(dataset, tokenizer, concurrency=1, separator=END, columns=[])

    def ids() -> tuple[int, int]:
        batches = encoded.iter_batches(batch_format="pyarrow", batch_size=None)
        parts = [batch["input_ids"].combine_chunks().flatten().to_numpy() for batch in batches]
        return sum(int(part.sum()) for part in parts), sum(map(len, parts))

    return Road(lambda: encoded.materialize(), ids)


def datatrove(tokenizer: str, table: Any, _rows: int, stack: contextlib.ExitStack) -> Road:
    """Return the road in a pipeline of datatrove."""
    from hf_bpe.distributed.datatrove import DocumentTokenizer

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    step = DocumentTokenizer(tokenizer, folder / "c", separator=END)
    return _datatrove(lambda documents: [*step.run(documents, 0, 1)], folder / "c-00000-of-00001.ds", table)


def peer(tokenizer: str, table: Any, rows: int, stack: contextlib.ExitStack) -> Road:
    """Return datatrove's own road."""
    from datatrove.pipeline.tokens import DocumentTokenizer

    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    step = DocumentTokenizer(
        str(folder), f"{tokenizer}/tokenizer.json", eos_token=END, shuffle_documents=False, batch_size=rows
    )
    return _datatrove(lambda documents: step.run(documents, 0, 1), folder / "00000_unshuffled.ds", table)


def _datatrove(run: Callable[[list[Any]], Any], output: Path, table: Any) -> Road:
    import numpy as np
    from datatrove.data import Document

    documents = [Document(text, "") for text in table["text"].to_pylist()]

    def ids() -> tuple[int, int]:
        run(documents)
        kind = "<u2" if output.with_name(output.name + ".metadata").read_text().splitlines()[0][-1] == "2" else "<u4"
        there = np.fromfile(output, kind).astype(np.int64)
        return int(there.sum()), len(there)

    return Road(lambda: run(documents), ids)


ROADS = {"local": local, "spark": spark, "ray": ray, "datatrove": datatrove, "peer": peer}
NEEDS = {"spark": "pyspark", "ray": "ray", "datatrove": "datatrove", "peer": "datatrove"}


def _installed(names: list[str]) -> Iterator[str]:
    for name in names:
        if name in NEEDS and importlib.util.find_spec(NEEDS[name]) is None:
            print(f"{name}: {NEEDS[name]} is not installed")
        else:
            yield name


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engines", description=__doc__)
    parser.add_argument("tokenizer", metavar="TOKENIZER")
    parser.add_argument("file", metavar="FILE", type=Path)
    parser.add_argument("--rows", type=int, default=10_000, help="rows of a batch")
    parser.add_argument("--megabytes", type=float, default=20, help="how much of the file")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--roads", nargs="+", choices=ROADS, default=[*ROADS])
    options = parser.parse_args()

    import pyarrow as pa

    text = options.file.read_text("utf-8")[: int(options.megabytes * 1e6)].replace(END, "\n")
    texts = [line for line in text.split("\n") if line]
    table = pa.table({"text": texts})
    size = sum(len(line.encode()) for line in texts) / 1e6
    with contextlib.ExitStack() as stack:
        tokenizer = str(Path(options.tokenizer).absolute())
        roads = {
            name: ROADS[name](tokenizer, table, options.rows, stack) for name in _installed(["local", *options.roads])
        }
        expected = roads["local"].ids()
        for name, road in roads.items():
            if (got := road.ids()) != expected:
                raise SystemExit(f"{name}: the ids differ: {got}, {expected}")
        times: dict[str, list[float]] = {name: [] for name in roads}
        for _ in range(options.rounds):
            for name, road in roads.items():
                start = time.perf_counter()
                road.run()
                times[name].append(time.perf_counter() - start)
    base = statistics.median(times["local"])
    print(f"{options.file.name}: {len(texts)} rows, {size:.1f} MB, {expected[1]} ids")
    for name, taken in times.items():
        median = statistics.median(taken)
        print(f"{name:10} {size / median:6.1f} MB/s, {base / median:5.2f} of local")


if __name__ == "__main__":
    main()
