"""Encoding with superword models, next to tokenizers: `python -m benchmarks.long_pieces FOLDER FILE...`.

Give a folder with the `tokenizer.json` of a model whose tokens hold several words, and files with `<|endoftext|>`
between documents. One thread each, documents that neither has seen, and nothing is timed unless all ids are equal. Then
texts of 1 to 8 MB that are one pre-token, of which the time a megabyte should stay the same.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HOSTILE = {"one letter": "a", "spaces": " ", "two letters": "ab", "a superword": " of the"}
PEER_BYTES = 4_000_000


def seconds_of(work: Callable[[], Any]) -> float:
    """Return the time that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.long_pieces", description=__doc__)
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("files", nargs="+", metavar="FILE", type=Path)
    options = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer

    from hf_bpe import BPETokenizer

    def load() -> BPETokenizer:
        return BPETokenizer.convert_from(options.folder / "tokenizer.json")

    peer = Tokenizer.from_file(str(options.folder / "tokenizer.json"))
    for file in options.files:
        documents = file.read_text("utf-8").split("<|endoftext|>")
        expected = [encoding.ids for encoding in peer.encode_batch_fast(documents, add_special_tokens=False)]
        if load().encode_to_lists(documents) != expected:
            raise SystemExit(f"{file}: hf_bpe and tokenizers give different ids")
        half = len(documents) // 2
        tokenizer = load()
        tokenizer.encode_to_numpy(documents[:half], num_workers=1)
        size = sum(len(document.encode()) for document in documents[half:])
        ours = size / seconds_of(lambda: tokenizer.encode_to_numpy(documents[half:], num_workers=1)) / 1e6  # noqa: B023
        some: list[str] = []
        while documents[half:] and sum(map(len, some)) < PEER_BYTES and len(some) < len(documents) - half:
            some.append(documents[half + len(some)])
        some_size = sum(len(document.encode()) for document in some)
        theirs = some_size / seconds_of(lambda: [peer.encode(document) for document in some]) / 1e6  # noqa: B023
        print(f"{file.name:20}{ours:8.1f} MB/s{theirs:8.2f} MB/s{ours / theirs:7.1f} ×", flush=True)
    tokenizer = load()
    tokenizer.encode_to_numpy([options.files[0].read_text("utf-8")[:1_000_000]], num_workers=1)
    for name, unit in HOSTILE.items():
        times = []
        for size in (1_000_000, 2_000_000, 4_000_000, 8_000_000):
            text = unit * (size // len(unit))
            times.append(seconds_of(lambda: tokenizer.encode_to_numpy([text], num_workers=1)) * 1e9 / size)  # noqa: B023
        print(f"{name:20}" + "".join(f"{each:8.1f}" for each in times) + "  ms/MB at 1, 2, 4 and 8 MB", flush=True)


if __name__ == "__main__":
    main()
