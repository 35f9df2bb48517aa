"""Training in the manner of SentencePiece, compared with `tokenizers`.

`python -m benchmarks.character_training FILE...`

For each file both learn the same vocabulary from its documents by `Metaspace`, in turns; vocabularies and merges are
compared before times are shown. Reading the file is not timed. Prints medians in seconds, and their ratio.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from hf_bpe import train
from hf_bpe.core._characters import BYTE_TOKENS
from hf_bpe.pretokenizers import Metaspace

SEPARATOR = "<|endoftext|>"
Learned = tuple[dict[str, int], list[tuple[str, str]]]


def learn_ours(documents: list[str], size: int, threads: int) -> Learned:
    """Learn with hf_bpe."""
    options = {"pattern": Metaspace(), "unk_token": "<unk>", "tie_break": "huggingface", "character_coverage": 1}
    model = train(documents, size, num_workers=threads, **options)
    return model.printable_vocab(), [(first.decode(), second.decode()) for first, second in model.merges]


def learn_theirs(documents: list[str], size: int, threads: int) -> Learned:
    """Learn with `tokenizers`, which takes the number of threads from RAYON_NUM_THREADS."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    specials = ["<unk>", *map(bytes.decode, BYTE_TOKENS)]
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=specials, show_progress=False)
    tokenizer.train_from_iterator(documents, trainer)
    content = json.loads(tokenizer.to_str())["model"]
    return content["vocab"], [(first, second) for first, second in content["merges"]]


def timed(learn: Callable[..., Learned], *arguments: object) -> tuple[float, Learned]:
    """Return the seconds of a training, and its result."""
    begin = time.perf_counter()
    learned = learn(*arguments)
    return time.perf_counter() - begin, learned


def main() -> None:
    """Compare, measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.character_training", description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=float, default=20, help="of the beginning of each file")
    parser.add_argument("--threads", type=int, default=1, help="of hf_bpe")
    options = parser.parse_args()
    print(f"{'file':20} {'MB':>6} {'hf_bpe':>9} {'tokenizers':>11} {'ratio':>6}")
    for path in options.files:
        with path.open("rb") as file:
            text = file.read(int(options.megabytes * 1e6)).decode(errors="ignore")
        documents = text.split(SEPARATOR)
        seconds: dict[str, list[float]] = {"ours": [], "theirs": []}
        for _ in range(options.rounds):
            results = {}
            for name, learn in (("ours", learn_ours), ("theirs", learn_theirs)):
                taken, results[name] = timed(learn, documents, options.vocab_size, options.threads)
                seconds[name].append(taken)
            if results["ours"] != results["theirs"]:
                raise SystemExit(f"{path}: the vocabularies or merges differ, so times mean nothing")
        ours, theirs = (statistics.median(seconds[name]) for name in ("ours", "theirs"))
        size = len(text.encode()) / 1e6
        print(f"{path.name:20} {size:6.1f} {ours:9.2f} {theirs:11.2f} {theirs / ours:6.1f}", flush=True)


if __name__ == "__main__":
    main()
