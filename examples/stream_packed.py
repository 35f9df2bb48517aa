"""Train a tiny GPT-2 on text that is encoded and packed while it is read, by the workers of a data loader.

Nothing is written to disk first, and memory stays bounded. For a corpus that is read more than once, `hf-bpe
encode-files` saves the work.

Usage: python examples/stream_packed.py [TEXT_FILE ...]

Needs torch; see examples/train_tiny_gpt2.py for its CPU build.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

if {"-h", "--help"} & {*sys.argv}:  # also without the packages below
    print(__doc__)
    raise SystemExit

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from transformers import GPT2Config, GPT2LMHeadModel

import hf_bpe

LENGTH = 64  # tokens a sequence
BATCH_TEXTS = 256  # documents that are encoded at once


def lines_of(files: list[Path]) -> Iterator[str]:
    for path in files:
        with path.open(encoding="utf-8") as file:
            yield from (line.rstrip("\n") for line in file)


class PackedSequences(IterableDataset):
    """Sequences of `length` ids from documents, which are the lines of files, with an end token after each.

    Each worker of a data loader reads its share of the files. The last ids of a worker, which fill no sequence, are
    left out.
    """

    def __init__(self, tokenizer: hf_bpe.BPETokenizer, files: list[Path], length: int) -> None:
        self.tokenizer, self.files, self.length = tokenizer, files, length

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        worker = get_worker_info()
        files = self.files if worker is None else self.files[worker.id :: worker.num_workers]
        documents = filter(None, lines_of(files))
        left = np.empty(0, np.int64)
        while batch := [*islice(documents, BATCH_TEXTS)]:
            # One call for many documents; a worker is a process of its own, so it needs no more threads.
            ids, offsets = self.tokenizer.encode_to_numpy(batch, split_special_tokens=True, num_workers=1)
            ended = np.insert(ids, offsets[1:], self.tokenizer.eos_token_id)
            left = np.concatenate([left, ended])
            whole = len(left) // self.length * self.length
            for row in torch.from_numpy(left[:whole].reshape(-1, self.length)):
                yield {"input_ids": row, "labels": row}
            left = left[whole:]


def main(files: list[Path]) -> None:
    torch.manual_seed(0)
    tokenizer = hf_bpe.BPETokenizer.train(files[0], vocab_size=512, special_tokens=["<|endoftext|>"])
    loader = DataLoader(PackedSequences(tokenizer, files, LENGTH), batch_size=4, num_workers=min(2, len(files)))
    model = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=LENGTH,
            n_embd=32,
            n_layer=2,
            n_head=2,
            bos_token_id=tokenizer.eos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for batch in islice(loader, 20):
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    print(f"{len(losses)} steps, loss {losses[0]:.2f} to {losses[-1]:.2f}")


if __name__ == "__main__":
    root = Path(__file__).parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, default=[root / "README.md", root / "ARCHITECTURE.md"])
    main(parser.parse_args().files)
