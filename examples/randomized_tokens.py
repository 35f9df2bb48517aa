"""Encode a dataset at random, with other tokens in each epoch, and the same whatever the batches.

Usage: python randomized_tokens.py
"""

import sys

if {"-h", "--help"} & {*sys.argv}:  # also without the packages below
    print(__doc__)
    raise SystemExit

from datasets import Dataset

from hf_bpe import BPETokenizer

TEXTS = ["the lowest of the low, the newest of the new", "lower and lower, newer and newer, and the rest of them"] * 50


def main():
    tokenizer = BPETokenizer.train(TEXTS, vocab_size=300, special_tokens=["<|endoftext|>"])
    dataset = Dataset.from_dict({"text": TEXTS})

    def encode(batch, indices, epoch):
        return {"input_ids": tokenizer.encode_to_lists(batch["text"], dropout=0.1, seed=epoch, first_text=indices)}

    def encoded(epoch, batch_size):
        options = {"batched": True, "with_indices": True, "batch_size": batch_size}
        return dataset.map(encode, fn_kwargs={"epoch": epoch}, **options)["input_ids"][:]

    plain = tokenizer.encode_to_lists(TEXTS)
    epochs = [encoded(epoch, batch_size=16) for epoch in range(3)]
    print("tokens, plain:", sum(map(len, plain)))
    for epoch, rows in enumerate(epochs):
        print(f"tokens, epoch {epoch}:", sum(map(len, rows)))
    print("the same in batches of 7:", encoded(1, batch_size=7) == epochs[1])
    print("the same text:", all(tokenizer.decode_to_texts(rows) == TEXTS for rows in epochs))


if __name__ == "__main__":
    main()
