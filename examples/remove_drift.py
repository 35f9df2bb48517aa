"""Show the drift of sampled ids, and remove it.

A tiny random model of torch stands for yours. It is sampled with and without the mask of `allowed_next`, and the ids
are compared with those of encoding the sampled text again.

Usage: python remove_drift.py
"""

import sys

if {"-h", "--help"} & {*sys.argv}:  # also without the packages below
    print(__doc__)
    raise SystemExit

import numpy as np
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from hf_bpe import BPETokenizer

TEXT = "the lowest of the low, the newest of the new: lower and lower, newer and newer, and the rest of them"
LENGTH, SAMPLES = 40, 4


def sample(model, tokenizer, generator, is_masked):
    """Return sampled ids."""
    canonical = tokenizer.canonical_ids()
    ids = [tokenizer.eos_token_id]
    likely = np.zeros(len(tokenizer), bool)
    likely[[*TEXT.encode(), *range(256, len(tokenizer))]] = True  # so that the text is readable
    for _ in range(LENGTH):
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1].double()
        allowed = likely & canonical.allowed_next(ids) if is_masked else likely
        logits[~torch.from_numpy(allowed)] = -torch.inf
        ids.append(int(torch.multinomial(logits.softmax(0), 1, generator=generator)))
    return ids


def main():
    tokenizer = BPETokenizer.train([TEXT], num_merges=26, special_tokens=["<|endoftext|>"])
    torch.manual_seed(1)
    end = {"bos_token_id": tokenizer.eos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=LENGTH + 2, n_embd=32, n_layer=1, n_head=2, **end)
    model = GPT2LMHeadModel(config).eval()
    generator = torch.Generator().manual_seed(1)
    for is_masked in (False, True):
        drifted = changed = 0
        for _ in range(SAMPLES):
            ids = sample(model, tokenizer, generator, is_masked)
            again = tokenizer.encode(tokenizer.decode(ids))
            drifted += ids != again
            changed += len(ids) - len(again)
        name = "with allowed_next" if is_masked else "without a mask"
        print(f"{name}: {drifted} of {SAMPLES} samples drift; {changed} ids fewer after encoding again")


if __name__ == "__main__":
    main()
