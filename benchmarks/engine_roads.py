"""The roads of `benchmarks.engines`: ways to encode all rows of a table, and what an engine takes without encoding."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

END = "<|endoftext|>"


class Road(NamedTuple):
    """A way to encode all rows, or to pass them on.

    Attributes:
        run: does it.
        result: does it and returns what is compared: the sum and the number of the ids, or the bytes and the number of
            the texts that are passed on.
        encodes: whether it encodes.
    """

    run: Callable[[], Any]
    result: Callable[[], tuple[int, int]]
    encodes: bool = True


class Rows(NamedTuple):
    """What is encoded.

    Attributes:
        tokenizer: the folder of a tokenizer.
        table: the rows, in a column `text`.
        batch: the number of rows of a batch.
        stack: what is closed at the end.
    """

    tokenizer: str
    table: Any
    batch: int
    stack: contextlib.ExitStack

    def folder(self) -> Path:
        """Return an empty folder."""
        return Path(self.stack.enter_context(tempfile.TemporaryDirectory()))

    def lines(self) -> Path:
        """Return a file of the rows as JSON lines."""
        path = self.folder() / "rows.jsonl"
        with path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in self.table["text"].to_pylist())
        return path


def local(rows: Rows) -> Road:
    """An `ArrowEncoder` called for each batch, without an engine."""
    from hf_bpe.distributed import ArrowEncoder

    encode = ArrowEncoder(rows.tokenizer, separator=END, columns=[])
    batches = rows.table.to_batches(rows.batch)

    def result() -> tuple[int, int]:
        return _sums(encode(batch)["input_ids"] for batch in batches)

    return Road(lambda: [encode(batch) for batch in batches], result)


def _sums(columns: Iterator[Any]) -> tuple[int, int]:
    parts = [column.flatten().to_numpy() for column in columns]
    return sum(int(part.sum()) for part in parts), sum(map(len, parts))


def _spark_frame(rows: Rows) -> Any:
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.execution.arrow.maxRecordsPerBatch", str(rows.batch))
    session = builder.config("spark.driver.memory", "2g").getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    rows.stack.callback(session.stop)
    frame = session.createDataFrame(rows.table).coalesce(1).cache()
    frame.count()
    return frame


def _to_nowhere(frame: Any) -> Callable[[], Any]:
    return lambda: frame.write.format("noop").mode("overwrite").save()


def spark(rows: Rows) -> Road:
    """`hf_bpe.distributed.spark.encode` of a frame that is in memory, to nowhere."""
    from hf_bpe.distributed import spark as engine

    encoded = engine.encode(_spark_frame(rows), rows.tokenizer, separator=END, columns=[])

    def result() -> tuple[int, int]:
        total = "sum(aggregate(input_ids, 0L, (sum, id) -> sum + id))"
        row = encoded.selectExpr(total, "sum(size(input_ids))").first()
        return int(row[0]), int(row[1])

    return Road(_to_nowhere(encoded), result)


def spark_alone(rows: Rows) -> Road:
    """`mapInArrow` of a function that returns the batches of text that it is given."""
    frame = _spark_frame(rows)
    passed = frame.mapInArrow(lambda batches: batches, frame.schema)

    def result() -> tuple[int, int]:
        row = passed.selectExpr("sum(octet_length(text))", "count(text)").first()
        return int(row[0]), int(row[1])

    return Road(_to_nowhere(passed), result, encodes=False)


def _ray_dataset(rows: Rows) -> Any:
    import ray

    if not ray.is_initialized():
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
        rows.stack.callback(ray.shutdown)
    ray.data.DataContext.get_current().enable_progress_bars = False
    table = rows.table
    return ray.data.from_arrow([table[at : at + rows.batch] for at in range(0, len(table), rows.batch)]).materialize()


def _ray_columns(dataset: Any, name: str) -> Iterator[Any]:
    for batch in dataset.iter_batches(batch_format="pyarrow", batch_size=None):
        yield batch[name].combine_chunks()


def ray(rows: Rows) -> Road:
    """`hf_bpe.distributed.ray.encode` of a dataset that is in memory, with one actor, whose start is counted."""
    from hf_bpe.distributed import ray as engine

    encoded = engine.encode(_ray_dataset(rows), rows.tokenizer, concurrency=1, separator=END, columns=[])
    return Road(lambda: encoded.materialize(), lambda: _sums(_ray_columns(encoded, "input_ids")))


class _PassOn:
    def __call__(self, table: Any) -> Any:
        return table


def ray_alone(rows: Rows) -> Road:
    """`map_batches` of an actor that returns the tables that it is given."""
    passed = _ray_dataset(rows).map_batches(_PassOn, batch_format="pyarrow", concurrency=1)

    def result() -> tuple[int, int]:
        texts = [*_ray_columns(passed, "text")]
        return sum(len(text.as_py().encode()) for each in texts for text in each), sum(map(len, texts))

    return Road(lambda: passed.materialize(), result, encodes=False)


def datatrove(rows: Rows) -> Road:
    """JsonlReader and the step that writes token files."""
    from hf_bpe.distributed.datatrove import DocumentTokenizer

    folder = rows.folder()
    step = DocumentTokenizer(rows.tokenizer, folder / "c", separator=END)
    return _datatrove(rows, lambda documents: [*step.run(documents, 0, 1)], folder / "c-00000-of-00001.ds")


def datatrove_peer(rows: Rows) -> Road:
    """JsonlReader and datatrove's own DocumentTokenizer, which encodes with tokenizers, without shuffling."""
    from datatrove.pipeline.tokens import DocumentTokenizer

    folder = rows.folder()
    step = DocumentTokenizer(
        str(folder), f"{rows.tokenizer}/tokenizer.json", eos_token=END, shuffle_documents=False, batch_size=rows.batch
    )
    return _datatrove(rows, lambda documents: step.run(documents, 0, 1), folder / "00000_unshuffled.ds")


