"""Encode the documents of a pipeline of NeMo Curator, next to its other columns.

Usage: python examples/encode_in_nemo_curator.py TOKENIZER JSONL_FOLDER OUTPUT_FOLDER

TOKENIZER is a folder that all workers see under this name. The output is Parquet, with the ids as the column input_ids.
Needs pip install nemo-curator.
"""

import argparse
import sys
from dataclasses import dataclass, replace

if {"-h", "--help"} & {*sys.argv}:  # also without the packages below
    print(__doc__)
    raise SystemExit

from nemo_curator.backends.ray_data import RayDataExecutor
from nemo_curator.pipeline import Pipeline
from nemo_curator.stages.base import ProcessingStage
from nemo_curator.stages.text.io.reader import JsonlReader
from nemo_curator.stages.text.io.writer import ParquetWriter
from nemo_curator.tasks import DocumentBatch

from hf_bpe.distributed import ArrowEncoder


@dataclass
class Encode(ProcessingStage[DocumentBatch, DocumentBatch]):
    """Add a column of ids to each batch of documents; filters and others may stand before it."""

    tokenizer: str
    separator: str | None = None
    name = "hf_bpe"

    def setup(self, worker_metadata=None):
        """Load the tokenizer; called once for each worker."""
        self.encode = ArrowEncoder(self.tokenizer, separator=self.separator)

    def process(self, batch):
        """Return a batch with the ids; called for each."""
        return replace(batch, data=self.encode(batch.to_pyarrow()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer")
    parser.add_argument("source")
    parser.add_argument("output")
    parser.add_argument("--separator", default="<|endoftext|>", help="a token to end documents")
    given = parser.parse_args()
    stages = [JsonlReader(given.source), Encode(given.tokenizer, given.separator), ParquetWriter(given.output)]
    Pipeline("encode", stages=stages).run(RayDataExecutor())


if __name__ == "__main__":
    main()
