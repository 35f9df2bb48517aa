"""The models of tiktoken's rank files, and the pipelines of real files, each loaded once."""

import base64
from functools import cache

from hf_bpe import BPEModel, BPETokenizer
from hf_bpe.conversion import recover_merges

SPECIALS = {
    "r50k": {"<|endoftext|>": 50256},
    "cl100k": {
        "<|endoftext|>": 100257,
        "<|fim_prefix|>": 100258,
        "<|fim_middle|>": 100259,
        "<|fim_suffix|>": 100260,
        "<|endofprompt|>": 100276,
    },
    "o200k": {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
}


def tiktoken_model(test_data, name):
    lines = (test_data / f"tiktoken/{name}_base.tiktoken").read_bytes().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, lines)}
    specials = SPECIALS[name]
    vocab = {rank: token for token, rank in ranks.items()} | {i: token.encode() for token, i in specials.items()}
    return BPEModel(vocab, recover_merges(ranks), tuple(specials), {"r50k": "gpt2"}.get(name, name))


@cache
def real_pipeline(test_data, name):
    return BPETokenizer.convert_from(test_data / "tokenizers" / name / "tokenizer.json").pipeline