def datatrove_alone(rows: Rows) -> Road:
    """JsonlReader and nothing after it."""
    read = _reader(rows)

    def result() -> tuple[int, int]:
        sizes = [len(document.text.encode()) for document in read()]
        return sum(sizes), len(sizes)

    return Road(lambda: sum(1 for _ in read()), result, encodes=False)


def _reader(rows: Rows) -> Callable[[], Any]:
    from datatrove.pipeline.readers import JsonlReader

    folder = str(rows.lines().parent)
    return lambda: JsonlReader(folder).run(None, 0, 1)


def _datatrove(rows: Rows, run: Callable[[Any], Any], output: Path) -> Road:
    import numpy as np

    read = _reader(rows)

    def result() -> tuple[int, int]:
        run(read())
        kind = "<u2" if output.with_name(output.name + ".metadata").read_text().splitlines()[0][-1] == "2" else "<u4"
        there = np.fromfile(output, kind).astype(np.int64)
        return int(there.sum()), len(there)

    return Road(lambda: run(read()), result)


def files(rows: Rows) -> Road:
    """`encode_files` of JSON lines to Megatron's files, on one thread."""
    run, output = _our_files(rows)

    def result() -> tuple[int, int]:
        run()
        return _sums_of_file(output, output)

    return Road(run, result)


def megatron_peer(rows: Rows) -> Road:
    """The same files by megatron-core's tokenizer and builder, in the manner of Megatron-LM's preprocess_data.py."""
    import numpy as np
    from megatron.core.datasets.indexed_dataset import DType, IndexedDatasetBuilder
    from megatron.core.tokenizers.text.libraries.huggingface_tokenizer import HuggingFaceTokenizer

    lines, output = rows.lines(), rows.folder() / "c"

    def run() -> None:
        tokenizer = HuggingFaceTokenizer(rows.tokenizer, use_fast=True)
        end = tokenizer.token_to_id(END)
        builder = IndexedDatasetBuilder(f"{output}.bin", dtype=DType.optimal_dtype(tokenizer.vocab_size))
        with lines.open(encoding="utf-8") as file:
            for line in file:
                ids = [*tokenizer.text_to_ids(json.loads(line)["text"]), end]
                builder.add_document(np.array(ids), [len(ids)])
        builder.finalize(f"{output}.idx")

    def result() -> tuple[int, int]:
        run_ours, ours = _our_files(rows)
        run_ours()
        run()
        for suffix in (".bin", ".idx"):
            if Path(f"{ours}{suffix}").read_bytes() != Path(f"{output}{suffix}").read_bytes():
                raise SystemExit(f"megatron_peer: {suffix} differs from that of encode_files")
        return _sums_of_file(output, ours)

    return Road(run, result)


def _our_files(rows: Rows) -> tuple[Callable[[], None], Path]:
    from hf_bpe import BPETokenizer

    lines, output = rows.lines(), rows.folder() / "c"

    def run() -> None:
        tokenizer = BPETokenizer.convert_from(rows.tokenizer)
        tokenizer.encode_files(lines, output, format="megatron", separator=END, num_workers=1, overwrite=True)

    return run, output


def _sums_of_file(output: Path, ours: Path) -> tuple[int, int]:
    import numpy as np

    dtype = json.loads(Path(f"{ours}.manifest.json").read_text("utf-8"))["dtype"]
    ids = np.fromfile(f"{output}.bin", dtype)
    return int(ids.sum(dtype=np.int64)), len(ids)
