"""Encode the documents of a pipeline of datatrove, whose own step writes, shuffles and merges the token files.

Usage: python examples/encode_in_datatrove.py TOKENIZER JSONL_FOLDER OUTPUT_FOLDER --tasks 100

TOKENIZER is a folder that all workers see under this name. Needs pip install datatrove orjson humanize.
"""

import argparse
import sys
from types import SimpleNamespace

if {"-h", "--help"} & {*sys.argv}:  # also without the packages below
    print(__doc__)
    raise SystemExit

from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.tokens import DocumentTokenizer

from hf_bpe import BPETokenizer


class Tokenizer:
    """What datatrove's step calls of a tokenizer."""

    def __init__(self, path, eos_token):
        self.tokenizer = BPETokenizer.from_pretrained(path)
        self.end = [] if eos_token is None else [self.tokenizer.get_vocab()[eos_token]]

    def get_vocab_size(self):
        """Return the number of tokens, which decides how many bytes an id takes."""
        return len(self.tokenizer)

    def encode_batch(self, texts):
        """Return objects with the ids of texts; a worker is one process for one core."""
        rows = self.tokenizer.encode_to_lists(texts, num_workers=1)
        return [SimpleNamespace(ids=[*ids, *self.end]) for ids in rows]


class EncodeDocuments(DocumentTokenizer):
    """The step with this tokenizer; readers and filters stand before it."""

    def run(self, data, rank=0, world_size=1):
        """Load the tokenizer and encode the documents of a task; called by an executor."""
        self.tokenizer = Tokenizer(self.tokenizer_name_or_path, self.eos_token)
        return super().run(data, rank, world_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer")
    parser.add_argument("source")
    parser.add_argument("output")
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--separator", default="<|endoftext|>", help="a token to end documents")
    given = parser.parse_args()
    step = EncodeDocuments(given.output, given.tokenizer, eos_token=given.separator, seed=1)
    LocalPipelineExecutor([JsonlReader(given.source), step], tasks=given.tasks).run()


if __name__ == "__main__":
    main()
