"""A tokenizer in a folder, for whatever encodes on several workers."""

from hf_bpe import BPETokenizer

END = "<|endoftext|>"


def save_tokenizer(folder):
    """Write a tokenizer to a folder, and return the folder."""
    tokenizer = BPETokenizer.train(["low lower widest newest 12345"], num_merges=15, special_tokens=[END])
    tokenizer.save_pretrained(folder)
    return folder
