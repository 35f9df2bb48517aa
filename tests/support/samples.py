"""A small tokenizer that tests share, and what it was trained on."""

import sys

from transformers import AutoTokenizer

from hf_bpe import BPETokenizer

CODE_POINTS = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]

CORPUS = [
    "low low low low low lower lower widest widest widest newest newest newest newest 你好 你好 42 42!\n\n",
    "What is trained on a text of many words learns many merges; the longest of them are whole words.\n",
]
SHORT_CORPUS = ["low low low lower lower lowest widest widest newest newest newest 你好 你好 what is newer is lower\n"]
SPECIALS = ["<|endoftext|>", "<pad>", "<|user|>"]


def make_tokenizer():
    return BPETokenizer.train(CORPUS, num_merges=40, special_tokens=SPECIALS, pad_token="<pad>")


def reload(tokenizer, folder, **kwargs):
    """Save a tokenizer, and load it as users of AutoTokenizer do."""
    tokenizer.save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder, **kwargs)
