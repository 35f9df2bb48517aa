"""A tokenizer and a corpus in files, for whatever encodes on several workers."""

import json

from hf_bpe import BPETokenizer

END = "<|endoftext|>"


def write_corpus(folder, names, records):
    """Write a tokenizer to `tok`, and files with records to `in`; return the folder."""
    tokenizer = BPETokenizer.train(["low lower widest newest 12345"], num_merges=15, special_tokens=[END])
    tokenizer.save_pretrained(folder / "tok")
    (folder / "in").mkdir()
    for name in names:
        lines = [json.dumps({"text": f"widest {name} {number} lower\n" * (number % 9)}) for number in range(records)]
        (folder / "in" / f"{name}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder
